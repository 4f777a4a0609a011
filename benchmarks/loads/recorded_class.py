"""A synthetic class of 90 minutes: its log is written with class time as an argument, its sound by an encoder.

Forty learners; the lab that leads has 200,000 events. Every ten seconds a stroke is drawn at the instant at which a
tone begins. Three times the recording is off and the lab is paused; for a minute the instructor is offline, so that the
sound of it comes later, in another order, and without one slice; once the board is reloaded.
"""

import hashlib
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lab.classroom.acts import AnyAct, AnyFact
    from lab.classroom.audio.webm import Sound

SLUG, LED, LESSON = "bench", "r1/main", "001-high-watermark-two-fetches"
LEARNERS, STEPS = 40, 8
US, TICK_US = 1_000_000, 100_000
LENGTH_US = 90 * 60 * US
OFF = tuple((from_s * US, to_s * US) for from_s, to_s in ((900, 1_020), (2_400, 2_460), (4_200, 4_380)))
OFFLINE_US = (1_800 * US, 1_860 * US)
RELOADED_US, BACK_US = 3_300 * US + 400_000, 3_304 * US
BEGUN_US = 5 * US
PIECE_US, OVERLAP_US = 60 * US, 2 * US
EVERY_US, TONE_AT_US = 10 * US, 5 * US
"""A tone, and a stroke, at 5 s, 15 s, 25 s ..."""
SLICE_BYTES = 20_000
LOST_SLICE = 3
"""The slice of the piece recorded offline that is lost, about 15 s from its begin."""
PACKET_US = 20_000
START_WALL_MS = 1_700_000_000_000


class _Log:
    """The class, decided and folded as acts come."""

    def __init__(self) -> None:
        from lab.classroom.state import State

        self.state = State()
        self.now_us = 0
        self.waiting: list[Any] = []
        self.texts: list[str] = []

    def give(self, who: str, do: "AnyAct | AnyFact", *texts: str) -> None:
        from lab.classroom.acts import Given
        from lab.classroom.decide import decide
        from lab.classroom.folds import fold

        numbers = tuple(range(len(self.texts) + 1, len(self.texts) + 1 + len(texts)))
        self.texts += texts
        for event in decide(self.state, Given(who, do, "", numbers), self.now_us):
            envelope = (self.state.last_seq + 1, self.now_us, who, "", event)
            fold(self.state, envelope)
            self.waiting.append(envelope)

    def room(self, fact: "AnyFact") -> None:
        self.give("room", fact)


