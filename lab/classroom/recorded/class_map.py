"""Which lab was shown at which instant of a class, and its position: class time -> (lab, seq, its time).

The map is piecewise linear: between two rows the lab's time advances by `rate_us` microseconds per second, or is
paused. Lab -1 means that no lab was shown, or none that the recording may show.
"""

from typing import NamedTuple

import msgspec

from lab.classroom.events import ClassEnvelope
from lab.classroom.events.lead import LabMoved, LabsSeen, LeadEnded, LeadTaken, StageAnswered, StageCleared, StageShown

NO_LAB = -1
_US = 1_000_000


class Row(msgspec.Struct, array_like=True):
    """One instant: the number of the lab, its last event, its simulated time, its mode and its rate."""

    class_us: int
    lab: int
    seq: int
    at_us: int
    mode: str
    rate_us: int

    def moved_to(self, class_us: int) -> "Row":
        """The extrapolated position of the lab at a later instant."""
        gone_us = (class_us - self.class_us) * self.rate_us // _US if self.mode != "pause" else 0
        return Row(class_us, self.lab, self.seq, self.at_us + gone_us, self.mode, self.rate_us)


class ShownLab(NamedTuple):
    """A lab of the recording, `run/branch`, that led or was on stage; `p` is the learner on stage if they are named."""

    address: str
    is_stage: bool
    p: str


class ClassMap:
    """Takes the events of a recording in order."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.labs: list[ShownLab] = []
        """By number."""
        self.last_seqs: list[int] = []
        """The last event of each lab that was shown."""
        self._lead: Row | None = None
        self._has_place = False
        self._asked = ""
        self._on_stage = ""
        self._stage: Row | None = None
        self._seen: dict[str, tuple[int, int]] = {}
        self._is_stage = False

    def take(self, envelope: ClassEnvelope) -> None:
        """Processes the next event."""
        _, at_us, _, _, event = envelope
        match event:
            case LeadTaken():
                self._lead = Row(at_us, self._number(event.lab), 0, 0, "pause", 0)
                self._has_place = False
                self._show_lead(self._lead)
            case LabMoved():
                self._lab_moved(event, at_us)
            case LeadEnded():
                self._lead = None
                self._show_lead(Row(at_us, NO_LAB, 0, 0, "pause", 0))
            case LabsSeen():
                self._labs_seen(event, at_us)
            case StageAnswered():
                self._asked = event.p
            case StageShown():
                self._stage_shown(event, at_us)
            case StageCleared() if self._is_stage:
                self._is_stage, self._on_stage, self._stage = False, "", None
                lead = self._lead
                self._add(lead.moved_to(at_us) if lead is not None else Row(at_us, NO_LAB, 0, 0, "pause", 0))

    def number_of(self, address: str) -> int:
        """The number of a lab; -1 for one that is not shown."""
        return next((number for number, lab in enumerate(self.labs) if lab.address == address), NO_LAB)

    def first_shown(self, lab: int, seq: int, lab_us: int) -> int | None:
        """The class time at which a lab was first shown with an event of its instant `lab_us`; None for an event before
        the lab was shown. static/lab/core/replay/class_map.js has the same.
        """
        of_lab = [i for i, row in enumerate(self.rows) if row.lab == lab]
        shown = next((i for i in of_lab if self.rows[i].seq >= seq), None)
        if shown is None or shown == of_lab[0]:
            return None
        row, before = self.rows[shown], self.rows[shown - 1]
        if before.lab != lab or before.mode == "pause" or not before.rate_us:
            return row.class_us
        between_us = before.class_us + (lab_us - before.at_us) * _US // before.rate_us
        return max(before.class_us, min(row.class_us, between_us))

    def _number(self, address: str, *, is_stage: bool = False, p: str = "") -> int:
        number = self.number_of(address)
        if number == NO_LAB:
            self.labs.append(ShownLab(address, is_stage, p))
            self.last_seqs.append(0)
            return len(self.labs) - 1
        return number

    def _lab_moved(self, event: LabMoved, at_us: int) -> None:
        row = Row(at_us, self._number(event.lab), event.seq, event.at_us, event.mode, event.rate_us)
        if not self._has_place and self._lead is not None and self._lead.lab == row.lab:
            # A new presenter shows the lab at its current position, which is reported a moment later.
            self._lead.seq, self._lead.at_us = row.seq, row.at_us
        self._lead, self._has_place = row, True
        self._show_lead(row)

    def _show_lead(self, row: Row) -> None:
        if self._is_stage:
            self._note(row)
        else:
            self._add(row)

    def _stage_shown(self, event: StageShown, at_us: int) -> None:
        self._is_stage = True
        if not event.lab:
            self._add(Row(at_us, NO_LAB, 0, 0, "pause", 0))
            return
        self._on_stage = self._asked
        seq, lab_us = self._seen.get(self._on_stage, (0, 0))
        self._stage = Row(at_us, self._number(event.lab, is_stage=True, p=event.p), seq, lab_us, "pause", 0)
        self._add(self._stage)

    def _labs_seen(self, event: LabsSeen, at_us: int) -> None:
        for p, seq, lab_us in event.moved:
            self._seen[p] = (seq, lab_us)
            stage = self._stage
            if stage is None or p != self._on_stage:
                continue
            if not stage.seq:
                stage.seq, stage.at_us = seq, lab_us
            elif at_us > stage.class_us and lab_us >= stage.at_us:
                # The position of a learner's lab is reported once a second; in between it is interpolated.
                stage.mode, stage.rate_us = "play", (lab_us - stage.at_us) * _US // (at_us - stage.class_us)
            self._stage = Row(at_us, stage.lab, seq, lab_us, "pause", 0)
            self._add(self._stage)

    def _add(self, row: Row) -> None:
        self.rows.append(row)
        self._note(row)

    def _note(self, row: Row) -> None:
        if row.lab != NO_LAB:
            self.last_seqs[row.lab] = max(self.last_seqs[row.lab], row.seq)
