"""The ASGI application: HTTP, sockets, start and stop."""

import os

from channels.routing import ProtocolTypeRouter, URLRouter
from channels.sessions import CookieMiddleware, SessionMiddleware
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django_application = get_asgi_application()

# Models can be imported only once Django is set up.
from channels.auth import AuthMiddleware  # noqa: E402
from django.conf import settings  # noqa: E402

from chat.web.consumers import websocket_urlpatterns  # noqa: E402
from chat.web.lifespan import Lifespan  # noqa: E402
from config.lib.edge.bodies import BodyLimit  # noqa: E402
from config.lib.edge.page_threads import PageThreads  # noqa: E402
from config.lib.edge.requests import AccessLog, ClientAddress, RequestId  # noqa: E402
from config.lib.rest.problems import API_PATH  # noqa: E402

_pages = PageThreads(django_application, apart=(API_PATH, *settings.DIRECT_PATHS))
_protocols = ProtocolTypeRouter(
    {
        "http": BodyLimit(_pages, limit=settings.MAX_BODY_BYTES, larger=settings.LARGER_BODIES),
        "websocket": CookieMiddleware(SessionMiddleware(AuthMiddleware(URLRouter(websocket_urlpatterns)))),
        "lifespan": Lifespan(),
    }
)
_application = ClientAddress(AccessLog(_protocols), proxies=settings.TRUSTED_PROXIES)
application = RequestId(_application, trusts_header=bool(settings.TRUSTED_PROXIES))
