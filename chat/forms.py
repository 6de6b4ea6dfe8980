from typing import Any

from django import forms

from chat.assistants import ASSISTANTS


class NewChatForm(forms.Form):
    """What a new chat is to be; without an assistant it gets the default one."""

    assistant = forms.ChoiceField(
        choices=[(name, assistant.label) for name, assistant in ASSISTANTS.items()], required=False
    )
    temporary = forms.BooleanField(required=False)


class EraseAccountForm(forms.Form):
    """The user's own address, typed, as their word that everything is to be deleted."""

    email = forms.EmailField(
        label="Your email address", widget=forms.EmailInput(attrs={"autocomplete": "off", "autofocus": True})
    )

    def __init__(self, *args: Any, address: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.address = address

    def clean_email(self) -> str:
        """Refuse any other address."""
        email: str = self.cleaned_data["email"].lower()
        if email != self.address:
            raise forms.ValidationError("This is not the address you are signed in with.")
        return email
