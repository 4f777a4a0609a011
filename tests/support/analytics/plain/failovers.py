"""Failovers, partition by partition, event by event: by the definitions of "Failovers" in docs/TABLES.md."""

from collections import defaultdict
from typing import Any

from tests.support.analytics.plain.dump import Happened, Row, Rows, broker, partition, replica
from tests.support.analytics.plain.topics import assignment_of

Place = tuple[str, int, int]
"""Topic, incarnation, partition."""
_LEADERLESS = ("OfflinePartition", "UncleanPartition")


class _Broker:
    """When a broker did not respond: [seq, from, to] of each time; and when its sessions ended."""

    def __init__(self) -> None:
        self.down: list[list[Any]] = []
        self.closed: list[tuple[int, int]] = []

    @property
    def is_down(self) -> bool:
        return bool(self.down) and self.down[-1][2] is None

    def take(self, event: Happened) -> None:
        match event.kind:
            case "BrokerFrozen" | "BrokerStopped" | "BrokerExiting":
                if self.down and self.down[-1][2] == event.at_us:
                    self.down[-1][2] = None
                elif not self.is_down:
                    self.down.append([event.seq, event.at_us, None])
            case "BrokerStarted" | "BrokerThawed":
                if self.is_down:
                    self.down[-1][2] = event.at_us
            case "SessionClosed":
                self.closed.append((event.seq, event.at_us))


class _Turn:
    """A leader, from its election to the next one that finds a leader."""

    def __init__(self, elected: Happened) -> None:
        self.seq, self.at_us = elected.seq, elected.at_us
        self.broker, self.epoch = elected.said["leader"], elected.said["leader_epoch"]
        self.has_led = False
        self.row: Row | None = None
        #: the first decision about its successor: what is known of its loss
        self.loss: Row | None = None
        self.begin_us: int | None = None
        self.fault: tuple[int | None, int | None] = (None, None)
        self.noticed_us: int | None = None
        self.nobody: tuple[int, int] | None = None


