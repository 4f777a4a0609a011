"""The gallery in a real browser: each component in fixed states, in both themes and languages.

Two kinds of checks look at each of the four looks; outside of `make soak`, at two of them, which have each theme and
each language.

What is measured in the page needs no record. It finds components that show nothing, texts that lie on each other, texts
that run out of their frame, and texts whose contrast with what is behind them is below 3.

A picture of each component is compared with its signature in `tests/data/gallery`: its size, the mean colour of each of
10 x 10 cells, and how much of it each of 24 hues covers. It finds a component that is missing or moved, another
background, a layout that takes more or less room, and a colour that is gone or new also where it covers less than a
thousandth of the picture, like the border of a message.

Neither finds another word or number in its place, another icon of the same size and colour, a shade that differs a
little, or a shift by a few pixels. Fonts may differ a little: Chinese has that of the machine, all else comes with the
page. With another font for everything, one picture in fifteen is different.

`HIGHWATER_UPDATE=1` writes the signatures; look at the pictures in `artifacts/gallery` first.
"""

import base64
import json
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.test import override_settings
from playwright.sync_api import Page, Request, expect

from devtools.gallery.views import PAGES
from devtools.tour.tour import until
from tests.support.gallery.pictures import CELLS, HUES, MIN_SATURATION, Signature, difference, made
from tests.support.lab_page import be
from tests.support.lab_server import LabServer, Visitor
from tests.support.paths import DATA, ROOT
from tests.support.soak import IS_SOAK

SIGNATURES = DATA / "gallery"
PICTURES = ROOT / "artifacts" / "gallery"
MEASURES = (ROOT / "tests" / "support" / "gallery" / "measures.js").read_text(encoding="utf-8")
LIMITS = {"overlapping": 0.25, "contrast": 3}
"""How much of the smaller of two texts the other one may cover, and the contrast that large texts need by WCAG."""
SHARED = ("timeline", "stage", "sides")
"""What pages show beside each group. The labels of the time line follow the age of the recording: it is not compared,
and the drawings once.
"""
LOOKS = [("dark", "en"), ("light", "zh-CN")]
if IS_SOAK:
    LOOKS += [("dark", "zh-CN"), ("light", "en")]


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


@contextmanager
def drawn(page: Page, what: str) -> Iterator[None]:
    """Waits until the elements of the group that is shown meanwhile have what they fetch, and have drawn it."""
    pending: set[Request] = set()

    def asked(request: Request) -> None:
        pending.add(request)

    def answered(request: Request) -> None:
        # One of the group before may be among them.
        pending.discard(request)

    listeners = (("request", asked), ("requestfinished", answered), ("requestfailed", answered))
    for event, listener in listeners:
        page.on(event, listener)  # type: ignore[call-overload]
    yield
    until(page, lambda: not page.evaluate("gallery.pending()") and not pending, f"{what}, drawn")
    for event, listener in listeners:
        page.remove_listener(event, listener)


def show(page: Page, served: LabServer, query: str) -> None:
    """Opens a page of the gallery at a group."""
    with drawn(page, query):
        page.goto(f"{served.address}/dev/gallery/?{query}")
        page.wait_for_selector("body[data-group]")
        page.evaluate(MEASURES, {"CELLS": CELLS, "HUES": HUES, "MIN_SATURATION": MIN_SATURATION})


def groups(page: Page) -> list[str]:
    return page.locator("#gallery-groups a").all_inner_texts()


def choose(page: Page, group: str) -> None:
    """Draws another group."""
    with drawn(page, group):
        # Without the pointer, which would then be over one of the elements.
        page.locator("#gallery-groups").get_by_role("link", name=group, exact=True).dispatch_event("click")
        page.wait_for_selector(f"body[data-group={group}]")


def each_group(page: Page, served: LabServer, query: str) -> Iterator[tuple[str, str]]:
    """Shows one group after the other: the page of the gallery that it is on, and its name."""
    for name in PAGES:
        show(page, served, f"page={name}&{query}")
        for at, group in enumerate(groups(page)):
            if at and page.evaluate("document.body.dataset.stays"):
                choose(page, group)
            elif at:
                show(page, served, f"page={name}&{query}&group={group}")
            yield name, group


def settle(page: Page, name: str, group: str) -> None:
    """Waits for what is drawn after a pause."""
    page.mouse.move(0, 0)
    if (name, group) == ("lab", "groups"):
        page.wait_for_selector("hw-group-preview td")
    if name == "compare":
        page.wait_for_selector("hw-compare-transport .last:not(:empty)")
        # The contents of records are fetched after a pause.
        page.wait_for_load_state("networkidle")
    page.evaluate("document.fonts.ready.then(() => null)")


