"""The gallery in a real browser: each component in fixed states, in both themes and languages, as pictures.

A picture is compared with `tests/data/gallery` as a grid of brightness, so that fonts may differ a little and a
component that is missing, moved or coloured otherwise is found. `HIGHWATER_UPDATE=1` writes the grids; look at the
pictures in `artifacts/gallery` first.
"""

import base64
import json
import os
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest
from django.conf import settings
from django.test import override_settings
from playwright.sync_api import Page

from tests.support.lab_server import LabServer
from tests.support.paths import DATA, ROOT

GRIDS = DATA / "gallery"
PICTURES = ROOT / "artifacts" / "gallery"
CELLS = 24
"""Cells of a grid in each direction."""
MAX_MEAN_DIFFERENCE = 6.0
"""Of brightness (0 to 255), over the cells of a component."""
MAX_CELL_DIFFERENCE = 90
GROUPS = (
    "course",
    "controls", "act", "inspect", "time", "table", "disk", "zookeeper", "groups", "producers", "transactions", "alarms",
    "classroom",
)  # fmt: skip
BRIGHTNESS = """async ([png, cells]) => {
  const bytes = Uint8Array.from(atob(png), (one) => one.charCodeAt(0));
  const small = { resizeWidth: cells, resizeHeight: cells, resizeQuality: "high" };
  const picture = await createImageBitmap(new Blob([bytes], { type: "image/png" }), small);
  const canvas = new OffscreenCanvas(cells, cells).getContext("2d");
  canvas.drawImage(picture, 0, 0);
  const { data } = canvas.getImageData(0, 0, cells, cells);
  const grey = (at) => Math.round((data[at] * 299 + data[at + 1] * 587 + data[at + 2] * 114) / 1000);
  return Array.from({ length: cells }, (_, y) => Array.from({ length: cells }, (_, x) => grey((y * cells + x) * 4)));
}"""
"""A PNG as a grid of brightness, scaled down by the browser."""
LOOKS = (("dark", "en"), ("light", "zh-CN"))


@pytest.fixture(scope="module")
def served(lab_server: LabServer) -> Iterator[LabServer]:
    with override_settings(ROOT_URLCONF="devtools.urls"):
        yield lab_server


@pytest.fixture
def gallery(page: Page, served: LabServer, complaints: list[str]) -> Page:
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{served.address}/sign-in/?token={settings.SIGN_IN_TOKEN}")
    return page


def show(page: Page, served: LabServer, query: str) -> None:
    page.goto(f"{served.address}/dev/gallery/?{query}")
    page.wait_for_selector("body[data-ready] .hw-node")
    page.wait_for_load_state("networkidle")


@pytest.mark.parametrize("group", GROUPS)
def test_components_match_their_pictures(gallery: Page, served: LabServer, group: str) -> None:
    different: dict[str, str] = {}
    for theme, language in LOOKS:
        show(gallery, served, f"theme={theme}&language={language}&scene=transaction&group={group}")
        assert gallery.locator("html").get_attribute("data-theme") == theme
        look = f"{group}-{theme}-{language}"
        grids = pictures(gallery, PICTURES / look)
        assert len(grids) >= 2
        path = GRIDS / f"{look}.json"
        if os.environ.get("HIGHWATER_UPDATE"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(grids, separators=(",", ":")) + "\n", encoding="utf-8")
        before = json.loads(path.read_text(encoding="utf-8"))
        assert grids.keys() == before.keys()
        different |= {f"{look} {name}": why for name in grids if (why := difference(before[name], grids[name]))}
    assert different == {}, f"look at {PICTURES}, and run the test with HIGHWATER_UPDATE=1 if that is what you want"


def test_groups_can_be_drawn_in_other_scenes(gallery: Page, served: LabServer) -> None:
    for group, scene in zip(GROUPS, cycle(("brokers", "leader-down", "recovered")), strict=False):
        show(gallery, served, f"scene={scene}&group={group}")
        assert gallery.locator(".gallery-item").count() > 2


def test_changed_component_is_detected() -> None:
    grid = [[100] * CELLS for _ in range(CELLS)]
    assert difference(grid, grid) == ""
    darker = [[80] * CELLS for _ in range(CELLS)]
    assert "mean" in difference(grid, darker)
    spot = [row[:] for row in grid]
    spot[3][4] = 255
    assert "cell" in difference(grid, spot)


def pictures(page: Page, folder: Path) -> dict[str, list[list[int]]]:
    """Component -> its grid; the pictures themselves are kept in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    grids = {}
    for item in page.locator(".gallery-item").all():
        name = item.get_attribute("data-component") or ""
        if name == "timeline":
            continue  # its labels follow the age of the recording
        picture = item.screenshot(path=folder / f"{name}.png", animations="disabled")
        grids[name] = page.evaluate(BRIGHTNESS, [base64.b64encode(picture).decode(), CELLS])
    return grids


def difference(before: list[list[int]], now: list[list[int]]) -> str:
    """What is different, in words; empty when nothing that counts is."""
    cells = [abs(a - b) for old, new in zip(before, now, strict=True) for a, b in zip(old, new, strict=True)]
    mean = sum(cells) / len(cells)
    if mean > MAX_MEAN_DIFFERENCE:
        return f"mean difference {mean:.1f}, at most {MAX_MEAN_DIFFERENCE} is accepted"
    if max(cells) > MAX_CELL_DIFFERENCE:
        return f"a cell differs by {max(cells)}, at most {MAX_CELL_DIFFERENCE} is accepted"
    return ""
