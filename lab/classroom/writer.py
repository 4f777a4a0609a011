"""The thread that writes a class: decide, apply, write, answer, publish.

It owns the state and the log. It takes the waiting acts, decides each on the state that includes the previous ones,
writes all events in one batch, and only then answers and publishes. What was answered survives `kill -9`. If a batch
cannot be applied or written, the state is folded from the log again, and all acts of the batch are rejected.

Once a second what was written is fsynced, in another thread: acts do not wait for the disk.
"""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

from broker_core.refusals import KafkaException
from lab.classroom.acts import Given
from lab.classroom.acts.facts import Predict, ReachStep, RefuseCommand, ResetWork, Resume, TakeHint, Tick
from lab.classroom.acts.ops import Op
from lab.classroom.ballots import BallotBox
from lab.classroom.board import Entry, Published, entry_of, now_of, sections_of
from lab.classroom.clock import ClassClock, Clocks
from lab.classroom.decide import decide
from lab.classroom.events import ROOM, ClassEnvelope
from lab.classroom.events.poll import PollClosed, PollEnded, Voted
from lab.classroom.folds import fold
from lab.classroom.journal import ClassJournal
from lab.classroom.state import State
from lab.classroom.stuck import StuckWatch
from lab.classroom.views import Words, paths
from lab.journals.journal import FolderSync
from lab.texts.refusal import Refusal

logger = logging.getLogger(__name__)

MAX_BATCH_EVENTS = 64
SYNC_EVERY_US = 1_000_000
KEYS = "polls"
DONE_BY_LEARNERS = (Predict, ReachStep, RefuseCommand, ResetWork, TakeHint)
"""Facts by which a learner is not idle."""

#: the last seq of an act, or why it failed
Outcome: TypeAlias = int | BaseException
Answer: TypeAlias = Callable[[Outcome], None]


class Job:
    """An act and its waiter. `kept`: called when a vote has to wait for others."""

    __slots__ = ("answer", "given", "kept")

    def __init__(self, given: Given, answer: Answer, kept: Callable[[], None] | None = None) -> None:
        self.given = given
        self.answer = answer
        self.kept = kept


class _Batch:
    """Acts that are decided but not written yet."""

    def __init__(self) -> None:
        self.envelopes: list[ClassEnvelope] = []
        self.changed: list[tuple[str, ...]] = []
        self.answers: list[tuple[Answer, Outcome]] = []
        #: of votes that wait for others
        self.kept: set[Answer] = set()


