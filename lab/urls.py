"""Every address of the lab."""

from typing import Any, cast

from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from django.conf import settings
from django.urls import path

from lab.api import analytics, clients, disk, find, history, lessons, recorded, recorded_audio, studies, texts
from lab.web import (
    account_pages,
    board_pages,
    carry_pages,
    challenge_pages,
    class_pages,
    course_pages,
    dev,
    door_pages,
    learning_pages,
    pages,
    summary_pages,
)
from lab.web.class_socket import ClassSocket
from lab.web.guests import GuestSockets
from lab.web.recorded import carry_pages as recording_files
from lab.web.recorded import replay_pages
from lab.web.socket import LabSocket
from lab.web.static_files import serve

_BRANCH = "<slug:run>/<slug:branch>"
_RECORDING = "api/classes/<slug:slug>/recording"

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
    path("studies/", studies.studies, name="studies"),
    path("studies/<slug:slug>/", studies.study, name="study"),
    path("api/studies/<slug:slug>.json", studies.charts),
    path("api/studies/<slug:slug>.csv", studies.csv),
    path("challenges/<slug:slug>/", challenge_pages.challenge, name="challenge"),
    path("challenges/<slug:slug>/judge", challenge_pages.submit),
    path("challenges/<slug:slug>/case", challenge_pages.case),
    path("challenges/<slug:slug>/entries/<int:entry>.json", challenge_pages.progress),
    path("challenges/<slug:slug>/entries/<int:entry>/cancel", challenge_pages.cancel),
    path("challenges/<slug:slug>/entries/<int:entry>/open", challenge_pages.open_run),
    path("sign-in/", account_pages.sign_in_page, name="sign-in"),
    path("sign-out", account_pages.sign_out, name="sign-out"),
    path("account/", account_pages.account, name="account"),
    path("classes/", class_pages.classes, name="classes"),
    path("classes/new", class_pages.new_class, name="new-class"),
    path("classes/demonstration", recording_files.demonstration, name="demonstration"),
    path("classes/import", recording_files.import_file, name="import-class"),
    path("classes/<slug:slug>/", class_pages.class_home, name="class"),
    path("classes/<slug:slug>/board/", board_pages.board, name="class-board"),
    path("classes/<slug:slug>/projector/", board_pages.projector, name="class-projector"),
    path("classes/<slug:slug>/summary/", summary_pages.class_summary, name="class-summary"),
    path("classes/<slug:slug>/replay/", replay_pages.replay, name="class-replay"),
    path("classes/<slug:slug>/watch/", board_pages.watch, name="class-watch"),
    path("classes/<slug:slug>/door", class_pages.change_door),
    path("classes/<slug:slug>/people/<int:number>", class_pages.change_person),
    path("classes/<slug:slug>/leave", class_pages.leave),
    path("classes/<slug:slug>/erase", class_pages.erase_me),
    path("classes/<slug:slug>/key", class_pages.new_key),
    path("classes/<slug:slug>/elsewhere", class_pages.continue_elsewhere),
    path("classes/<slug:slug>/account", class_pages.keep),
    path("classes/<slug:slug>/end", class_pages.end),
    path("classes/<slug:slug>/delete", class_pages.delete),
    path("api/classes/<slug:slug>/presence", class_pages.presence),
    path(f"{_RECORDING}/manifest.json", recorded.manifest),
    path(f"{_RECORDING}/audio/voice", recorded_audio.voice),
    path(f"{_RECORDING}/audio/shift", recorded_audio.shift),
    path(f"{_RECORDING}/audio/<int:piece>", recorded_audio.play),
    path(f"{_RECORDING}/audio/<int:piece>/end", recorded_audio.end),
    path(f"{_RECORDING}/audio/<int:piece>/<int:index>", recorded_audio.put),
    path(f"{_RECORDING}/map.json", recorded.class_map),
    path(f"{_RECORDING}/segments/<int:n>.json", recorded.segment),
    path(f"{_RECORDING}/export", recording_files.export, name="export-class"),
    path(f"{_RECORDING}/take-over", recorded.take_over),
    path(f"{_RECORDING}/seal", recorded.seal),
    path(f"{_RECORDING}/search", recorded.found),
    path(f"{_RECORDING}/notes", recorded.notes),
    path(f"{_RECORDING}/notes/<slug:id>", recorded.note),
    path(f"{_RECORDING}/chapters", recorded.chapters),
    path(f"{_RECORDING}/chapters/<int:number>", recorded.chapter),
    path(f"{_RECORDING}/labs/<int:lab>/index.json", recorded.lab_index),
    path(f"{_RECORDING}/labs/<int:lab>/segments/<int:n>.json", recorded.lab_segment),
    path(f"{_RECORDING}/labs/<int:lab>/seek", recorded.lab_seek),
    path(f"{_RECORDING}/labs/<int:lab>/contents", recorded.lab_contents),
    path("join/", door_pages.join, name="join"),
    path("join/<str:key>/", door_pages.join_by_link, name="join-class"),
    path("join/<str:key>/name", door_pages.offered_name),
    path("return/<slug:slug>/", door_pages.come_back, name="return"),
    path("continue/", door_pages.continue_here, name="continue"),
    path("continue/<str:typed>/", door_pages.continue_here, name="continue-with"),
    path("inspect/", pages.own_files, name="own-files"),
    path("runs/", pages.runs, name="runs"),
    path("runs/new", pages.new_run, name="new-run"),
    path("runs/delete", pages.delete_chosen, name="delete-runs"),
    path("runs/import", carry_pages.import_file, name="import-run"),
    path("runs/<slug:run>/export", carry_pages.export, name="export-run"),
    path("runs/<slug:run>/rename", pages.rename, name="rename-run"),
    path("runs/<slug:run>/duplicate", pages.duplicate, name="duplicate-run"),
    path("runs/<slug:run>/rerun", pages.rerun_in_era, name="rerun-run"),
    path("compare/", pages.compare, name="compare"),
    path("runs/<slug:run>/delete", pages.delete, name="delete-run"),
    path(f"r/{_BRANCH}", pages.lab, name="lab"),
    path("api/find.json", find.everything, name="find"),
    path(f"api/runs/{_BRANCH}/page.html", carry_pages.page_file),
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
    path(f"api/runs/{_BRANCH}/analytics/tables.json", analytics.stored),
    path(f"api/runs/{_BRANCH}/analytics/tables/start", analytics.build),
    path(f"api/runs/{_BRANCH}/analytics/tables/<slug:id>.json", analytics.build_job),
    path(f"api/runs/{_BRANCH}/analytics/tables/<slug:name>.csv", analytics.stored_csv),
    path(f"api/runs/{_BRANCH}/analytics/tables/<slug:name>.parquet", analytics.stored_parquet),
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
websockets = AuthMiddlewareStack(GuestSockets(URLRouter(_sockets)))
