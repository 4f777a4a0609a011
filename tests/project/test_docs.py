"""The documents in docs/ say what the code does."""

import re
import shutil
from pathlib import Path

import pytest
from django.core.management.base import CommandError

from broker_core.broker.translation import TRANSLATIONS
from broker_core.state_machines import STATE_MACHINES
from devtools.docs.fidelity import api_table
from devtools.docs.layers import render as render_layers
from devtools.docs.state_charts import docstrings
from devtools.management.commands.gen_docs import PARTS, updated
from tests.support.paths import ROOT

LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)")
PATH = re.compile(r"`((?:broker_core|lab|devtools|static|tests|templates|docs|tools|benchmarks)/[\w./@-]+)`")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


@pytest.mark.parametrize("path", PARTS)
def test_generated_parts_are_up_to_date(path: str) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == updated(ROOT, path), "run `make gen` and commit"


def test_stale_part_is_written_again_and_a_missing_one_is_reported(tmp_path: Path) -> None:
    path = "docs/STATE_CHARTS.md"
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / path, tmp_path / path)
    text = (tmp_path / path).read_text(encoding="utf-8")
    (tmp_path / path).write_text(text.replace("PreparingRebalance", "Preparing"), encoding="utf-8")
    assert updated(tmp_path, path) == text
    (tmp_path / path).write_text("# nothing generated\n", encoding="utf-8")
    with pytest.raises(CommandError, match="lacks the part `charts`"):
        updated(tmp_path, path)


def test_apis_that_are_listed_as_answered_are_answered() -> None:
    answered = {name for _, name, *_, answer in api_table()[2:] if answer in ("yes", "as with security off")}
    assert answered
    assert answered <= TRANSLATIONS.keys()


def test_every_state_has_meaning_action_and_transitions() -> None:
    for previous in STATE_MACHINES.values():
        states = type(next(iter(previous)))
        texts = docstrings(states)
        assert set(texts) == {state.name for state in states}
        for text in texts.values():
            assert "Action: " in text
            assert "Transitions: " in text


def test_layers_come_from_a_contract() -> None:
    assert "run" in render_layers("broker_core")
    with pytest.raises(KeyError, match="no contract"):
        render_layers("tools")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_and_paths_in_docs_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    missing = [target for target in LINK.findall(text) if not (path.parent / target).exists()]
    missing += [target for target in PATH.findall(text) if not (ROOT / target).exists()]
    assert missing == []
