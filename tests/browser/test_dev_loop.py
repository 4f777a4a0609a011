"""`make dev` on a copy of the project: changes are visible in the page, and the run continues."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Page, expect

from devtools.tour.lab_process import running_lab
from lab.runtime.lab_file import LabFile
from lab.runtime.tcp.bound_ports import lasting_port
from tests.support.lab_page import console, press
from tests.support.lab_server import PATIENCE_S
from tests.support.paths import ROOT
from tests.support.processes.lab_output import printed_address

COPIED = ("broker_core", "devtools", "docs", "lab", "manage.py", "static", "templates")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    copy = tmp_path / "project"
    copy.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            # With the compiled modules, which the server would have to make again; not with those being written.
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("*.pyc.*"))
        else:
            shutil.copy(ROOT / name, copy / name)
    return copy


@pytest.fixture
def served(project: Path, tmp_path: Path) -> Iterator[Callable[[], LabFile]]:
    """Starts `manage.py dev`; returns what waits for the server, and after a restart for the next one."""
    data = tmp_path / "data"
    process = subprocess.Popen(
        [sys.executable, "manage.py", "dev", "--port", str(lasting_port())],
        cwd=project,
        env={**os.environ, "HIGHWATER_DATA": str(data), "PYTHONPATH": str(project), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )

    def server() -> LabFile:
        address = printed_address(process)
        found = running_lab(data)
        assert found is not None and found.address == address
        return found

    with process:
        yield server
        process.terminate()
        assert process.wait(PATIENCE_S) == 0
    assert running_lab(data) is None


def test_changes_are_reloaded_and_the_run_continues(page: Page, project: Path, served: Callable[[], LabFile]) -> None:
    first = served()
    # The printed address signs in and opens the front page.
    page.goto(first.address)
    page.goto(urljoin(first.address, "/runs/"))
    page.get_by_role("button", name="Start the cluster").click()
    expect(page.locator(".nodes .state.up")).to_have_count(3)
    address = page.url

    template = project / "templates" / "base.html"
    template.write_text(template.read_text().replace('aria-label="Highwater"', 'aria-label="Another name"'))
    expect(page.get_by_label("Another name")).to_be_visible()

    tokens = project / "static/lab/css/base/reset.css"
    tokens.write_text(tokens.read_text() + "\nbody { outline-color: rgb(1, 2, 3); }\n")
    expect(page.locator("body")).to_have_css("outline-color", "rgb(1, 2, 3)")
    assert page.url.split("?")[0] == address.split("?")[0]

    page.goto(urljoin(first.address, "/course/008-a-records-way/"))
    brief = project / "lab" / "exercises" / "content" / "008-a-records-way" / "brief.en.md"
    brief.write_text(f"A sentence that was not there. {brief.read_text()}")
    expect(page.get_by_text("A sentence that was not there.")).to_be_visible()
    first = served()
    page.goto(address)

    expect(page.locator(".nodes .state.up")).to_have_count(3)
    press(page, "Space")
    expect(page.locator(".tp .tag")).to_contain_text("PAUSED")
    before = int(re.sub(r"\D", "", page.locator(".number").inner_text()))
    pages = project / "lab" / "web" / "pages.py"
    pages.write_text(pages.read_text() + "\n# changed\n")
    second = served()
    assert (second.address, second.pid != first.pid) == (first.address, True)
    # The page was neither reloaded by hand nor signed in again.
    expect(page.locator("hw-connection")).not_to_contain_text("Connection lost")
    expect(console(page, "kafka-topics.sh --list")).not_to_contain_text("Refused")
    shown = int(re.sub(r"\D", "", page.locator(".number").inner_text()))
    assert shown >= before
