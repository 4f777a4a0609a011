"""Docstrings can be read alone."""

import ast
import re

from tests.support.paths import ROOT

#: a fragment that continues the name of what it documents: "Of a branch." below MAX_CHECKPOINTS
FRAGMENT = re.compile(r"(Of|Those|That) ")
PACKAGES = ("broker_core", "lab", "devtools", "benchmarks", "highwater", "tools")
#: texts of recorded events, which may not change
RECORDED = ("lab/classroom/events/",)


def fragments(source: str) -> list[str]:
    """The first lines of docstrings and of strings below assignments that are fragments."""
    return [
        node.value.value.partition("\n")[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        and FRAGMENT.match(node.value.value)
    ]


def test_docstrings_are_not_fragments() -> None:
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            file = path.relative_to(ROOT).as_posix()
            if not file.startswith(RECORDED) and (lines := fragments(path.read_text(encoding="utf-8"))):
                found[file] = lines
    assert found == {}


def test_fragment_is_found() -> None:
    source = 'MAX = 3\n"""Of a branch."""\n\ndef f():\n    """Those that run.\n\n    More."""\n\nN = 1\n"""Offsets."""'
    assert fragments(source) == ["Of a branch.", "Those that run."]
