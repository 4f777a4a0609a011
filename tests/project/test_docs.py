"""The documents in docs/ match the code."""

import argparse
import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand, CommandError

from broker_core.broker.translation import TRANSLATIONS
from broker_core.state_machines import STATE_MACHINES
from devtools.docs.fidelity import api_table
from devtools.docs.layers import render as render_layers
from devtools.docs.state_charts import docstrings
from devtools.management.commands.gen_docs import PARTS, updated
from tests.support.paths import ROOT

LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)")
PATH = re.compile(r"`((?:broker_core|lab|devtools|static|tests|templates|docs|tools|benchmarks)/[\w./@-]+)`")
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
SYMBOL = re.compile(r"`([A-Z]\w+)\.(?!md`|java`)([a-z_]\w*)`")
SOURCES = ("broker_core", "devtools", "lab", "static/lab")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


@pytest.mark.parametrize("path", PARTS)
def test_generated_parts_are_up_to_date(path: str) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == updated(ROOT, path), "run `make gen` and commit"


def test_stale_part_is_rewritten_and_a_missing_one_is_reported(tmp_path: Path) -> None:
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


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The options of a command and of its subcommands."""
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for sub in action.choices.values():
                yield from _options(sub)


@cache
def _options_of(command: str) -> frozenset[str]:
    """Raises KeyError if there is no such command."""
    app = get_commands()[command]
    loaded = app if isinstance(app, BaseCommand) else load_command_class(app, command)
    return frozenset(_options(loaded.create_parser("manage.py", command)))


def unknown_commands(text: str) -> list[str]:
    """Targets of make, commands of manage.py and their options that a document names and that do not exist."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    found = []
    for code in CODE.findall(text):
        found += [f"make {target}" for target in re.findall(r"\bmake ([a-z][a-z-]*)\b", code) if target not in targets]
        for line in code.splitlines():
            for command, rest in re.findall(r"manage\.py ([a-z_]+)([^#|]*)", line):
                if command not in get_commands():
                    found.append(f"manage.py {command}")
                elif command != "dump_log":  # which parses the options of kafka-dump-log.sh itself
                    options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", rest)) - _options_of(command)
                    found += [f"manage.py {command} {option}" for option in sorted(options)]
    return found


#: The changelog names removed commands.
CURRENT = [path for path in DOCUMENTS if path.name != "CHANGELOG.md"]


@pytest.mark.parametrize("path", CURRENT, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_and_options_in_docs_exist(path: Path) -> None:
    assert unknown_commands(path.read_text(encoding="utf-8")) == []


def test_unknown_commands_are_detected() -> None:
    text = "`make nothing`, `manage.py nothing`, `manage.py study --nothing`, `make test`, `manage.py study F --seeds`"
    assert unknown_commands(text) == ["make nothing", "manage.py nothing", "manage.py study --nothing"]


def _sources() -> Iterator[str]:
    for folder in SOURCES:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".js"):
                yield path.read_text(encoding="utf-8")


def test_symbols_and_settings_in_docs_exist() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in DOCUMENTS)
    sources = [*_sources(), (ROOT / "Makefile").read_text(encoding="utf-8")]
    missing = [
        f"{name}.{member}"
        for name, member in sorted(set(SYMBOL.findall(text)))
        if not any(re.search(rf"^class {name}\b", source, re.MULTILINE) and member in source for source in sources)
    ]
    settings = sorted(set(re.findall(r"HIGHWATER_[A-Z_]+", text)))
    missing += [name for name in settings if not any(name in source for source in sources)]
    assert missing == []
