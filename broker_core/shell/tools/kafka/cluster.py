"""kafka-cluster.sh (`org.apache.kafka.tools.ClusterTool`)."""

from collections.abc import Sequence

from broker_core.shell.admin.admin_client import check_client
from broker_core.shell.admin.requests import metadata
from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.parser import Option
from broker_core.shell.grammar.process import Process, Running
from broker_core.shell.grammar.registry import Command
from broker_core.shell.java import argparse_help
from broker_core.shell.java.argparse4j import BadArguments, Tool, complain, parse
from broker_core.shell.java.errors import JavaException, load_properties
from broker_core.texts import text

_CONNECTION = (
    Option("bootstrap-server", "The brokers to connect to; the lab adds those that are up.", "BOOTSTRAP_SERVER"),
    Option("config", "A file of configurations of the admin client.", "CONFIG", values="file"),
)
_COMMANDS = {
    "cluster-id": _CONNECTION,
    "unregister": (*_CONNECTION, Option("id", "The broker to unregister.", "ID", "Integer", values="broker")),
}
_SERVERS = (
    "                     (--bootstrap-server BOOTSTRAP_SERVER |",
    "                     --bootstrap-controller BOOTSTRAP_CONTROLLER)",
)
_USAGE = {
    "": ("usage: kafka-cluster [-h] {cluster-id,unregister} ...",),
    "cluster-id": ("usage: kafka-cluster cluster-id [-h] [--config CONFIG]", *_SERVERS),
    "unregister": ("usage: kafka-cluster unregister [-h] [--config CONFIG] --id ID", *_SERVERS),
}
_SHORT = {"bootstrap-server": "-b", "config": "-c", "id": "-i"}
_TOOL = Tool("kafka-cluster", (), _COMMANDS, {"unregister": ("id",)}, _USAGE, argparse_help.CLUSTER, _SHORT)


def _run(process: Process, arguments: list[str]) -> Running:
    try:
        command, options, _ = parse(_TOOL, arguments)
        config = options.value("config")
        properties = {} if config is None else load_properties(process, config)
        check_client(process, properties, options.value("bootstrap-server"))
        yield from metadata(process, (), "listNodes")
    except BadArguments as error:
        return complain(process, _TOOL, error)
    except JavaException as error:
        for line in (error.message, *error.stack_trace()):
            process.err(line)
        return 1
    if command == "unregister":
        process.out("The target cluster does not support the broker unregistration API.")
    elif process.cluster.cluster_id:
        process.out(f"Cluster ID: {process.cluster.cluster_id}")
    else:
        process.out("No cluster ID found. The Kafka version is probably too old.")
    return 0


def _complete(cluster: ClusterApi, words: Sequence[str]) -> list[str]:
    if len(words) == 1:
        return list(_COMMANDS)
    if words[-2] == "--id":
        return [str(broker_id) for broker_id in cluster.broker_ids]
    return [f"--{option.name}" for option in _COMMANDS.get(words[0], ())]


COMMAND = Command(
    "kafka-cluster.sh",
    text("help.kafka_cluster"),
    (
        ("kafka-cluster.sh cluster-id", text("help.kafka_cluster_id")),
        ("kafka-cluster.sh unregister --id N", text("help.kafka_cluster_unregister")),
    ),
    _run,
    _COMMANDS["unregister"],
    complete=_complete,
)
