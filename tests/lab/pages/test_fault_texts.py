"""Each sentence in which the core says what is wrong with a file has its Chinese in the page."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

from tests.lab.pages.test_refusal_texts import NOT_A_SENTENCE, PLACE, templates
from tests.support.paths import ROOT

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


#: what takes a state or a reason, and the places of these arguments
REASON_MAKERS = {
    "_change": (0, 1),
    "_complete": (1,),
    "_drop": (1,),
    "_end": (0,),
    "_end_process": (1,),
    "_hold": (1,),
    "_join": (0,),
    "_lost": (0,),
    "_rejoin": (0,),
    "_rebalance": (0, 1),
    "_resign": (0,),
    "_state": (0, 1),
    "_trigger": (0,),
    "_remove_member": (2,),
    "_transitioned": (2,),
    "increment_log_start_offset": (1,),
    "killed": (0,),
    "maybe_rebalance": (1,),
    "new_generation": (2,),
    "remove": (2,),
    "transition": (2,),
    "truncate_fully_and_start_at": (1,),
    "truncate_to": (1,),
}
#: Kafka's own names and lists of names
OF_KAFKA = re.compile(r"[A-Z]\w+Exception\b.*", re.S)


def reasons() -> Iterator[str]:
    for node in calls("clients", "groups", "transactions", "sim", "broker", "replication", "controller"):
        for place in REASON_MAKERS.get(ast.unparse(node.func).rpartition(".")[2], ()):
            if len(node.args) > place:
                yield from templates(node.args[place])
        for keyword in node.keywords:
            if keyword.arg in ("why", "how"):
                yield from templates(keyword.value)


def calls(*folders: str) -> Iterator[ast.Call]:
    """Every call in these packages of the core."""
    for folder in folders:
        for path in sorted((ROOT / "broker_core" / folder).rglob("*.py")):
            yield from (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))


def test_every_state_and_reason_has_its_chinese() -> None:
    texts = chinese("reasons", "REASONS")
    said_of = {one for one in reasons() if re.search("[a-z]", PLACE.sub("", one)) and not OF_KAFKA.fullmatch(one)}
    assert said_of - texts.keys() == set()
    assert len(said_of) > 40


def labels() -> Iterator[str]:
    """What stands on messages, and what requests wait for."""
    for node in calls("broker", "clients", "groups", "replication", "shell", "transactions"):
        for keyword in node.keywords:
            if keyword.arg in ("label", "needs"):
                yield from templates(keyword.value)


def test_every_label_of_a_message_has_its_chinese() -> None:
    known = [re.sub(r"\\{\d\\}", ".*", re.escape(one)) for one in chinese("labels", "LABELS")]
    # Names of APIs, errors and settings stay.
    said_of = {one for one in labels() if re.search(r"(?<![\w.])[a-z]{2,}(?!\w)", PLACE.sub("7", one))}
    assert {one for one in said_of if not any(re.fullmatch(key, one) for key in known)} == set()
    assert len(said_of) > 20


def chinese(module: str = "faults", name: str = "CHINESE") -> dict[str, str]:
    source = (ROOT / f"static/lab/core/{module}.js").read_text(encoding="utf-8")
    found = re.search(rf"^export const {name} = (\{{.*?^\}});$", source, re.M | re.S)
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
    for english, translated in (chinese() | chinese("reasons", "REASONS") | chinese("labels", "LABELS")).items():
        assert sorted(PLACE.findall(english)) == sorted(PLACE.findall(translated)), english
        assert re.search(r"[一-鿿]", translated), english
