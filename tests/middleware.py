"""Middleware of the settings under test."""

from asgiref.sync import iscoroutinefunction
from django.utils.decorators import sync_and_async_middleware
from servestatic.middleware import ServeStaticMiddleware


@sync_and_async_middleware
def serve_static_files(get_response):
    """Serve static files to asynchronous clients, as browsers are; leave out the middleware for Django's test client.

    The library's middleware is asynchronous alone. For each request of a synchronous client, Django would start a
    thread and hand the request over and back; and each client would search all folders for static files.
    """
    return ServeStaticMiddleware(get_response) if iscoroutinefunction(get_response) else get_response
