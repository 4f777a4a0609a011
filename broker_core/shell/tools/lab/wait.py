"""wait and sleep: let simulated time pass."""

from broker_core.shell.admin.conditions import FORMS, Condition, group_of, parse_condition
from broker_core.shell.admin.group_admin import find_coordinator
from broker_core.shell.grammar.parser import duration_us
from broker_core.shell.grammar.process import Process, Running, Sleep, Until
from broker_core.shell.grammar.registry import Command, UsageError
from broker_core.texts import text


def _wait(process: Process, arguments: list[str]) -> Running:
    if len(arguments) != 2:
        raise UsageError(text("shell.wait_incomplete"))
    condition = parse_condition(arguments[0])
    return _until(process, condition, duration_us(arguments[1]), group_of(arguments[0]))


def _until(process: Process, condition: Condition, limit_us: int, group: str | None) -> Running:
    deadline_us = process.now_us + limit_us
    if group is not None and process.cluster.era.coordinates_consumers:
        yield from find_coordinator(process, group, limit_us)
    held = yield Until(condition, deadline_us)
    if not held:
        process.out("[timeout]")
    return 0


def _sleep(process: Process, arguments: list[str]) -> Running:
    if len(arguments) != 1:
        raise UsageError(text("shell.sleep_incomplete"))
    return _pass(duration_us(arguments[0]))


def _pass(time_us: int) -> Running:
    yield Sleep(time_us)
    return 0


COMMANDS = (
    Command(
        "wait",
        text("help.wait"),
        tuple((f'wait "{form}" TIME', text("help.wait_for")) for form in FORMS),
        _wait,
    ),
    Command("sleep", text("help.sleep"), (("sleep TIME", text("help.sleep_time")),), _sleep),
)
