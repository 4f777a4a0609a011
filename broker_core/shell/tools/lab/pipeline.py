"""pipeline: clients that read a topic, write another and commit, in a loop."""

import re
from collections.abc import Sequence

import msgspec

from broker_core.clients.pipeline import ORDERS, PipelineSettings, producer_name
from broker_core.config_defs import ConfigException
from broker_core.shell.console.producer_options import OPEN_OPTIONS, parse_options
from broker_core.shell.console.producer_options import settings_of as producer_settings_of
from broker_core.shell.console.producer_options import shown_settings as shown_producer_settings
from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.completion_sources import topics
from broker_core.shell.grammar.process import Process, Running, Until
from broker_core.shell.grammar.registry import TOPIC, Command, UsageError, not_understood, refuse
from broker_core.shell.java.errors import JavaException
from broker_core.shell.tools.lab.group_consumer import CLOSE_US
from broker_core.shell.tools.lab.group_consumer import OPTIONS as MEMBER_OPTIONS
from broker_core.shell.tools.lab.group_consumer import settings_of as member_settings_of
from broker_core.shell.tools.lab.producer import client_name
from broker_core.texts import text

VERBS = ("start", "stop", "kill", "restart")
OWN_OPTIONS = ("--from", "--to", "--order")
_MEMBER = tuple(option for option in MEMBER_OPTIONS if option not in (*OWN_OPTIONS, "--topic", "--auto-commit"))


def _pipeline(process: Process, arguments: list[str]) -> Running:
    verb = arguments[0] if arguments else ""
    if verb not in VERBS or len(arguments) < 2:
        raise not_understood("pipeline", arguments)
    name, rest = client_name("consumer", arguments[1]), arguments[2:]
    clients = process.cluster.clients
    if verb == "start":
        return _start(process, name, _settings(process, name, rest))
    if rest:
        raise UsageError(text("shell.unexpected_arguments", words=" ".join(rest)))
    if verb == "restart":
        return _restart(process, name) if name in clients.pipeline_settings else _no_such_pipeline(process, name)
    if name not in clients.pipelines:
        return _no_such_pipeline(process, name)
    return _stop(process, name) if verb == "stop" else _kill(process, name)


def _no_such_pipeline(process: Process, name: str) -> Running:
    refuse(process, text("shell.no_pipeline", name=name))
    yield from ()
    return 1


def _settings(process: Process, name: str, words: list[str]) -> PipelineSettings:
    """The settings of `start`. Raises ShellError."""
    given = dict(zip(words[::2], words[1::2], strict=False))
    known = (*OWN_OPTIONS, *_MEMBER, *OPEN_OPTIONS)
    unknown = [word for word in words[::2] if word not in known]
    if len(words) % 2 or unknown:
        raise UsageError(text("shell.invalid_options", words=" ".join(unknown or words[-1:])))
    missing = [option for option in ("--from", "--to", "--group") if option not in given]
    if missing:
        raise UsageError(text("shell.pipeline_incomplete", options=" ".join(missing)))
    for option in ("--from", "--to"):
        if re.fullmatch(TOPIC, given[option]) is None:
            raise UsageError(text("shell.invalid_topic", topic=given[option]))
    order = given.get("--order", "transaction" if "--transactional-id" in given else "write-first")
    if order not in ORDERS:
        raise UsageError(text("shell.option_choice", option="--order", value=order, choices=", ".join(ORDERS)))
    if order != "transaction" and "--transactional-id" in given:
        raise UsageError(text("shell.pipeline_order_without_transaction", order=order))
    of_member = [word for option in _MEMBER if option in given for word in (option, given[option])]
    member = member_settings_of([*of_member, "--topic", given["--from"]], process.cluster.clients.own_assignors)
    of_producer = [word for option in OPEN_OPTIONS if option in given for word in (option, given[option])]
    if order == "transaction" and "--transactional-id" not in given:
        of_producer += ["--transactional-id", name]
    try:
        producer = producer_settings_of(parse_options(of_producer), process.cluster.era)
    except (ConfigException, JavaException) as error:
        raise UsageError(text("shell.pipeline_producer", problem=str(error))) from None
    return PipelineSettings(
        source=given["--from"],
        target=given["--to"],
        order=order,
        member=msgspec.structs.replace(
            member, enable_auto_commit=False, processing_ms=max(1, member.processing_ms), auto_offset_reset="earliest"
        ),
        producer=producer,
    )


def _start(process: Process, name: str, settings: PipelineSettings) -> Running:
    clients, era = process.cluster.clients, process.cluster.era
    for each in (name, producer_name(name)):
        if not clients.is_free(each):
            refuse(process, text("shell.name_taken", name=each, command="pipeline stop"))
            return 1
    if not era.coordinates_consumers or (settings.order == "transaction" and not era.transactions.are_supported):
        refuse(process, text("shell.old_pipeline", era=era.name))
        return 1
    clients.open_pipeline(name, settings, shown_producer_settings(settings.producer))
    yield from ()
    return 0


def _restart(process: Process, name: str) -> Running:
    """SIGKILL, unless it is down already, and a new process with the same settings."""
    clients = process.cluster.clients
    if name in clients.pipelines:
        clients.close(name)
    return (yield from _start(process, name, clients.pipeline_settings[name]))


def _stop(process: Process, name: str) -> Running:
    clients = process.cluster.clients
    if clients.is_frozen(name):
        refuse(process, text("shell.frozen_close", name=name))
        return 1
    pipeline = clients.pipelines[name]
    pipeline.stop()
    yield Until(lambda cluster: pipeline.is_over, process.now_us + CLOSE_US)
    if clients.pipelines.get(name) is pipeline:
        clients.close(name)
    return 0


def _kill(process: Process, name: str) -> Running:
    process.cluster.clients.close(name)
    yield from ()
    return 0


def _complete(cluster: ClusterApi, words: Sequence[str]) -> list[str]:
    if len(words) == 1:
        return list(VERBS)
    if len(words) == 2:
        names = cluster.clients.pipeline_settings if words[0] == "restart" else cluster.clients.pipelines
        return list(names) if words[0] != "start" else []
    if words[0] != "start":
        return []
    if len(words) % 2:
        return [option for option in (*OWN_OPTIONS, *_MEMBER, *OPEN_OPTIONS) if option not in words]
    if words[-2] in ("--from", "--to"):
        return topics(cluster)
    return list(ORDERS) if words[-2] == "--order" else []


COMMAND = Command(
    "pipeline",
    text("help.pipeline"),
    (
        (
            "pipeline start NAME --from TOPIC --to TOPIC --group G [--order commit-first|write-first|transaction]",
            text("help.pipeline_start"),
        ),
        (
            "... [--transactional-id ID] [--isolation L] [--process-ms MS] [--max-poll-records N]",
            text("help.pipeline_start_options"),
        ),
        ("...", text("help.pipeline_start_more")),
        ("pipeline stop NAME", text("help.pipeline_stop")),
        ("pipeline kill NAME", text("help.pipeline_kill")),
        ("pipeline restart NAME", text("help.pipeline_restart")),
    ),
    _pipeline,
    complete=_complete,
)
