from typing import Any

from django import forms

from chat.parts import Json
from chat.prompt.assistants import ASSISTANTS


class OpeningForm(forms.Form):
    mode = forms.ChoiceField(choices=[(mode, mode) for mode in ("ops", "coach", "authoring")], required=False)
    deployment = forms.UUIDField(required=False)
    skill = forms.UUIDField(required=False)

    def clean(self) -> Json:
        given = super().clean() or {}
        mode = given.get("mode") or "ops"
        if (mode == "coach") != bool(given.get("deployment")) or (given.get("skill") and mode != "authoring"):
            raise forms.ValidationError("What the chat is about does not go with its mode.")
        return given

    @property
    def opening(self) -> dict[str, str] | None:
        """The opening context; None for an ordinary page."""
        given = self.cleaned_data
        if given["mode"] == "coach":
            return {"mode": "coach", "deployment_id": str(given["deployment"])}
        if given["mode"] == "authoring":
            return {"mode": "authoring", **({"skill_id": str(given["skill"])} if given["skill"] else {})}
        return None


class NewChatForm(OpeningForm):
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