@pytest.mark.soak
@pytest.mark.parametrize(("theme", "language"), LOOKS)
def test_components_look_as_recorded(gallery: Page, served: LabServer, theme: str, language: str) -> None:
    look = f"{theme}-{language}"
    now: dict[str, dict[str, Signature]] = {}
    problems: list[str] = []
    for name, group in each_group(gallery, served, f"theme={theme}&language={language}&scene=transaction"):
        assert gallery.locator("html").get_attribute("data-theme") == theme
        settle(gallery, name, group)
        left_out = SHARED if f"{name}/{group}" not in ("lab/course", "compare/compare") else SHARED[:1]
        now[f"{name}/{group}"] = signatures(gallery, PICTURES / look / f"{name}-{group}.png", left_out)
        found = gallery.evaluate("([left, limits]) => gallery.problems(left, limits)", [left_out, LIMITS])
        problems += [f"{name}/{group} {problem}" for problem in found]
    path = SIGNATURES / f"{look}.json"
    if os.environ.get("HIGHWATER_UPDATE"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(written(now), encoding="utf-8")
    before = json.loads(path.read_text(encoding="utf-8"))
    assert names(now) == names(before)
    different = {
        f"{group} {name}": why
        for group, shown in now.items()
        for name, one in shown.items()
        if (why := difference(before[group][name], one))
    }
    assert different == {}, f"look at {PICTURES}, and run the test with HIGHWATER_UPDATE=1 if that is what you want"
    assert problems == [], "\n".join(problems)


def test_groups_can_be_drawn_in_other_scenes(gallery: Page, served: LabServer) -> None:
    for scene in ("brokers", "leader-down", "recovered"):
        show(gallery, served, f"scene={scene}")
        for group in groups(gallery):
            choose(gallery, group)
            assert gallery.locator(".gallery-item").count() > 2


def test_address_of_a_group_shows_it(gallery: Page, served: LabServer) -> None:
    show(gallery, served, "scene=transaction&group=act")
    expect(gallery.locator("[data-component=hw-act]")).to_be_visible()
    choose(gallery, "disk")
    gallery.reload()
    expect(gallery.locator("[data-component=hw-disk]")).to_be_visible()


MISTAKES = {
    "a colour that is gone": (".message.bad { border-color: var(--line2); background: var(--raise); }", "hue"),
    "a part that is gone": (".message { display: none; }", ""),
    "a column in place of a row": (".gallery-frame.row { display: grid; }", "height"),
    "another background": (".gallery-frame { background: var(--raise2); }", "mean"),
    "texts on each other": (".message p { margin-top: -15px; }", "on each other"),
    "a text that does not wrap": (".message p { text-indent: 1200px; white-space: nowrap; }", "runs out"),
    "a text in the colour of its ground": (".message b { color: var(--raise); }", "contrast"),
}


def test_broken_styles_are_found(gallery: Page, served: LabServer) -> None:
    show(gallery, served, "scene=transaction&group=controls")
    right = signatures(gallery, PICTURES / "broken" / "right.png", SHARED)
    assert gallery.evaluate("([left, limits]) => gallery.problems(left, limits)", [SHARED, LIMITS]) == []
    for mistake, (style, finds) in MISTAKES.items():
        gallery.evaluate(
            """(style) => {
              const sheet = new CSSStyleSheet();
              sheet.replaceSync(style);
              document.adoptedStyleSheets = [sheet];
            }""",
            f":root:root {style}",
        )
        wrong = signatures(gallery, PICTURES / "broken" / f"{mistake}.png", SHARED)
        found = [why for name, one in wrong.items() if (why := difference(right[name], one))]
        found += gallery.evaluate("([left, limits]) => gallery.problems(left, limits)", [SHARED, LIMITS])
        assert [one for one in found if finds in one], f"{mistake}: {found}"


def test_staff_hear_who_raises_a_hand(gallery: Page, served: LabServer) -> None:
    """The live region of the board, which the gallery cannot show."""
    show(gallery, served, "page=classroom&group=board")
    gallery.evaluate("document.getElementById('gallery').append(document.createElement('hw-class-speech'))")
    gallery.evaluate(
        """async () => {
          const { src } = document.querySelector('script[src*="pages/gallery/classroom/main.js"]');
          const { tree } = await import(new URL("../../../classroom/store.js", src));
          const hand = { raised_us: 1, lab: "k1/main", seq: 1, at_us: 1, selection: "", screen: "picture" };
          const { people } = tree.value;
          tree.value = { ...tree.value, people: { ...people, p4: { ...people.p4, hand } } };
        }"""
    )
    expect(gallery.locator("hw-class-speech [aria-live=polite]")).to_contain_text("Calm Otter")


def test_changed_signature_is_detected() -> None:
    plain = Signature(size=[340, 200], hues=[0] * HUES, cells="646464" * CELLS**2)
    assert difference(plain, plain) == ""
    assert "height" in difference(plain, {**plain, "size": [340, 260]})
    assert "width" in difference(plain, {**plain, "size": [320, 200]})
    assert "brightness" in difference(plain, {**plain, "cells": "505050" * CELLS**2})
    assert "cell 3, 2" in difference(plain, {**plain, "cells": "646464" * 23 + "ffffff" + "646464" * 76})
    assert "colour" in difference(plain, {**plain, "cells": "6e645a" * CELLS**2})
    red: Signature = {**plain, "hues": [9] + [0] * (HUES - 1)}
    assert "got the hue 0 to 15" in difference(plain, red)
    assert "lost the hue 0 to 15" in difference(red, plain)
    assert difference(red, {**plain, "hues": [0] * (HUES - 1) + [9]}) == "", "it is at the border of both"


def signatures(page: Page, path: Path, left_out: Collection[str]) -> dict[str, Signature]:
    """The signature of each component that is shown; a picture of all of them is kept at `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = page.screenshot(path=path, full_page=True, animations="disabled")
    png = base64.b64encode(picture).decode()
    return made(page.evaluate("([left, png]) => gallery.signatures(left, png)", [list(left_out), png]))


def names(shown: dict[str, dict[str, Signature]]) -> dict[str, list[str]]:
    return {group: list(of_group) for group, of_group in shown.items()}


def written(shown: dict[str, dict[str, Signature]]) -> str:
    """As JSON with one line for each component, so that changes can be read."""
    parts = []
    for group, of_group in shown.items():
        lines = (f"  {json.dumps(name)}: {json.dumps(one, separators=(',', ':'))}" for name, one in of_group.items())
        parts.append(f' "{group}": {{\n' + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(parts) + "\n}\n"
