"""The devices on which a user is signed in."""

from typing import ClassVar

from allauth.usersessions.forms import ManageUserSessionsForm
from allauth.usersessions.internal.flows.sessions import end_sessions
from allauth.usersessions.models import UserSession
from allauth.usersessions.views import ListUserSessionsView
from asgiref.sync import async_to_sync
from django import forms
from django.http import HttpRequest, HttpResponse

from chat.turns.live import tell_recheck


class EndSessionsForm(ManageUserSessionsForm):  # type: ignore[misc]
    """Ends one session of the user, or all but this one."""

    session = forms.IntegerField(required=False, min_value=1)

    def save(self, request: HttpRequest) -> None:
        chosen = self.cleaned_data["session"]
        if chosen is None:
            super().save(request)
        else:
            end_sessions(request, list(UserSession.objects.filter(user_id=request.user.pk, pk=chosen)))


class SessionsView(ListUserSessionsView):  # type: ignore[misc]
    """Lists the user's sessions and ends them; their sockets close at once."""

    form_class = EndSessionsForm
    http_method_names: ClassVar = ["get", "head", "post"]

    def form_valid(self, form: EndSessionsForm) -> HttpResponse:
        user_id: int = self.request.user.pk
        response: HttpResponse = super().form_valid(form)
        async_to_sync(tell_recheck)(user_id)
        return response
