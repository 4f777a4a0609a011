"""Quantities of producers and consumers."""

from typing import Any

from broker_core.texts import message_of, render, text
from lab.exercises.moment import Moment
from lab.exercises.places import Client, Partition, Unresolved
from lab.exercises.places import committed as committed_of
from lab.exercises.quantities.registry import quantity


def _client(moment: Moment, name: str, kind: str) -> Any:
    node = moment.view["nodes"].get(name)
    if node is None or node["kind"] != kind:
        raise Unresolved(text("goal.no_producer" if kind == "producer" else "goal.no_consumer", client=name))
    return node


@quantity
def acknowledged(moment: Moment, client: Client) -> int:
    """The last offset acknowledged to a producer, -1 before the first."""
    return int(_client(moment, client, "producer")["last_offset"])


@quantity
def confirmed(moment: Moment, client: Client) -> int:
    """How many records were acknowledged to a producer."""
    return int(_client(moment, client, "producer")["acknowledged"])


@quantity
def confirmed_in_all(moment: Moment) -> int:
    """How many records were acknowledged to all producers together."""
    return sum(int(node["acknowledged"]) for node in moment.view["nodes"].values() if node["kind"] == "producer")


@quantity
def failed(moment: Moment, client: Client) -> int:
    """How many records of a producer failed."""
    return int(_client(moment, client, "producer")["failed"])


@quantity
def retried(moment: Moment, client: Client) -> int:
    """How many batches a producer has retried."""
    return int(_client(moment, client, "producer")["retried"])


@quantity
def latency_us(moment: Moment, client: Client) -> int:
    """Microseconds from send to acknowledgement of the batch that was acknowledged last."""
    return int(_client(moment, client, "producer")["last_latency_us"])


@quantity
def requests(moment: Moment, client: Client) -> int:
    """Produce requests that a producer has sent since the lesson began; a retry is another one."""
    return moment.tally.requests.get(client, 0)


@quantity
def spread(moment: Moment, client: Client) -> int:
    """How many different partitions a producer's partitioner chose for the last records."""
    return len({row[0] for row in _client(moment, client, "producer")["choices"]})


@quantity
def chosen(moment: Moment, key: str) -> int:
    """The number of the partition that was chosen last for a key, -1 for none."""
    return moment.tally.partitions.get(key, -1)


@quantity
def error(moment: Moment, client: Client) -> str:
    """The last error of a producer; `none` without one."""
    return str(_client(moment, client, "producer")["last_error"]) or "none"


@quantity
def rule(moment: Moment, client: Client) -> str:
    """The partitioner's rule for the last record of a producer; `none` without one."""
    rows = _client(moment, client, "producer")["choices"]
    return str(rows[-1][2]) if rows else "none"


@quantity
def transaction(moment: Moment, client: Client) -> str:
    """The state of a producer's transaction; `none` without one."""
    return str(_client(moment, client, "producer").get("transaction", {}).get("state", "none"))


@quantity
def position(moment: Moment, client: Client) -> int:
    """The position of a consumer."""
    return int(_client(moment, client, "consumer")["position"])


@quantity
def position_in(moment: Moment, client: Client, partition: Partition) -> int:
    """The position of a consumer in one of its partitions, -1 if it has none there. Until a member has read from a
    partition, that is what its group has committed.
    """
    node = _client(moment, client, "consumer")
    known = node["positions"].get(partition)
    if known is None and partition in node.get("assignment", ()):
        known = committed_of(moment.view, node["settings"]["group.id"], partition)
    return -1 if known is None else int(known)


@quantity
def first_read(moment: Moment, client: Client) -> int:
    """The first offset of the records that a consumer shows, -1 for none."""
    rows = _client(moment, client, "consumer")["records"]
    return int(rows[0][0]) if rows else -1


@quantity
def read(moment: Moment, client: Client) -> int:
    """How many records a consumer was given since the lesson began; of one fetch the last 20 are counted."""
    return moment.tally.read.get(client, 0)


@quantity
def member(moment: Moment, client: Client) -> str:
    """The state of a group member according to the member itself; `none` for a client that is not a group member."""
    return str(_client(moment, client, "consumer").get("member", {}).get("state", "none"))


@quantity
def answer_of(moment: Moment, api: str, client: Client) -> str:
    """What the last response of an API to a node contained; `none` before the first."""
    label = moment.tally.responses.get(f"{api}>{client}", "")
    return render(message_of(label)) or "none"


@quantity
def elapsed_ms(moment: Moment) -> int:
    """Milliseconds since the event that a prediction measures from, 0 before that; since it was locked in, or since the
    step began.
    """
    tally = moment.tally
    if tally.awaits_since:
        return 0
    return (moment.at_us - next(us for us in (tally.since_us, tally.locked_us, tally.step_us) if us >= 0)) // 1000


@quantity
def measured(moment: Moment, what: str, figure: str) -> int:
    """A figure of a measurement that the learner has made on the page, -1 before the first."""
    return moment.tally.facts.get(what, {}).get(figure, -1)
