from collections.abc import Callable

from asgiref.sync import async_to_sync
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.http import HttpRequest, HttpResponse

from chat.turns.live import tell_recheck


class SocketRecheckMiddleware:
    """Recheck a user's sockets when a session ends or changes."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method not in {"POST", "PUT", "PATCH", "DELETE"}:
            return self.get_response(request)
        user_id, stamp = request.session.get(SESSION_KEY), request.session.get(HASH_SESSION_KEY)
        response = self.get_response(request)
        is_same = request.session.get(SESSION_KEY) == user_id and request.session.get(HASH_SESSION_KEY) == stamp
        if user_id is not None and not is_same:
            # The session itself is saved or gone only when the outer middleware has run.
            response._resource_closers.append(lambda: async_to_sync(tell_recheck)(int(user_id)))  # type: ignore[attr-defined]
        return response
