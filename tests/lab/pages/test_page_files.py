"""A branch is saved as a standalone page: it contains what the lab shows, and none of it is interpreted as markup."""

import json
import re
import subprocess
import zlib
from base64 import b64decode
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from lab.texts.i18n import LANGUAGES
from lab.web.alone import document, linker
from lab.web.alone.linker import LinkError, linked
from lab.web.alone.program import ENTRY, class_program, program
from lab.web.assets.modules import resolved
from lab.web.assets.static_files import folder
from tests.support.lab_server import LabServer, Visitor

NAME = 'A <b>run</b> </script><script>alert("\u2028")</script>'
SCRIPT = (
    "kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 3",
    "producer open p1 --acks all",
    "producer send p1 orders-0 k:<script>first</script>",
)
MAX_WEIGHT = 600_000


class _Scripts(HTMLParser):
    """The scripts of a page, by id, as a browser takes them apart."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self._id: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "script":
            self._id = dict(attrs).get("id") or f"#{len(self.found)}"
            self.found[self._id] = ""

    def handle_data(self, data: str) -> None:
        if self._id is not None:
            self.found[self._id] += data

    def handle_endtag(self, tag: str) -> None:
        self._id = None


def unpacked(packed: str) -> Any:
    return json.loads(zlib.decompress(b64decode(packed)))


@pytest.fixture(scope="module")
def run(lab_server: LabServer) -> str:
    visitor = Visitor(lab_server).sign_in()
    run = visitor.new_run(name=NAME, seed="7")
    with visitor.socket(run) as socket:
        socket.play(SCRIPT)
    return run


def test_page_carries_what_the_lab_shows(visitor: Visitor, run: str) -> None:
    answer = visitor.get(f"/api/runs/{run}/main/page.html")
    assert answer.status == 200 and answer.headers["Content-Disposition"].startswith("attachment; ")
    scripts = _Scripts(answer.text).found
    assert list(scripts)[:3] == ["state-charts", "licences", "program"]
    carried = unpacked(scripts["index"])
    index = visitor.get(f"/api/runs/{run}/main/index.json").json
    same = ("last_seq", "last_at_us", "segments", "density", "marks", "name", "segment_events", "start_wall_ms")
    assert {name: carried["index"][name] for name in same} == {name: index[name] for name in same}
    assert (
        carried["about"]["name"] == index["name"]
        and "</script>" in index["name"]
        and carried["about"]["events"] == index["last_seq"]
    )
    assert unpacked(scripts["segment-0"]) == visitor.get(f"/api/runs/{run}/main/segments/0.json").json


def test_excerpt_begins_with_the_state_at_its_first_instant(visitor: Visitor, run: str) -> None:
    whole = visitor.get(f"/api/runs/{run}/main/segments/0.json").json["ev"]
    first, last = whole[99], whole[149]
    span = f"from={first[1] / 1e6:.6f}&to={last[1] / 1e6:.6f}"
    scripts = _Scripts(visitor.get(f"/api/runs/{run}/main/page.html?{span}").text).found
    index, segment = unpacked(scripts["index"])["index"], unpacked(scripts["segment-0"])
    assert index["first_at_us"] == first[1] and index["last_at_us"] == last[1]
    shown = [event for event in whole if index["first_seq"] <= event[0] <= index["last_seq"]]
    assert segment["ev"] == shown and shown[0][1] == first[1] and shown[-1][1] == last[1]
    assert all(index["first_seq"] <= mark["seq"] <= index["last_seq"] for mark in index["marks"])
    assert sum(index["density"]["counts"]) == len(shown)


def test_page_has_one_script_and_sends_no_requests(visitor: Visitor, run: str) -> None:
    text = visitor.get(f"/api/runs/{run}/main/page.html").text
    scripts = _Scripts(text)
    assert "<script>alert" not in text and "<b>run</b>" not in text
    assert sum(name.startswith("#") for name in scripts.found) == 1
    assert not re.search(r"<(?:link|img|iframe|object|embed|base)\b|\bsrc=", text)
    policy = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)[0]
    assert "default-src &#x27;none&#x27;" in policy and "http" not in policy and "unsafe" not in policy


def test_page_is_small_without_its_data(visitor: Visitor, run: str) -> None:
    text = visitor.get(f"/api/runs/{run}/main/page.html").text
    data = sum(len(value) for name, value in _Scripts(text).found.items() if name.startswith(("segment-", "index")))
    assert len(text.encode()) - data <= MAX_WEIGHT


@pytest.mark.parametrize(
    ("span", "status", "what"),
    [
        ("from=x", 404, "Invalid instant 'x'."),
        ("from=1.5&to=0.5", 400, "The excerpt contains no event."),
    ],
)
def test_empty_span_is_refused(visitor: Visitor, run: str, span: str, status: int, what: str) -> None:
    answer = visitor.get(f"/api/runs/{run}/main/page.html?{span}")
    assert answer.status == status and answer.json["what"] == what


def test_page_that_would_be_too_large_is_refused(visitor: Visitor, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "MAX_BYTES", 400_000)
    answer = visitor.get(f"/api/runs/{run}/main/page.html")
    assert answer.status == 413 and answer.json["todo"] == "Choose a shorter excerpt."


def test_page_is_refused_to_other_users(other_visitor: Visitor, run: str) -> None:
    assert other_visitor.get(f"/api/runs/{run}/main/page.html").status in (401, 403, 404)


def test_every_text_that_the_programs_name_is_in_them() -> None:
    # These are said only where there is a lab.
    saving = {"analytics.title", *(f"save_page.{one}" for one in ("action", "done", "save", "saving", "span"))}
    of_run = {"analytics.title", "runs.title", "runs.compare", "save_page.action"}
    for made, elsewhere, least in ((program, of_run, 200), (class_program, saving, 150)):
        content = unpacked(made().packed)
        named = {
            id
            for pieces in content["modules"]
            for id in re.findall(r'\bt\(\s*"([a-z_]+\.[a-z_.]+)"', "".join(p for p in pieces if isinstance(p, str)))
        }
        assert len(named) > least
        for language in LANGUAGES:
            assert named - set(content["texts"][language]) == elsewhere


def test_linker_finds_the_imports_that_a_browser_finds() -> None:
    """Node reads each module and names what it imports; the linker has left open just those places."""
    modules = linked(ENTRY)
    paths = [re.findall(r"//# sourceURL=(.+)\n$", str(pieces[-1]))[0] for pieces in modules]
    reader = """
      const vm = await import("node:vm");
      const { readFileSync } = await import("node:fs");
      const found = process.argv.slice(1).map((path) => {
        const module = new vm.SourceTextModule(readFileSync(path, "utf8"), { identifier: path });
        return module.dependencySpecifiers ?? module.moduleRequests.map(({ specifier }) => specifier);
      });
      console.log(JSON.stringify(found));
    """
    done = subprocess.run(
        ["node", "--no-warnings", "--experimental-vm-modules", "--input-type=module", "-e", reader]
        + [str(folder() / path) for path in paths],
        capture_output=True,
        text=True,
        check=True,
    )
    for path, pieces, imported in zip(paths, modules, json.loads(done.stdout), strict=True):
        places = {paths[piece] for piece in pieces if isinstance(piece, int)}
        # A dynamic import is not an import of the module itself.
        later = {one for one in places if f'import("./{Path(one).name}")' in (folder() / path).read_text("utf-8")}
        assert places - later == {resolved(path, name) for name in imported}, path


def test_linker_refuses_a_circle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.js").write_text('import "./b.js";\n')
    (tmp_path / "b.js").write_text('// import "./gone.js";\nexport const load = () => import("./a.js");\n')
    monkeypatch.setattr(linker, "folder", lambda: tmp_path)
    with pytest.raises(LinkError, match=r"a\.js imports b\.js imports a\.js"):
        linked("a.js")
    (tmp_path / "b.js").write_text('import "./gone.js";\n')
    with pytest.raises(LinkError, match=r"no module gone\.js"):
        linked("a.js")