class _Failovers:
    def __init__(self, t: Any) -> None:
        self.rows: Rows = []
        self._end_us = t.end_us
        self._brokers: dict[int, _Broker] = defaultdict(_Broker)
        self._incarnation: dict[str, int] = defaultdict(int)
        self._turns: dict[Place, _Turn] = {}

    def see(self, event: Happened) -> None:
        said = event.said
        match event.kind:
            case "LeaderElected":
                self._decided(self._place(said["partition"]), event)
            case "ReplicaBecameLeader" | "BatchAppended" | "LogTruncated":
                self._replica(event)
            case "ZnodeCreated" | "ZnodeDeleted":
                self._topic(event)
            case _:
                number = broker(said.get("broker") or said["owner"])
                if number is not None:
                    self._brokers[number].take(event)

    def _place(self, name: str) -> Place:
        topic, number = partition(name)
        return topic, self._incarnation[topic], number

    def _topic(self, event: Happened) -> None:
        about = assignment_of(event)
        if about is None:
            return
        if event.kind == "ZnodeCreated":
            self._incarnation[about[0]] += 1
            return
        for place in [place for place in self._turns if place[:2] == (about[0], self._incarnation[about[0]])]:
            self.ends(place, event.at_us)

    def _replica(self, event: Happened) -> None:
        topic, number, node = replica(event.said["replica"])
        turn = self._turns.get((topic, self._incarnation[topic], number))
        if turn is None:
            return
        row = turn.row
        if event.kind == "LogTruncated":
            if row is not None:
                row["truncated_records"] += max(0, event.said["from_offset"] - event.said["to_offset"])
        elif node == turn.broker and event.said["leader_epoch"] >= turn.epoch:
            name = "leads_us" if event.kind == "ReplicaBecameLeader" else "first_append_us"
            if name == "leads_us" and not turn.has_led:
                turn.has_led = True
                if row is not None:
                    row["unavailable_us"] = event.at_us - row.pop("begin_us")
            if row is not None and row[name] is None:
                row[name] = event.at_us

    def _decided(self, place: Place, event: Happened) -> None:
        said = event.said
        finds = said["leader"] >= 0
        if not finds and said["strategy"] not in _LEADERLESS:
            return
        turn = self._turns.get(place)
        if turn is not None and turn.begin_us is None:
            self._loses(turn, event.at_us, None if finds else event)
        if not finds:
            return
        after = self._turns[place] = _Turn(event)
        if turn is not None:
            after.row = self._row(place, turn, event.seq, event.at_us) | {
                "to_broker": said["leader"], "elected_us": event.at_us,
                **{name: said[name] for name in ("leader_epoch", "strategy", "unclean")},
            }  # fmt: skip
            self.rows.append(after.row)

    def _row(self, place: Place, turn: _Turn, seq: int, at_us: int) -> Row:
        return {
            "topic": place[0], "incarnation": place[1], "partition": place[2], "from_broker": turn.broker, "seq": seq,
            "at_us": at_us, "fault_seq": turn.fault[0], "lost_us": turn.fault[1], "noticed_us": turn.noticed_us,
            "leads_us": None, "first_append_us": None, "truncated_records": 0, "unavailable_us": None,
            "begin_us": turn.begin_us,
        }  # fmt: skip

    def _loses(self, turn: _Turn, at_us: int, nobody: Happened | None) -> None:
        """At the first decision after an election: since when its leader has not responded."""
        known = self._brokers[turn.broker]
        closed = [one for one in known.closed if one[0] > turn.seq]
        last_closed = closed[-1][0] if closed else 0
        stops = [
            one for one in known.down
            if one[0] > turn.seq and (one[2] is None or one[2] >= at_us or last_closed > one[0])
        ]  # fmt: skip
        stop = (stops[-1][0], stops[-1][1]) if stops else None
        if closed and (stop is None or last_closed > stop[0]):
            turn.noticed_us = closed[-1][1]
        if nobody is not None:
            turn.nobody = (nobody.seq, nobody.at_us)
        if turn.has_led:
            seq, lost_us = stop or (None, turn.noticed_us)
            turn.fault = (seq, at_us if lost_us is None and nobody is not None else lost_us)
            turn.begin_us = at_us if turn.fault[1] is None else turn.fault[1]
        elif turn.row is not None:
            # what its predecessor began goes on
            turn.fault = (turn.row["fault_seq"], turn.row["lost_us"])
            turn.begin_us = turn.row["begin_us"]
        else:
            turn.begin_us = turn.at_us

    def ends(self, place: Place, at_us: int) -> None:
        """The run ends, or the topic: what has begun lasts until then."""
        turn = self._turns.pop(place)
        if turn.begin_us is None:
            self._loses(turn, at_us, None)
        if turn.row is not None and not turn.has_led:
            turn.row["unavailable_us"] = at_us - turn.row["begin_us"]
        elif turn.nobody is not None or self._brokers[turn.broker].is_down:
            seq, lost_us = turn.nobody or (
                (turn.fault[0], turn.fault[1]) if turn.fault[0] is not None else (turn.seq, turn.at_us)
            )
            assert seq is not None
            assert turn.begin_us is not None
            row = self._row(place, turn, seq, turn.at_us if lost_us is None else lost_us)
            self.rows.append({**row, "unavailable_us": at_us - turn.begin_us})

    def end(self) -> None:
        for place in list(self._turns):
            self.ends(place, self._end_us)


def failovers(t: Any) -> Rows:
    found = _Failovers(t)
    for event in t.of(
        "LeaderElected", "ReplicaBecameLeader", "BatchAppended", "LogTruncated", "ZnodeCreated", "ZnodeDeleted",
        "BrokerFrozen", "BrokerThawed", "BrokerExiting", "BrokerStopped", "BrokerStarted", "SessionClosed",
    ):  # fmt: skip
        found.see(event)
    found.end()
    return found.rows


MAKERS = {"gold.failovers": failovers}
