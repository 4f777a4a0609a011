"""Every address of the lab."""

from typing import Any, cast

from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from django.conf import settings
from django.urls import path

from lab.api import analytics, clients, disk, find, history, lessons, texts
from lab.web import challenge_pages, course_pages, dev, learning_pages, pages
from lab.web.class_socket import ClassSocket
from lab.web.socket import LabSocket
from lab.web.static_files import serve

_BRANCH = "<slug:run>/<slug:branch>"

urlpatterns = [
    path("", course_pages.front, name="front"),
    path("open-lab", course_pages.open_a_lab, name="open-lab"),
    path("take-over", course_pages.take_over_recording, name="take-over"),
    path("glossary/", course_pages.glossary_page, name="glossary"),
    path("course/<slug:slug>/", course_pages.lesson, name="lesson"),
    path("course/<slug:slug>/start", course_pages.start, name="start-lesson"),
    path("review/", learning_pages.review, name="review"),
    path("review/verdict/", learning_pages.verdict, name="review-verdict"),
    path("review/<slug:slug>/answer", learning_pages.answer, name="answer-review"),
    path("learning/", learning_pages.learning, name="learning"),
    path("learning/export.csv", learning_pages.export_csv, name="export-csv"),
    path("learning/export.jsonl", learning_pages.export_xapi, name="export-xapi"),
    path("learning/delete", learning_pages.delete, name="delete-learning"),
    path("challenges/<slug:slug>/", challenge_pages.challenge, name="challenge"),
    path("challenges/<slug:slug>/judge", challenge_pages.submit),
    path("challenges/<slug:slug>/case", challenge_pages.case),
    path("challenges/<slug:slug>/entries/<int:entry>.json", challenge_pages.progress),
    path("challenges/<slug:slug>/entries/<int:entry>/cancel", challenge_pages.cancel),
    path("challenges/<slug:slug>/entries/<int:entry>/open", challenge_pages.open_run),
    path("sign-in/", pages.sign_in_page, name="sign-in"),
    path("inspect/", pages.own_files, name="own-files"),
    path("runs/", pages.runs, name="runs"),
    path("runs/new", pages.new_run, name="new-run"),
    path("runs/<slug:run>/rename", pages.rename, name="rename-run"),
    path("runs/<slug:run>/duplicate", pages.duplicate, name="duplicate-run"),
    path("runs/<slug:run>/rerun", pages.rerun_in_era, name="rerun-run"),
    path("compare/", pages.compare, name="compare"),
    path("runs/<slug:run>/delete", pages.delete, name="delete-run"),
    path(f"r/{_BRANCH}", pages.lab, name="lab"),
    path("api/find.json", find.everything, name="find"),
    path(f"api/runs/{_BRANCH}/index.json", history.index),
    path(f"api/runs/{_BRANCH}/segments/<int:n>.json", history.segment),
    path(f"api/runs/{_BRANCH}/seek", history.seek),
    path(f"api/runs/{_BRANCH}/commands", history.commands),
    path(f"api/runs/{_BRANCH}/contents", history.log_contents),
    path(f"api/runs/{_BRANCH}/files", history.files),
    path(f"api/runs/{_BRANCH}/bytes", history.file_bytes),
    path(f"api/runs/{_BRANCH}/decoded", history.file_decoded),
    path(f"api/runs/{_BRANCH}/disk/tree", disk.tree),
    path(f"api/runs/{_BRANCH}/disk/page", disk.page),
    path(f"api/runs/{_BRANCH}/disk/lookup", disk.lookup),
    path(f"api/runs/{_BRANCH}/disk/zero-copy", disk.zero_copy),
    path(f"api/runs/{_BRANCH}/assignments", clients.assignments),
    path(f"api/runs/{_BRANCH}/chain", lessons.chain),
    path(f"api/runs/{_BRANCH}/solution", lessons.solution),
    path(f"api/runs/{_BRANCH}/pauses.json", lessons.pauses),
    path(f"api/runs/{_BRANCH}/message", history.message_bytes),
    path(f"api/runs/{_BRANCH}/fork", history.fork),
    path(f"api/runs/{_BRANCH}/bookmark", history.add_bookmark),
    path(f"r/{_BRANCH}/analytics", analytics.page, name="analytics"),
    path(f"api/runs/{_BRANCH}/analytics/start", analytics.start),
    path(f"api/runs/{_BRANCH}/analytics/<slug:id>.json", analytics.job),
    path("texts/<slug:hash>/<str:language>.json", texts.texts, name="texts"),
    path("static/<slug:build>/<path:path>", serve),
]
if settings.DEV:
    urlpatterns.append(path("dev/build", dev.build))
handler404 = "lab.web.pages.page_not_found"

_sockets: list[Any] = [
    path(f"ws/runs/{_BRANCH}/", cast(Any, LabSocket.as_asgi())),
    path("ws/classes/<slug:slug>/", cast(Any, ClassSocket.as_asgi())),
]
websockets = AuthMiddlewareStack(URLRouter(_sockets))
