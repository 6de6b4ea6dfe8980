from typing import Any, cast

from django.urls import path

from chat.web.consumers import ChatConsumer

# Channels takes Django's `path`, whose types know views only.
websocket_urlpatterns: list[Any] = [path("ws/chat/<uuid:conversation_id>/", cast(Any, ChatConsumer.as_asgi()))]
