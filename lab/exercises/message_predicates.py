"""Goals about messages and clients; a prediction may wait for a message's arrival, too."""

from broker_core.events.envelope import Event
from broker_core.events.rpc import RpcDelivered
from broker_core.texts import LANGUAGES, render
from broker_core.view.tree import Rpc, View
from lab.exercises.places import (
    UnresolvedReference,
    acknowledged,
    check_node,
    check_replica,
    leader_of,
    node_text,
    nodes_of,
)
from lab.exercises.predicate import Answer, Compared, Moment, Predicate
from lab.exercises.texts import Text


class RpcInFlight(Predicate, frozen=True, kw_only=True, tag="rpc_in_flight"):
    """A message is in flight. With several sources, one from each. `fetch_offset`: a Fetch from this offset."""

    api: str
    kind: str
    source: str
    destination: str
    fetch_offset: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in ("request", "response"):
            raise ValueError(f"{self.kind!r} is no kind of message: write request or response")
        check_node(self.source)
        check_node(self.destination)

    def in_flight(self, view: View) -> dict[str, str]:
        """The messages of this kind that are in flight: id and source. Raises UnresolvedReference."""
        sources, destinations = nodes_of(view, self.source), nodes_of(view, self.destination)
        return {
            name: rpc["source"]
            for name, rpc in view["rpcs"].items()
            if (rpc["api"], rpc["kind"]) == (self.api, self.kind)
            and rpc["source"] in sources
            and rpc["destination"] in destinations
            and (self.fetch_offset is None or self.fetch_offset in _fetch_offsets(rpc))
        }

    def happens(self, view: View, event: Event) -> bool:
        """Whether an event is the arrival of such a message; `view` is before it."""
        if not isinstance(event, RpcDelivered):
            return False
        try:
            return event.rpc in self.in_flight(view)
        except UnresolvedReference:
            return False

    def _look(self, moment: Moment) -> Answer:
        view = moment.view
        in_flight = self.in_flight(view)
        labels = []
        for source in nodes_of(view, self.source):
            name = next((name for name, sender in in_flight.items() if sender == source), None)
            if name is None:
                one, other = node_text(source), node_text(nodes_of(view, self.destination)[0])
                at = "" if self.fetch_offset is None else f" @{self.fetch_offset}"
                en = f"No {self.api} {self.kind}{at} is under way from {one.en} to {other.en}."
                kind = {"request": "请求", "response": "响应"}[self.kind]
                return Answer(False, Text(en, f"{one.zh}到{other.zh}之间没有在途的 {self.api} {kind}{at}。"))
            labels.append((source, view["rpcs"][name]["label"]))
        english, chinese = (
            [f"{source} {render(label, language)}" for source, label in labels] for language in LANGUAGES
        )
        return Answer(True, Text(f"under way: {', '.join(english)}", f"在途：{'，'.join(chinese)}"))


def _fetch_offsets(rpc: Rpc) -> list[int]:
    return [int(value) for name, value in rpc["fields"] if name.endswith(" fetch_offset")]


class Parked(Predicate, frozen=True, kw_only=True, tag="parked"):
    """A request waits in the purgatory of a partition's leader."""

    api: str
    partition: str

    def __post_init__(self) -> None:
        if self.api not in ("Produce", "Fetch"):
            raise ValueError(f"{self.api!r} is never parked: write Produce or Fetch")
        check_replica(f"{self.partition}@leader")

    def _look(self, moment: Moment) -> Answer:
        view = moment.view
        leader = leader_of(view, self.partition)
        for request in view["parked"].values():
            if (request["broker"], request["api"]) == (leader, self.api) and self.partition in request["partitions"]:
                needs, chinese = (render(request["needs"], language) for language in LANGUAGES)
                en = f"{self.api} of {request['client']} waits at {leader}: {needs}"
                return Answer(True, Text(en, f"{request['client']} 的 {self.api} 在 {leader} 等待：{chinese}"))
        node = node_text(leader)
        en = f"No {self.api} for {self.partition} waits in the purgatory of {node.en}."
        return Answer(False, Text(en, f"{node.zh}的延迟请求区里没有 {self.partition} 的 {self.api}。"))


class Acknowledged(Compared, frozen=True, kw_only=True, tag="acknowledged"):
    """The last offset acknowledged to a producer."""

    client: str

    def __post_init__(self) -> None:
        check_node(self.client)
        super().__post_init__()

    def _look(self, moment: Moment) -> Answer:
        value = acknowledged(moment.view, self.client)
        complies, wanted = self._complies(moment.view, value)
        if complies:
            return Answer(True, Text(f"{self.client}: {value} acknowledged", f"{self.client}：位移 {value} 已确认"))
        if value < 0:
            en = f"{self.client} has had no acknowledgement yet."
            return Answer(False, Text(en, f"{self.client} 还没有收到确认。"))
        en = f"The last acknowledgement to {self.client} was for offset {value}; {wanted.en}."
        return Answer(False, Text(en, f"{self.client} 最后收到确认的位移是 {value}，{wanted.zh}。"))


class HasRead(Predicate, frozen=True, kw_only=True, tag="has_read"):
    """A consumer has read an offset, and its position is past it."""

    client: str
    offset: int

    def __post_init__(self) -> None:
        check_node(self.client)

    def _look(self, moment: Moment) -> Answer:
        node = moment.view["nodes"].get(self.client)
        if node is None or node["kind"] != "consumer":
            raise UnresolvedReference(Text(f"There is no consumer {self.client}.", f"没有消费者 {self.client}。"))
        position = node["position"]
        if position > self.offset:
            return Answer(True, Text(f"{self.client}: position {position}", f"{self.client}：消费位置 {position}"))
        en = f"{self.client} has not read offset {self.offset} yet."
        return Answer(False, Text(en, f"{self.client} 还没有读到位移 {self.offset}。"))
