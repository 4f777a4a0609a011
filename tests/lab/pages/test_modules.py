"""The modules that a page lets the browser fetch at once."""

import re
from pathlib import Path

import pytest
from django.test import override_settings

from lab.web.assets.modules import modules_of
from tests.support.lab_server import Visitor
from tests.support.paths import ROOT

MAIN = "lab/ui/pages/front/main.js"


def test_modules_are_found_through_others_and_exist() -> None:
    found = modules_of("lab/ui/pages/lab/main.js")
    assert found[0] == "lab/ui/pages/lab/main.js" and len(found) == len(set(found))
    assert {"lab/core/live/socket.js", "lab/draw/topology.js"} <= set(found)
    assert any(path.startswith("vendor/lit@") for path in found)
    assert [path for path in found if not (ROOT / "static" / path).is_file()] == []


@pytest.fixture
def static_folder(tmp_path: Path) -> Path:
    (tmp_path / "a").mkdir()
    return tmp_path


def test_only_used_modules_are_fetched(static_folder: Path) -> None:
    (static_folder / "a" / "one.js").write_text(
        '/** @import { Type } from "./types.js" */\nimport {\n  two,\n} from "../two.js";\n'
        'export { x } from "./three.js";\n'
        'const later = () => import("./four.js");\n// import "./five.js";\n'
    )
    (static_folder / "two.js").write_text('import "./a/one.js";\n')
    (static_folder / "a" / "three.js").write_text("export const x = 1;\n")
    with override_settings(STATICFILES_DIRS=[static_folder]):
        assert modules_of("a/one.js") == ["a/one.js", "two.js", "a/three.js"]


def test_page_names_the_modules_that_it_loads(visitor: Visitor) -> None:
    text = visitor.get("/").text
    linked = re.findall(r'<link rel="modulepreload" href="/static/\w+/([^"]+)">', text)
    assert linked == modules_of(MAIN)
    assert re.search(rf'<script type="module" src="/static/\w+/{MAIN}"', text)


def test_lab_loads_what_its_picture_needs_before_its_panels(visitor: Visitor) -> None:
    text = visitor.get(f"/r/{visitor.new_run()}/main").text
    at_once, _, later = text.partition("<template data-later>")
    pattern = r'<link rel="modulepreload" href="/static/\w+/([^"]+)"'
    first = re.findall(pattern, at_once)
    assert first == modules_of("lab/ui/pages/lab/main.js") and "lab/draw/topology.js" in first
    panels = set(re.findall(pattern, later.partition("</template>")[0]))
    assert panels >= set(modules_of("lab/ui/pages/lab/elements.js")) - set(first)
    assert not {"lab/ui/shell/exercise.js", "lab/ui/screens/disk/index.js"} & set(first)


def test_texts_are_loaded_by_the_pages_that_need_them(visitor: Visitor) -> None:
    """They are larger than all scripts of a lesson's page, which has no use for them before the lab opens."""
    at_once, ahead = (rf'<link rel="{rel}" [^>]*href="/texts/' for rel in ("preload", "prefetch"))
    for address in ("/", f"/r/{visitor.new_run()}/main"):
        assert re.search(at_once, visitor.get(address).text), address
    lesson = visitor.get("/course/008-a-records-way/").text
    assert not re.search(at_once, lesson) and re.search(ahead, lesson)
    assert not re.search(at_once, visitor.get("/review/").text)
