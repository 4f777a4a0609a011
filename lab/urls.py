"""Every address of the lab."""

from typing import Any, cast

from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from django.urls import include, path

from lab.api import clients as clients_api
from lab.api import disk as disk_api
from lab.api import history as api
from lab.web import pages as views
from lab.web.socket import LabSocket
from lab.web.static_files import serve

_BRANCH = "<slug:run>/<slug:branch>"

urlpatterns = [
    path("", views.front, name="front"),
    path("sign-in/", views.sign_in_page, name="sign-in"),
    path("inspect/", views.own_files, name="own-files"),
    path("runs/", views.runs, name="runs"),
    path("runs/new", views.new_run, name="new-run"),
    path("runs/<slug:run>/rename", views.rename, name="rename-run"),
    path("runs/<slug:run>/duplicate", views.duplicate, name="duplicate-run"),
    path("runs/<slug:run>/rerun", views.rerun_in_era, name="rerun-run"),
    path("exercises/<slug:slug>/run", views.run_of_exercise, name="run-of-exercise"),
    path("compare/", views.compare, name="compare"),
    path("runs/<slug:run>/delete", views.delete, name="delete-run"),
    path(f"r/{_BRANCH}", views.lab, name="lab"),
    path(f"api/runs/{_BRANCH}/index.json", api.index),
    path(f"api/runs/{_BRANCH}/segments/<int:n>.json", api.segment),
    path(f"api/runs/{_BRANCH}/seek", api.seek),
    path(f"api/runs/{_BRANCH}/commands", api.commands),
    path(f"api/runs/{_BRANCH}/contents", api.log_contents),
    path(f"api/runs/{_BRANCH}/files", api.files),
    path(f"api/runs/{_BRANCH}/bytes", api.file_bytes),
    path(f"api/runs/{_BRANCH}/decoded", api.file_decoded),
    path(f"api/runs/{_BRANCH}/disk/tree", disk_api.tree),
    path(f"api/runs/{_BRANCH}/disk/page", disk_api.page),
    path(f"api/runs/{_BRANCH}/disk/lookup", disk_api.lookup),
    path(f"api/runs/{_BRANCH}/disk/zero-copy", disk_api.zero_copy),
    path(f"api/runs/{_BRANCH}/assignments", clients_api.assignments),
    path(f"api/runs/{_BRANCH}/message", api.message_bytes),
    path(f"api/runs/{_BRANCH}/fork", api.fork),
    path(f"api/runs/{_BRANCH}/bookmark", api.add_bookmark),
    path("", include("lab.analytics.urls")),
    path("static/<slug:build>/<path:path>", serve),
]
handler404 = "lab.web.pages.page_not_found"

_sockets: list[Any] = [path(f"ws/runs/{_BRANCH}/", cast(Any, LabSocket.as_asgi()))]
websockets = AuthMiddlewareStack(URLRouter(_sockets))
