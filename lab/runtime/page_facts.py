"""Views and measurements on the page of a branch: facts without events, for the predicates of lessons."""

from pathlib import Path

import msgspec

from lab.recordings.folder import BranchFolder

MAX_FACTS = 200


class PageFact(msgspec.Struct, frozen=True):
    """`what`: "zero copy" (a measurement, of a segment's path), "file" (bytes of a file were shown) or "lookup" (the
    search for an offset was shown, of a log's folder). `subject`: `b1/orders-0/00000000000000000000.log`, the node and
    the path below its data folder. `seq`: the last event when it was noted.
    """

    what: str
    subject: str
    seq: int


class PageFacts:
    """The facts of one branch, oldest first, each (what, subject) once with its newest seq. They are stored next to the
    recording, so that they survive a restart.
    """

    def __init__(self, folder: BranchFolder) -> None:
        self._path = folder.recording / "page-facts.json"
        self._facts = _read(self._path)

    def note(self, what: str, subject: str, seq: int) -> None:
        """Stores a fact. The oldest one goes when there are too many."""
        others = [fact for fact in self._facts if (fact.what, fact.subject) != (what, subject)]
        self._facts = (*others, PageFact(what, subject, seq))[-MAX_FACTS:]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        partial = self._path.with_suffix(".part")
        partial.write_bytes(msgspec.json.encode(self._facts))
        partial.replace(self._path)

    def since(self, seq: int) -> tuple[PageFact, ...]:
        """The facts noted at or after an event."""
        return tuple(fact for fact in self._facts if fact.seq >= seq)


def _read(path: Path) -> tuple[PageFact, ...]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=tuple[PageFact, ...])
    except (FileNotFoundError, msgspec.MsgspecError):
        # A damaged file costs a learner one more look at a file, and nothing else.
        return ()
