"""Every element of the page is in the gallery, or is listed as checked on its own page."""

import re

from tests.support.paths import ROOT

UI = ROOT / "static" / "lab" / "ui"
COMPONENTS = (UI / "pages" / "gallery" / "components.js").read_text(encoding="utf-8")


def test_every_element_is_in_the_gallery() -> None:
    defined = {
        name
        for path in UI.rglob("*.js")
        for name in re.findall(r'customElements\.define\("(hw-[a-z-]+)"', path.read_text(encoding="utf-8"))
    }
    shown = set(re.findall(r'tag: "(hw-[a-z-]+)"', COMPONENTS))
    elsewhere = set(re.findall(r'^  "(hw-[a-z-]+)": "/', COMPONENTS, re.M))
    assert len(defined) > 40
    assert shown & elsewhere == set()
    assert shown | elsewhere == defined, "add new elements to static/lab/ui/pages/gallery/components.js"
