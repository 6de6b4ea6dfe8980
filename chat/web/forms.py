from typing import Any, Final

from django import forms

from chat.parts import Json
from chat.prompt.assistants import ASSISTANTS
from chat.prompt.focus import fits_mode
from config.lib.lists import ListForm
from config.lib.text import one_line

# The subjects of a chat, by their name in an address, with their key in `Conversation.opening_context`.
SUBJECTS: Final = {
    "deployment": "deployment_id",
    "skill": "skill_id",
    "version": "version",
    "trade": "trade_id",
    "backtest": "backtest_id",
    "event": "event_id",
    "fact": "about_fact_id",
}


MAX_QUERY: Final = 200  # characters


class WordsForm(ListForm):
    """A list that is searched for words."""

    NARROWING = ("q",)

    q = forms.CharField(required=False)

    def clean_q(self) -> str:
        """Return the words on one line."""
        return one_line(self.cleaned_data["q"][: 4 * MAX_QUERY])[:MAX_QUERY]

    @property
    def query(self) -> str:
        return str(self.known.get("q", ""))


class ChatOpeningForm(forms.Form):
    mode = forms.ChoiceField(choices=[(mode, mode) for mode in ("ops", "coach", "authoring")], required=False)
    deployment = forms.UUIDField(required=False)
    skill = forms.UUIDField(required=False)
    version = forms.IntegerField(required=False, min_value=1, max_value=1_000_000)  # of the skill
    trade = forms.UUIDField(required=False)
    backtest = forms.UUIDField(required=False)
    event = forms.IntegerField(required=False, min_value=1, max_value=2**31)
    fact = forms.UUIDField(required=False)

    def clean(self) -> Json:
        given = super().clean() or {}
        if not fits_mode(given.get("mode") or "ops", [key for name, key in SUBJECTS.items() if given.get(name)]):
            raise forms.ValidationError("What the chat is about does not go with its mode.")
        return given

    @property
    def opening(self) -> dict[str, str] | None:
        """The opening context; None for an ordinary page."""
        given = self.cleaned_data
        named = {key: str(given[name]) for name, key in SUBJECTS.items() if given[name]}
        mode = given["mode"] or "ops"
        return {"mode": mode, **named} if named or mode == "authoring" else None


class NewChatForm(ChatOpeningForm):
    assistant = forms.ChoiceField(
        choices=[(name, assistant.label) for name, assistant in ASSISTANTS.items()], required=False
    )
    temporary = forms.BooleanField(required=False)


class EraseAccountForm(forms.Form):
    email = forms.EmailField(
        label="Your email address", widget=forms.EmailInput(attrs={"autocomplete": "off", "autofocus": True})
    )

    def __init__(self, *args: Any, address: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.address = address

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"].lower()
        if email != self.address:
            raise forms.ValidationError("This is not the address you are signed in with.")
        return email
