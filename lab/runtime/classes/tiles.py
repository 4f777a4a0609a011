"""Tiles of the board: for each lab a row of about a hundred bytes, read in the lab's thread when it has changed.

Labs that learners were given and have not used are all in the state of their handout: one of them is read. To open the
labs of hundreds who join at once would take most of the server's time.
"""

import asyncio
from collections.abc import Collection
from typing import Literal

import msgspec

from broker_core.partitions import broker_node, replica_name
from broker_core.view.tree import View
from lab.runtime.classes.handouts import CopiedState, copied_state
from lab.runtime.host import Host
from lab.runtime.lab import Lab
from lab.runtime.live_run import LiveRun
from lab.texts.refusal import Refusal

Mode = Literal["asleep", "pause", "play", "event_paced"]
Role = Literal["l", "i", "o", "x"]
"""Leader, in sync, out of sync, offline."""
LabName = tuple[str, str]
"""Run and branch."""


class ReplicaTile(msgspec.Struct, array_like=True, frozen=True):
    """A replica of the partition that is shown. `first`: its log start offset; `end`: its log end offset; `cut`: the
    offset to which its log was last truncated, None if it never was.
    """

    broker: int
    role: Role
    first: int
    end: int
    high_watermark: int
    cut: int | None


class LabTile(msgspec.Struct, array_like=True, frozen=True):
    """A lab as it is now."""

    mode: Mode
    seq: int
    at_us: int
    partition: str
    replicas: list[ReplicaTile]


def tile_of(view: View, partition: str, mode: Mode, seq: int, at_us: int) -> LabTile:
    """The row of a lab. `partition`: the partition to show, or the first one if it does not exist."""
    partitions = view["partitions"]
    if partition not in partitions:
        partition = min((name for name in partitions if not name.startswith("__")), default="")
    state = partitions.get(partition)
    replicas = [] if state is None else [_replica(view, partition, broker) for broker in state["replicas"]]
    return LabTile(mode, seq, at_us, partition, replicas)


def _replica(view: View, partition: str, broker: int) -> ReplicaTile:
    state = view["partitions"][partition]
    node = view["nodes"].get(broker_node(broker))
    replica = view["replicas"].get(replica_name(partition, broker_node(broker)))
    role: Role = "l" if state["leader"] == broker else "i" if broker in state["isr"] else "o"
    if node is None or node["state"] == "down" or (replica is not None and replica["role"] == "offline"):
        role = "x"
    if replica is None:
        return ReplicaTile(broker, role, 0, 0, 0, None)
    cut = replica["cut"]
    return ReplicaTile(
        broker,
        role,
        replica["log_start_offset"],
        replica["log_end_offset"],
        replica["high_watermark"],
        None if cut is None else cut["to"],
    )


class Tiles:
    """The rows of the labs of one class. Use it from the host's event loop."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._partitions: dict[LabName, str] = {}
        self._seen: dict[LabName, tuple[int, Mode, str]] = {}
        self._rows: dict[LabName, LabTile] = {}
        self._copied: dict[tuple[CopiedState, str], LabTile] = {}
        """Rows of labs that have not been used, by their state and the partition that is shown."""
        self._reading_copy = asyncio.Lock()

    @property
    def rows(self) -> dict[LabName, LabTile]:
        """The known rows, as of the last sweep."""
        return dict(self._rows)

    def show(self, lab: LabName, partition: str = "") -> None:
        """Adds a lab to the board, or shows another partition of it; "": the first one."""
        self._partitions[lab] = partition

    def hide(self, lab: LabName) -> None:
        """Removes a lab from the board."""
        for known in (self._partitions, self._seen, self._rows):
            known.pop(lab, None)

    async def sweep(self) -> dict[LabName, LabTile]:
        """Reads the labs that have changed since the last sweep; returns the rows that are others now."""
        names = list(self._partitions)
        closed = [name for name in names if self._host.open_lab(*name) is None]
        unknown = [name for name in closed if name not in self._rows]
        copied = await asyncio.to_thread(self._copied_states, unknown) if unknown else {}
        # Closed labs need no task each: they may be hundreds.
        asleep = {name for name in closed if name in self._rows and self._rows[name].mode == "asleep"}
        awake = [name for name in names if name not in asleep]
        read = await asyncio.gather(*(self._read(name, copied.get(name)) for name in awake))
        changed = {}
        for name, row in zip(awake, read, strict=True):
            if row is not None and name in self._partitions and row != self._rows.get(name):
                self._rows[name] = changed[name] = row
        return changed

    def _copied_states(self, names: Collection[LabName]) -> dict[LabName, CopiedState | None]:
        """In a thread."""
        return {name: copied_state(self._host.folder(*name)) for name in names}

    async def _read(self, name: LabName, copied: CopiedState | None) -> LabTile | None:
        lab = self._host.open_lab(*name)
        try:
            if lab is None:
                if name in self._rows:
                    # closed, so nothing happens in it
                    return msgspec.structs.replace(self._rows[name], mode="asleep")
                if copied is not None:
                    return await self._copied_row(name, copied)
                lab = await self._host.lab(*name)
            return await self._row(name, lab)
        except Refusal:
            # deleted, or closed meanwhile: the next sweep opens it or does not find it again
            return None

    async def _copied_row(self, name: LabName, state: CopiedState) -> LabTile | None:
        """The row of a closed lab in this state, read from the first lab that is in it."""
        partition = self._partitions.get(name)
        if partition is None:
            return None
        key = state, partition
        async with self._reading_copy:
            if key not in self._copied:
                row = await self._row(name, await self._host.lab(*name))
                if row is None or row.mode != "asleep" or row.seq != state.seq:
                    # It was used meanwhile.
                    return row
                self._copied[key] = row
        return self._copied[key]

    async def _row(self, name: LabName, lab: Lab) -> LabTile | None:
        """None also for a lab that was hidden meanwhile: those of a lesson are hidden all at once."""
        clock = lab.clock()
        partition = self._partitions.get(name)
        if partition is None:
            return None
        mode: Mode = "asleep" if lab.core == "recorded" else clock.mode
        now = lab.ring.last_seq, mode, partition
        if self._seen.get(name) == now:
            return None

        def read(live: LiveRun | None) -> LabTile:
            if live is not None:
                return tile_of(live.run.view, partition, mode, live.run.seq, live.run.now_us)
            recording = lab.recording
            view = recording.view_at(recording.last_seq)
            return tile_of(view, partition, mode, recording.last_seq, recording.last_at_us)

        row = await lab.read(read)
        if name in self._partitions:
            self._seen[name] = now
        return row
