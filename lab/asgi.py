"""The ASGI application: pages and the API over HTTP, branches over sockets."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lab.settings")

from channels.routing import ProtocolTypeRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.core.asgi import get_asgi_application

_http = get_asgi_application()

from lab.urls import websockets  # noqa: E402  (needs the apps, which are loaded now)

application = ProtocolTypeRouter({"http": _http, "websocket": AllowedHostsOriginValidator(websockets)})
