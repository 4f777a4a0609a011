"""Each sentence in which the core says what is wrong with a file has its Chinese in the page."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

from test_refusal_texts import NOT_A_SENTENCE, PLACE, templates

ROOT = Path(__file__).resolve().parent.parent
#: what takes such a sentence, by name, and the place of the argument
MAKERS = {
    "RepairFact": 4,
    "deletions": 1,
    "_give_up": 1,
    "StorageFault": 1,
    "CorruptTransactionIndex": 1,
    "Uncleanable": 0,
    "_unreadable": 2,
    "CorruptRecord": 0,
    "InvalidRecord": 0,
    "OverlongLength": 0,
    "UnreadableRecords": 0,
    "FrameError": 0,
    "VarintError": 0,
    "unreadable_snapshots.get": 1,
}
#: those whose ValueErrors say what is wrong with a file; elsewhere they say what is wrong with a call
VALUE_ERRORS = ("producer_state.py", "transactions.py")
#: what is said of requests goes to clients, in Kafka's words
OF_REQUESTS = ("validator.py", "append_check.py")


def core_files() -> Iterator[Path]:
    for folder in ("log", "records"):
        for path in sorted((ROOT / "broker_core" / folder).rglob("*.py")):
            if path.name not in OF_REQUESTS and "dump" not in path.parts:
                yield path


def said(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            place = MAKERS.get(name, MAKERS.get(name.rpartition(".")[2], MAKERS.get(".".join(name.split(".")[-2:]))))
            if name == "ValueError" and path.name in VALUE_ERRORS:
                place = 0
            if name == "super().__init__":
                place = 0
            if place is not None and len(node.args) > place:
                yield from templates(node.args[place])
        elif isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["rule"]:
            yield from templates(node.value)


def chinese() -> dict[str, str]:
    source = (ROOT / "static/lab/core/faults.js").read_text(encoding="utf-8")
    found = re.search(r"^export const CHINESE = (\{.*?^\});$", source, re.M | re.S)
    assert found is not None
    texts: dict[str, str] = json.loads(re.sub(r",\n\}$", "\n}", found[1]))
    return texts


def test_every_fault_has_its_chinese() -> None:
    texts = chinese()
    missing = {
        sentence: path.name
        for path in core_files()
        for sentence in said(path)
        if not NOT_A_SENTENCE.fullmatch(PLACE.sub("", sentence)) and sentence not in texts
    }
    assert missing == {}
    assert sum(1 for path in core_files() for _ in said(path)) > 60


def test_the_same_values_stand_in_both() -> None:
    for english, translated in chinese().items():
        assert sorted(PLACE.findall(english)) == sorted(PLACE.findall(translated)), english
        assert re.search(r"[一-鿿]", translated), english
