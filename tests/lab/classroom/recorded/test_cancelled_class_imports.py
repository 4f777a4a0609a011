"""Imports of classes whose page is closed."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from lab.actions.classes import transfer_class
from lab.actions.classes.demonstration import DEMONSTRATION, open_demonstration
from lab.actions.execution import ExecutionEnded
from lab.archives.progress import Stage
from lab.classroom.recorded.class_file import unpack_class
from lab.models import Class
from tests.support.lab_server import PATIENCE_S, LabServer, Visitor


def test_a_demonstration_whose_page_was_closed_is_known_to_the_next_click(
    lab_server: LabServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    teacher = Visitor(lab_server).sign_in_as("impatient")
    User.objects.filter(username="impatient").update(is_staff=True)
    user = User.objects.get(username="impatient")
    entered, goes_on = threading.Event(), threading.Event()
    enter = transfer_class._enter

    def entered_slowly(*given: Any) -> Class:
        made = enter(*given)
        entered.set()
        assert goes_on.wait(PATIENCE_S)
        return made

    async def closed(_: object) -> bool:
        opening = asyncio.create_task(open_demonstration(user))
        assert await asyncio.to_thread(entered.wait, PATIENCE_S / 2)
        opening.cancel()
        await asyncio.wait([opening], timeout=PATIENCE_S / 4)
        return opening.cancelled()

    with monkeypatch.context() as patch:
        patch.setattr(transfer_class, "_enter", entered_slowly)
        try:
            assert lab_server.call(closed)
        finally:
            goes_on.set()
    opened = teacher.post("/classes/demonstration")
    (made,) = Class.objects.filter(owner=user)
    assert f"/classes/{made.slug}/replay/" in opened.url
    assert made.settings == {"recording": "imported", "demonstration": True}
    made.delete()


def test_a_cancelled_import_is_not_unpacked_to_its_end(tmp_path: Path) -> None:
    def cancelled_while_unpacked(stage: Stage, done: int, of: int) -> None:
        assert stage == "unpack" and 0 < done < of
        raise ExecutionEnded

    with DEMONSTRATION.open("rb") as file, pytest.raises(ExecutionEnded):
        unpack_class(file, tmp_path / "class", cancelled_while_unpacked)
    assert not (tmp_path / "class").exists()
