"""Every element of the page is in the gallery, or is listed with the test that checks it elsewhere."""

import re

from devtools.gallery.views import PAGES
from tests.support.paths import ROOT

UI = ROOT / "static" / "lab" / "ui"
GALLERY = UI / "pages" / "gallery"
ELSEWHERE = {
    # A live region for screen readers: nothing of it is visible.
    "hw-class-speech": "tests/browser/test_gallery.py::test_staff_hear_who_raises_a_hand",
}
"""Elements that cannot be looked at alone, each with the reason and the test that checks it."""


def test_every_element_is_in_the_gallery() -> None:
    defined = {
        name
        for path in UI.rglob("*.js")
        for name in re.findall(r'customElements\.define\("(hw-[a-z-]+)"', path.read_text(encoding="utf-8"))
    }
    shown = {
        name
        for path in GALLERY.rglob("*.js")
        for name in re.findall(r'tag: "(hw-[a-z-]+)"', path.read_text(encoding="utf-8"))
    }
    assert len(defined) > 100
    assert shown & ELSEWHERE.keys() == set()
    assert shown | ELSEWHERE.keys() == defined, "add new elements to static/lab/ui/pages/gallery/"


def test_elements_elsewhere_have_a_test() -> None:
    for test in ELSEWHERE.values():
        path, _, name = test.partition("::")
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")


def test_every_page_of_the_gallery_has_its_module_and_template() -> None:
    assert {path.parent.name for path in GALLERY.glob("*/main.js")} == set(PAGES)
    templates = {path.stem for path in (ROOT / "templates" / "dev" / "gallery").glob("*.html")}
    assert templates == {"base", *PAGES}
