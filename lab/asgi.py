"""The ASGI application: pages and the API over HTTP, branches over sockets."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lab.settings")

from channels.routing import ProtocolTypeRouter
from django.core.asgi import get_asgi_application

_http = get_asgi_application()

# They need the apps, which are loaded now.
from lab.urls import websockets  # noqa: E402
from lab.web.body_limit import limited_bodies  # noqa: E402
from lab.web.classes.refused_codes import refused_codes  # noqa: E402
from lab.web.same_origin import same_origin  # noqa: E402
from lab.web.threads import with_request_threads  # noqa: E402

application = ProtocolTypeRouter(
    {"http": limited_bodies(refused_codes(with_request_threads(_http))), "websocket": same_origin(websockets)}
)
