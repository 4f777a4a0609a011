"""wait and sleep: let simulated time pass."""

from broker_core.shell.commands import Command, register, usage_error
from broker_core.shell.conditions import FORMS, Condition, parse_condition
from broker_core.shell.parser import duration_us
from broker_core.shell.process import Process, Running, Sleep, Until


def _wait(process: Process, arguments: list[str]) -> Running:
    if len(arguments) != 2:
        raise usage_error("wait", "wait needs a condition in quotes and a time.")
    return _until(process, parse_condition(arguments[0]), duration_us(arguments[1]))


def _until(process: Process, condition: Condition, limit_us: int) -> Running:
    held = yield Until(condition, process.now_us + limit_us)
    if not held:
        process.out("[timeout]")
    return 0


def _sleep(process: Process, arguments: list[str]) -> Running:
    if len(arguments) != 1:
        raise usage_error("sleep", "sleep needs a time.")
    return _pass(duration_us(arguments[0]))


def _pass(time_us: int) -> Running:
    yield Sleep(time_us)
    return 0


register(
    Command(
        "wait",
        "Wait until something holds.",
        tuple((f'wait "{form}" TIME', "prints [timeout] when it does not come about") for form in FORMS),
        _wait,
    )
)
register(Command("sleep", "Let time pass.", (("sleep TIME", "500ms, 2s, 1m"),), _sleep))