class _Script:
    """What happens in the class, a tenth of a second at a time. `seq_at`: of the lab that leads, by its time."""

    def __init__(self, log: _Log, seq_at: Callable[[int], int], lab_length_us: int) -> None:
        self.log = log
        self.draw = random.Random(1)
        self._seq_at, self._lab_length_us = seq_at, lab_length_us
        self._lab_us, self._mode, self._poll, self._ink = 0.0, "", 0, 0
        self._rate_us = lab_length_us * US // LENGTH_US
        self._progress = {f"p{number}": 0 for number in range(2, LEARNERS + 2)}
        self._seqs = dict.fromkeys(self._progress, 0)

    def open(self) -> None:
        from lab.classroom.acts import facts, ops

        self.log.room(facts.OpenClass(LESSON, STEPS, 90, (2,) * STEPS))
        self.log.room(facts.SetPerson("p1", "instructor"))
        for p in self._progress:
            self.log.room(facts.SetPerson(p, "learner", consent="nickname", lab=f"run-{p}/main"))
        self.log.give("p1", ops.TakeLead(LED))

    def tick(self) -> None:
        """One tenth of a second."""
        at_us = self.log.now_us
        is_off = any(from_us <= at_us < to_us for from_us, to_us in OFF)
        self._recording(at_us)
        self._lab(stands=is_off or at_us // US % 300 >= 270)
        self._pointer(at_us)
        if at_us % US == 0:
            self._second(at_us // US)

    def _recording(self, at_us: int) -> None:
        from lab.classroom.acts import ops

        for from_us, to_us in OFF:
            if at_us in (from_us, to_us):
                self.log.give("p1", ops.SetRecording(at_us == to_us))

    def _lab(self, *, stands: bool) -> None:
        from lab.classroom.acts import facts

        mode = "pause" if stands else "play"
        if stands and self._mode == mode:
            return
        self._mode = mode
        if not stands:
            self._lab_us += self._rate_us * TICK_US / US
        at_us = min(int(self._lab_us), self._lab_length_us)
        self.log.room(facts.MoveLab(LED, self._seq_at(at_us), at_us, mode, self._rate_us))

    def _pointer(self, at_us: int) -> None:
        from lab.classroom.acts import facts

        second, is_fifth = divmod(at_us // TICK_US, 10)
        if second % 60 < 20 and is_fifth % 2 == 0:
            u = second % 20 * 50
            self.log.room(facts.Point(1, f"broker:b{1 + second // 60 % 3}", u, 500, down=True))

    def _second(self, second: int) -> None:
        from lab.classroom.acts import At, facts, ops

        moving = self.draw.sample(list(self._seqs), 15)
        for p in moving:
            self._seqs[p] += 40
        self.log.room(facts.SeeLabs(tuple((p, self._seqs[p], second * US) for p in moving)))
        if second % 10 == 5:
            self.log.give("p1", ops.Draw("broker:b1", tuple((x, 500) for x in range(0, 1_000, 50))))
        if second % 10 == 8:
            self.log.give("p1", ops.ClearInk())
        if second % 300 == 10:
            self.log.give("p1", ops.AddChapter("", "en"), f"Chapter {second // 300 + 1}")
        if second % 180 == 30:
            p = self.draw.choice(list(self._seqs))
            self.log.give(p, ops.Ask("", "en", At(f"run-{p}/main"), True), f"What happens at second {second}?")
        if second % 15 == 7:
            self._step()
        self._take_poll(second)

    def _step(self) -> None:
        from lab.classroom.acts import facts

        p = self.draw.choice(list(self._progress))
        if self._progress[p] < STEPS:
            self._progress[p] += 1
            self.log.room(facts.ReachStep(p, LESSON, self._progress[p], f"run-{p}/main", self._seqs[p], 1))

    def _take_poll(self, second: int) -> None:
        from lab.classroom.acts import ops

        phase = second % 300
        if phase == 271:
            self._poll += 1
            question, choices = "Where does the log end?", ("it is kept", "it is cut", "it is empty")
            poll = ops.MakePoll("choice", question, "en", choices, False, True)
            self.log.give("p1", poll, question, *choices)
            self.log.give("p1", ops.OpenPoll(self._poll))
        elif phase == 275:
            for p in self._progress:
                self.log.give(p, ops.CastVote(self._poll, self.draw.choice("012"), self.draw.randrange(101)))
        elif phase == 285:
            for op in (ops.ClosePoll, ops.ShowSplit, ops.EndPoll):
                self.log.give("p1", op(self._poll))


def write_log(folder: Path, seq_at: Callable[[int], int], lab_length_us: int, arrived: list[Any]) -> list[str]:
    """Writes the log of the class into its folder; returns the texts to which it refers. `arrived`: pieces of sound
    with the instants at which they did, and passages that were lost.
    """
    from lab.classroom.acts import facts
    from lab.classroom.journal import FORMAT, ClassJournal, Header

    log = _Log()
    script = _Script(log, seq_at, lab_length_us)
    journal = ClassJournal(folder, Header(FORMAT, SLUG, START_WALL_MS, LESSON, ("en",)))
    script.open()
    coming = sorted(arrived, key=lambda one: one[0])
    for log.now_us in range(0, LENGTH_US + 1, TICK_US):
        script.tick()
        while coming and coming[0][0] <= log.now_us:
            log.room(coming.pop(0)[1])
        if len(log.waiting) >= 1_000:
            journal.append(log.waiting)
            log.waiting.clear()
    log.room(facts.EndClass())
    journal.append(log.waiting)
    journal.close()
    return log.texts


def keep_sound(folder: Path, pattern: "Sound") -> list[Any]:
    """Takes the sound as the server does, from slices; `pattern` is ten seconds of it, with the tone at the fifth.
    Returns what the class states of it, each with the instant.
    """
    from lab.classroom.acts import facts
    from lab.classroom.audio import store

    stated: list[Any] = []
    for at_us, length_us in _pieces():
        slices = _slices(_cut(pattern, at_us, length_us))
        is_late = at_us < OFFLINE_US[1] and at_us + length_us > OFFLINE_US[0]
        order = [n for n in range(len(slices)) if not (OFFLINE_US[0] <= at_us < OFFLINE_US[1] and n == LOST_SLICE)]
        if is_late:
            random.Random(at_us).shuffle(order)
        about = store.Arriving(at_us, "audio/webm")
        for n in order:
            store.put_slice(folder, at_us // 1_000, n, about, slices[n], hashlib.sha256(slices[n]).hexdigest())
        made = store.finish(folder, at_us // 1_000, len(slices), length_us, OFF)
        if made is None:
            raise ValueError(f"the piece at {at_us} was made before")
        when_us = min(at_us + length_us + (120 * US if is_late else TICK_US), LENGTH_US)
        stated += [(when_us, facts.LoseAudio(*passage)) for passage in made.lost]
        if made.data:
            digest = hashlib.sha256(made.data).hexdigest()
            stated.append((when_us, facts.KeepAudio(at_us // 1_000, at_us, made.length_us, len(made.data), digest)))
    store.add_voice(folder, [(at_us, at_us + length_us) for at_us, length_us in _pieces()])
    return stated


def _pieces() -> Iterator[tuple[int, int]]:
    """When recorders began, and how long they recorded."""
    at_us = BEGUN_US
    while at_us < LENGTH_US:
        end_us = min(at_us + PIECE_US + OVERLAP_US, LENGTH_US)
        is_broken = at_us < RELOADED_US < end_us
        yield at_us, (RELOADED_US if is_broken else end_us) - at_us
        at_us = BACK_US if is_broken else at_us + PIECE_US


def _cut(pattern: "Sound", at_us: int, length_us: int) -> bytes:
    from lab.classroom.audio.webm import Packet, Sound, write_webm

    first = at_us // PACKET_US
    packets = [
        Packet(n * PACKET_US // 1_000, pattern.packets[(first + n) % (EVERY_US // PACKET_US)].data)
        for n in range(length_us // PACKET_US)
    ]
    return write_webm(Sound(pattern.head, packets))


def _slices(data: bytes) -> list[bytes]:
    return [data[begin : begin + SLICE_BYTES] for begin in range(0, len(data), SLICE_BYTES)]


def places(count: int) -> list[int]:
    """Instants with a tone: right after each pause, in the offline minute, after the reload, the last ones, and others
    anywhere.
    """
    silent = [*OFF, (RELOADED_US, BACK_US)]

    def is_heard(at_us: int) -> bool:
        return all(not from_us - US <= at_us <= to_us + 2 * US for from_us, to_us in silent)

    tones = [at_us for at_us in range(TONE_AT_US + EVERY_US, LENGTH_US - EVERY_US, EVERY_US) if is_heard(at_us)]
    chosen = [next(at_us for at_us in tones if at_us > to_us) for _, to_us in silent]
    # The lost slice is about 15 s long into the piece of that minute.
    chosen += [OFFLINE_US[0] - 5 * US, OFFLINE_US[1] + 5 * US, tones[-1]]
    others = [at_us for at_us in tones if at_us not in chosen and not OFFLINE_US[0] <= at_us <= OFFLINE_US[1]]
    return sorted([*chosen, *random.Random(1).sample(others, count - len(chosen))])
