"""Invitations, which staff make, send again and withdraw."""

from datetime import datetime
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.utils import timezone

from config.lib.admin import MAX_REASON, Act, ActAdmin, log_act, name_row
from config.lib.edge.invitations import AddressTaken, describe_state, invite, mail_link, renew, require_free, withdraw
from config.lib.work.models import Invitation


class InvitationForm(forms.ModelForm):
    """An address to invite, with a reason."""

    reason = forms.CharField(min_length=4, max_length=MAX_REASON, help_text="Noted in the staff log.")

    class Meta:
        model = Invitation
        fields = ("address",)

    def clean_address(self) -> str:
        """Return the address in small letters, if it is free."""
        address: str = self.cleaned_data["address"].lower()
        try:
            require_free(address)
        except AddressTaken as error:
            raise forms.ValidationError(str(error)) from error
        return address


def _send_again(row: Invitation, now: datetime) -> str:
    return mail_link(row, renew(row, now=now))


@admin.register(Invitation)
class InvitationAdmin(ActAdmin):
    """Each link is mailed, and shown once for a site without mail; the table has its digest alone."""

    form = InvitationForm
    list_display = ("address", "state", "made_at", "made_by", "expires_at", "used_at", "used_by")
    list_select_related = ("made_by", "used_by")
    list_filter = tuple((name, admin.EmptyFieldListFilter) for name in ("used_at", "withdrawn_at"))
    search_fields = ("address",)
    ordering = ("-made_at", "id")
    acts = (
        Act("renew", "Send again, with a new link", _send_again, as_system=True, tells=True),
        Act("withdraw", "Withdraw", lambda row, now: withdraw(row, now=now), as_system=True),
    )

    @admin.display(description="state")
    def state(self, row: Invitation) -> str:
        """Return waiting, expired, used or withdrawn."""
        return describe_state(row, timezone.now())

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Ask for address and reason; show what there is of a row, but its digest."""
        return ("address", "reason") if obj is None else self.list_display

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse Django's own change: there are acts."""
        return False

    def save_model(self, request: HttpRequest, obj: Invitation, form: Any, change: bool) -> None:
        """Make the invitation, mail its link, show it and log the act."""
        staff: Any = request.user
        now = timezone.now()
        self.message_user(request, mail_link(obj, invite(obj, made_by=staff, now=now)))
        log_act(
            staff=staff,
            user_id=staff.pk,
            act="invite",
            subject=name_row(obj),
            reason=form.cleaned_data["reason"],
            now=now,
        )
