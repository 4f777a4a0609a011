"""The gallery in a real browser: each component in fixed states, in both themes and languages, as pictures.

A picture is compared with `tests/data/gallery` as a grid of brightness, so that fonts may differ a little and a
component that is missing, moved or coloured otherwise is found. `HIGHWATER_UPDATE=1` writes the grids; look at the
pictures in `artifacts/gallery` first.
"""

import base64
import json
import os
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest
from django.test import override_settings
from playwright.sync_api import Page, Request, expect

from devtools.tour.tour import until
from tests.support.lab_page import be
from tests.support.lab_server import LabServer, Visitor
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
DRAWN = """async () => {
  const frame = () => new Promise(requestAnimationFrame);
  await frame();
  await frame();
  return [...document.querySelectorAll("#gallery *")].filter((one) => one.isUpdatePending).length;
}"""
"""After two frames: how many elements have changed since and are not drawn."""
SHARED = ("timeline", "stage")
"""What the page shows beside each group. The labels of the time line follow the age of the recording: it is not
compared, and the stage once.
"""
LOOKS = (("dark", "en"), ("light", "zh-CN"))


@pytest.fixture(scope="module")
def served(lab_server: LabServer) -> Iterator[LabServer]:
    with override_settings(ROOT_URLCONF="devtools.urls"):
        yield lab_server


@pytest.fixture
def gallery(page: Page, served: LabServer, visitor: Visitor, complaints: list[str]) -> Page:
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(reduced_motion="reduce")
    be(page, visitor)
    return page


def show(page: Page, served: LabServer, query: str) -> None:
    page.goto(f"{served.address}/dev/gallery/?{query}")
    page.wait_for_selector("body[data-group] .hw-node")
    page.wait_for_load_state("networkidle")


def choose(page: Page, group: str) -> None:
    """Draws another group, and waits until its elements have what they fetch and have drawn it."""
    pending: set[Request] = set()

    def asked(request: Request) -> None:
        pending.add(request)

    def answered(request: Request) -> None:
        # One of the group before may be among them.
        pending.discard(request)

    page.on("request", asked)
    page.on("requestfinished", answered)
    page.on("requestfailed", answered)
    # Without the pointer, which would then be over one of the elements.
    page.locator("#gallery-groups").get_by_role("link", name=group, exact=True).dispatch_event("click")
    page.wait_for_selector(f"body[data-group={group}]")
    until(page, lambda: not page.evaluate(DRAWN) and not pending, f"{group}, drawn")
    for event, listener in (("request", asked), ("requestfinished", answered), ("requestfailed", answered)):
        page.remove_listener(event, listener)


@pytest.mark.parametrize(("theme", "language"), LOOKS)
def test_components_match_their_pictures(gallery: Page, served: LabServer, theme: str, language: str) -> None:
    different: dict[str, str] = {}
    show(gallery, served, f"theme={theme}&language={language}&scene=transaction")
    assert gallery.locator("html").get_attribute("data-theme") == theme
    for group in GROUPS:
        choose(gallery, group)
        if group == "groups":
            # The preview is asked for after a pause.
            gallery.wait_for_selector("hw-group-preview td")
        look = f"{group}-{theme}-{language}"
        grids = pictures(gallery, PICTURES / look, left_out=SHARED if group != GROUPS[0] else SHARED[:1])
        assert grids
        path = GRIDS / f"{look}.json"
        if os.environ.get("HIGHWATER_UPDATE"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(grids, separators=(",", ":")) + "\n", encoding="utf-8")
        before = json.loads(path.read_text(encoding="utf-8"))
        assert grids.keys() == before.keys()
        different |= {f"{look} {name}": why for name in grids if (why := difference(before[name], grids[name]))}
    assert different == {}, f"look at {PICTURES}, and run the test with HIGHWATER_UPDATE=1 if that is what you want"


def test_groups_can_be_drawn_in_other_scenes(gallery: Page, served: LabServer) -> None:
    for scene in ("brokers", "leader-down", "recovered"):
        show(gallery, served, f"scene={scene}")
        for group in GROUPS:
            choose(gallery, group)
            assert gallery.locator(".gallery-item").count() > 2


def test_address_of_a_group_shows_it(gallery: Page, served: LabServer) -> None:
    show(gallery, served, "scene=transaction&group=act")
    expect(gallery.locator("[data-component=hw-act]")).to_be_visible()
    choose(gallery, "disk")
    gallery.reload()
    expect(gallery.locator("[data-component=hw-disk]")).to_be_visible()


def test_changed_component_is_detected() -> None:
    grid = [[100] * CELLS for _ in range(CELLS)]
    assert difference(grid, grid) == ""
    darker = [[80] * CELLS for _ in range(CELLS)]
    assert "mean" in difference(grid, darker)
    spot = [row[:] for row in grid]
    spot[3][4] = 255
    assert "cell" in difference(grid, spot)


def pictures(page: Page, folder: Path, left_out: Collection[str]) -> dict[str, list[list[int]]]:
    """Component -> its grid; the pictures themselves are kept in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    grids = {}
    for item in page.locator(".gallery-item").all():
        name = item.get_attribute("data-component") or ""
        if name in left_out:
            continue
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