class Writer:
    """The writer's thread. It calls `publish` with what was written, before the answers."""

    def __init__(
        self, journal: ClassJournal, words: Words, clocks: Clocks, publish: Callable[[Published], None]
    ) -> None:
        self._journal = journal
        self._words = words
        self._clocks = clocks
        self._publish = publish
        self._state = journal.state()
        noted = journal.noted_wall(self._state) if self._state.opened_us >= 0 else None
        self._clock = ClassClock(clocks, self._state.last_us, noted)
        self._watch = StuckWatch()
        self._boxes: dict[int, BallotBox[Answer]] = {}
        self._synced_us = self._clock.now_us()
        self._is_synced = True
        self._syncing: Future[None] | None = None
        self._syncer = ThreadPoolExecutor(1, thread_name_prefix=f"sync {journal.header.slug}")
        self._jobs: SimpleQueue[Job | Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=f"class {journal.header.slug}", daemon=True)

    @property
    def state(self) -> State:
        """The state; only before `start` and within `call`."""
        return self._state

    @property
    def clock(self) -> ClassClock:
        return self._clock

    def start(self) -> None:
        """Records that the class was resumed, if it had started; publishes all sections; starts to take jobs."""
        self._destroy_old_keys()
        if self._state.is_open:
            self._run([Job(Given(ROOM, Resume(self._clock.gap_ms, self._clocks.wall_ms())), _ignore)])
        self._publish(self._published([], set(paths(self._state))))
        self._thread.start()

    def put(self, job: Job) -> None:
        """Queues an act."""
        self._jobs.put(job)

    def call(self, job: Callable[[], None]) -> None:
        """Lets the thread call `job` between two batches."""
        self._jobs.put(job)

    def set_hidden(self, p: str, hidden: bool) -> None:
        """All pages of a participant are hidden, or one has become visible."""
        self._jobs.put(lambda: self._watch.set_hidden(p, hidden))

    def set_catching_up(self, p: str, is_so: bool) -> None:
        """A participant replays the class, or has ended that."""
        self._jobs.put(lambda: self._watch.set_catching_up(p, is_so))

    def touch(self, p: str) -> None:
        """A learner did something in their lab."""
        self._jobs.put(lambda: self._watch.touch(p))

    def refresh(self) -> None:
        """Names or texts were erased from the database: publishes all sections again, and pages start with them."""
        self._jobs.put(lambda: self._publish(self._published([], set(paths(self._state)))._replace(starts_again=True)))

    def close(self) -> None:
        """Writes everything and closes the log."""
        self._jobs.put(None)
        self._thread.join()

    def _work(self) -> None:
        try:
            while self._work_off(self._jobs.get()):
                self._sync_if_due()
        finally:
            self._syncer.shutdown()
            self._journal.close()

    def _work_off(self, found: Job | Callable[[], None] | None) -> bool:
        """Processes a job and those queued behind it, acts in batches; returns whether more may follow."""
        acts: list[Job] = []
        while found is not None:
            if isinstance(found, Job):
                acts.append(found)
            else:
                self._run(acts)
                acts = []
                self._guard(found)
            if len(acts) >= MAX_BATCH_EVENTS:
                break
            try:
                found = self._jobs.get_nowait()
            except Empty:
                break
        self._run(acts)
        return found is not None

    def _guard(self, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception:
            logger.exception("a job of class %s failed", self._journal.header.slug)

    def _sync_if_due(self) -> None:
        now_us = self._clock.now_us()
        if self._is_synced or now_us - self._synced_us < SYNC_EVERY_US:
            return
        if self._syncing is not None and not self._syncing.done():
            # A disk that takes longer than a second: the next sync includes what is written until then.
            return
        self._synced_us, self._is_synced = now_us, True
        self._syncing = self._syncer.submit(self._sync, self._journal.begin_sync())

    def _sync(self, begun: FolderSync) -> None:
        """In the thread of the syncs. After a failure, as of a full disk, the class continues: what was written is with
        the operating system, and the next sync includes it.
        """
        try:
            begun.run()
        except (OSError, KafkaException):
            logger.exception("the log of class %s could not be synced", self._journal.header.slug)
            self._is_synced = False

    def _run(self, jobs: list[Job]) -> None:
        if not jobs:
            return
        batch = _Batch()
        try:
            for job in jobs:
                self._decide(batch, job)
            records = self._journal.append(batch.envelopes) if batch.envelopes else []
        except Exception as failure:
            if not isinstance(failure, Refusal):
                logger.exception("acts of class %s could not be applied", self._journal.header.slug)
            self._undo(batch, jobs, failure)
        else:
            self._tell(batch, records)
        for answer, outcome in batch.answers:
            answer(outcome)

    def _undo(self, batch: _Batch, jobs: list[Job], failure: Exception) -> None:
        """Restores the state as it is in the log; all acts are rejected."""
        self._state = self._journal.state()
        self._publish(self._published([], set(paths(self._state))))
        rejected = {answer: outcome for answer, outcome in batch.answers if isinstance(outcome, BaseException)}
        waiting = [job.answer for job in jobs if job.answer not in batch.kept] + [answer for answer, _ in batch.answers]
        batch.answers = [(answer, rejected.get(answer, failure)) for answer in dict.fromkeys(waiting)]

    def _tell(self, batch: _Batch, records: list[bytes]) -> None:
        if not records:
            return
        self._is_synced = False
        entries = [
            entry_of(self._state, envelope, record, changed)
            for envelope, record, changed in zip(batch.envelopes, records, batch.changed, strict=True)
        ]
        self._publish(self._published(entries, {path for paths_of in batch.changed for path in paths_of}))
        self._finish_polls(batch)
        self._journal.keep_keyframe(self._state)

    def _published(self, entries: list[Entry], changed: set[str]) -> Published:
        state = self._state
        staff, public, mine = sections_of(state, self._words, changed)
        return Published(entries, staff, public, mine, now_of(state))

    def _decide(self, batch: _Batch, job: Job) -> None:
        given = job.given
        known = self._state.acts.get(f"{given.who}/{given.id}") if given.id else None
        if known is not None:
            batch.answers.append((job.answer, known.seq))
            return
        now_us = self._clock.now_us()
        try:
            found = decide(self._state, given, now_us)
        except Refusal as refusal:
            batch.answers.append((job.answer, refusal))
            return
        except Exception as error:
            logger.exception("an act of class %s failed: %s", self._journal.header.slug, given)
            batch.answers.append((job.answer, error))
            return
        if isinstance(given.do, Op):
            self._watch.touch(given.who)
        elif isinstance(given.do, DONE_BY_LEARNERS):
            self._watch.touch(given.do.p)
        elif isinstance(given.do, Tick):
            self._look_for_stuck(batch, now_us)
        for event in found:
            if isinstance(event, Voted) and self._state.polls[event.poll].is_anonymous:
                self._keep_vote(batch, job, event, now_us)
                return
            if isinstance(event, PollClosed):
                self._write_votes(batch, event.poll, now_us, closes=True)
            self._add(batch, now_us, given.who, given.id, event)
        batch.answers.append((job.answer, self._state.last_seq))

    def _add(self, batch: _Batch, now_us: int, who: str, act: str, event: Any) -> None:
        envelope: ClassEnvelope = (self._state.last_seq + 1, now_us, who, act, event)
        batch.envelopes.append(envelope)
        batch.changed.append(tuple(fold(self._state, envelope)))

    def _look_for_stuck(self, batch: _Batch, now_us: int) -> None:
        for noted in list(self._watch.look(self._state, now_us)):
            for event in decide(self._state, Given(ROOM, noted), now_us):
                self._add(batch, now_us, ROOM, "", event)

    # Anonymous votes

    def _box(self, poll: int) -> BallotBox[Answer]:
        box = self._boxes.get(poll)
        if box is None:
            box = self._boxes[poll] = BallotBox(self._key_of(poll))
        return box

    def _key_of(self, poll: int) -> Path:
        return self._journal.folder / KEYS / f"{poll}.key"

    def _keep_vote(self, batch: _Batch, job: Job, vote: Voted, now_us: int) -> None:
        self._box(vote.poll).put(vote, job.answer)
        batch.kept.add(job.answer)
        if job.kept is not None:
            job.kept()
        self._write_votes(batch, vote.poll, now_us, closes=False)

    def _write_votes(self, batch: _Batch, poll: int, now_us: int, *, closes: bool) -> None:
        if not self._state.polls[poll].is_anonymous:
            return
        votes, waiting = self._box(poll).take(closes=closes)
        for vote in votes:
            self._add(batch, now_us, "", "", vote)
        batch.answers += [(answer, self._state.last_seq) for answer in waiting]

    def _destroy_old_keys(self) -> None:
        """Destroys the keys of polls that have ended: the server may have been killed after that was written. A poll
        that is not known was lost in a power loss, and its number is given again.
        """
        for path in (self._journal.folder / KEYS).glob("*.key"):
            poll = self._state.polls.get(int(path.stem))
            if poll is None or poll.phase == "ended":
                path.unlink()

    def _finish_polls(self, batch: _Batch) -> None:
        """Destroys the keys of polls that have ended."""
        for _, _, _, _, event in batch.envelopes:
            if isinstance(event, PollEnded) and self._state.polls[event.poll].is_anonymous:
                self._box(event.poll).destroy()
                del self._boxes[event.poll]


def _ignore(_: Outcome) -> None:
    pass
