"""The stylesheets: each is linked, each that is linked exists, and layouts change at the same few widths."""

import re

from lab.web.alone.program import STYLES
from tests.support.paths import ROOT

FOLDER = ROOT / "static" / "lab" / "css"
TAG = re.compile(r'{% stylesheets "([^"]+)" "([^"]+)" %}')
WIDTH = re.compile(r"\((?:max-width|min-width|width)[^)]*\)|\(width[^)]*\)")
WIDTHS = {"(max-width: 1279px)", "(max-width: 1023px)", "(max-width: 820px)", "(min-width: 821px)"}
#: In the large view a laptop's layout begins at 1279 px of a page that is enlarged by a quarter.
WIDTHS_OF = {"comfortable.css": {"(max-width: 1599px)"}}


def test_stylesheets_that_templates_link_are_those_that_exist() -> None:
    linked = {
        f"{folder}/{name}.css"
        for template in (ROOT / "templates").rglob("*.html")
        for folder, names in TAG.findall(template.read_text(encoding="utf-8"))
        for name in names.split()
    }
    assert len(linked) > 30
    linked |= {f"{folder}/{name}.css" for folder, names in STYLES for name in names.split()}
    assert linked == {str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*.css")}


def test_layouts_change_at_three_widths() -> None:
    found = {
        (width, path.name)
        for path in FOLDER.rglob("*.css")
        for query in re.findall(r"@media ([^{]+)", path.read_text(encoding="utf-8"))
        for width in WIDTH.findall(query)
    }
    assert {width for width, _ in found} >= {"(max-width: 820px)"}
    assert {pair for pair in found if pair[0] not in WIDTHS | WIDTHS_OF.get(pair[1], set())} == set()


def test_files_that_stylesheets_name_exist() -> None:
    named = [
        (path, address)
        for path in FOLDER.rglob("*.css")
        for address in re.findall(r'url\("?([^")#][^")]*)"?\)', path.read_text(encoding="utf-8"))
        if not address.startswith("data:")
    ]
    assert len(named) >= 2
    assert [(str(path), address) for path, address in named if not (path.parent / address).is_file()] == []
