"""assignor: custom assignors for the members of a group (`partition.assignment.strategy`)."""

import re
from collections.abc import Sequence

from broker_core.groups.assignors import ASSIGNORS
from broker_core.groups.assignors.own import FORMS, RuleError, parse_rules
from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.process import Process, Running
from broker_core.shell.grammar.registry import Command, UsageError, not_understood, refuse
from broker_core.texts import text

VERBS = ("define", "list")
MAX_ASSIGNORS = 50
MAX_TEXT_LENGTH = 4_000
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")


def _assignor(process: Process, arguments: list[str]) -> Running:
    verb = arguments[0] if arguments else ""
    if verb == "list" and len(arguments) == 1:
        return _list(process)
    if verb != "define" or len(arguments) != 3:
        raise not_understood("assignor", arguments)
    _, name, given = arguments
    if name in ASSIGNORS:
        raise UsageError(text("shell.assignor_built_in", name=name))
    if not _NAME.fullmatch(name):
        raise UsageError(text("shell.assignor_name", name=name))
    if len(given) > MAX_TEXT_LENGTH:
        raise UsageError(text("shell.assignor_rules_too_long", length=len(given), max=MAX_TEXT_LENGTH))
    rules = "; ".join(" ".join(part.split()) for part in given.split(";") if part.strip())
    try:
        parse_rules(rules)
    except RuleError as error:
        raise UsageError(error.message) from None
    return _define(process, name, rules)


def _define(process: Process, name: str, rules: str) -> Running:
    clients = process.cluster.clients
    if name not in clients.own_assignors and len(clients.own_assignors) >= MAX_ASSIGNORS:
        refuse(process, text("shell.assignor_limit", max=MAX_ASSIGNORS))
        return 1
    clients.define_assignor(name, rules)
    yield from ()
    return 0


def _list(process: Process) -> Running:
    for name in ASSIGNORS:
        process.out_message(text("shell.assignor_kafka", name=name))
    for name, rules in sorted(process.cluster.clients.own_assignors.items()):
        process.out(f"{name}: {rules}")
    yield from ()
    return 0


def _complete(cluster: ClusterApi, words: Sequence[str]) -> list[str]:
    if len(words) == 1:
        return list(VERBS)
    return sorted(cluster.clients.own_assignors) if words[0] == "define" and len(words) == 2 else []


COMMAND = Command(
    "assignor",
    text("help.assignor"),
    (
        (
            "assignor define NAME 'RULE; RULE ...'",
            text("help.assignor_define", forms=", ".join(FORMS)),
        ),
        ("assignor list", text("help.assignor_list")),
    ),
    _assignor,
    complete=_complete,
)
