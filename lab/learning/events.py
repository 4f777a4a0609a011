"""The learning events: ids, codes and values. No sentence and no name of a person is stored.

A record of the log is the JSON of one struct with its version, `{"k": "StepChecked", "v": 1, ...}`. A field may be
added with a default; any other change of a kind raises `VERSION`, and older records are then skipped when read.
"""

from typing import ClassVar, TypeAlias, get_args

import msgspec

VERSION = 1


class LearningEvent(msgspec.Struct, frozen=True, kw_only=True, tag_field="k", omit_defaults=True):
    """What all kinds share.

    Attributes:
        lesson: slug of the lesson or the challenge.
        run, branch, seq, at_us: the instant of the run at which it happened; empty and 0 outside of a run.
        era, seed: of that run.
        content_version: digest of the lesson's content that the learner saw.
        classroom: slug of the class in whose lab it happened; empty outside of a class.
    """

    v: int = VERSION
    lesson: str
    run: str = ""
    branch: str = ""
    seq: int = 0
    at_us: int = 0
    era: str = ""
    seed: int = 0
    content_version: str = ""
    classroom: str = ""
    kind: ClassVar[str] = ""
    """The kind's name in the export."""


class LessonStarted(LearningEvent, frozen=True, kw_only=True, tag=True):
    """A lesson, or part `part` of it, was started in a run."""

    part: int = 1
    kind = "lesson"


class StepChecked(LearningEvent, frozen=True, kw_only=True, tag=True):
    """The goals of a step hold. `seconds`: wall time since the step became active; `attempt` counts from 1."""

    step: str
    part: int = 1
    attempt: int = 1
    seconds: float = 0.0
    hints: int = 0
    kind = "goal"


class PredictionGiven(LearningEvent, frozen=True, kw_only=True, tag=True):
    """A prediction was locked in.

    Attributes:
        choice: id of the choice taken.
        choices: how many choices there were.
        p: how sure, one of `lab.learning.scoring.stops(choices)`.
    """

    step: str
    attempt: int = 1
    choice: str
    choices: int
    p: float
    hints: int = 0
    kind = "prediction"


class PredictionSettled(LearningEvent, frozen=True, kw_only=True, tag=True):
    """The run has decided a prediction.

    Attributes:
        outcome: id of the choice that came true, or the value where none did.
        brier: `lab.learning.scoring.brier(p, choices, right)`.
        misconception: tag of the wrong choice taken; empty when right or without a tag.
        tags: tags of all wrong choices of the question.
        hints: shown in the lesson before the prediction was given.
        part: of the lesson; 0 where an older version recorded it.
    """

    step: str
    part: int = 0
    attempt: int = 1
    choice: str
    choices: int
    p: float
    outcome: str
    right: bool
    brier: float
    misconception: str = ""
    tags: tuple[str, ...] = ()
    hints: int = 0
    seconds: float = 0.0
    kind = "prediction"


class AnswerGiven(LearningEvent, frozen=True, kw_only=True, tag=True):
    """An answer to a question of a step: a number or a choice, compared with the run. `part`: see PredictionSettled."""

    step: str
    part: int = 0
    attempt: int = 1
    answer: str
    outcome: str = ""
    right: bool
    misconception: str = ""
    seconds: float = 0.0
    kind = "answer"


class HintShown(LearningEvent, frozen=True, kw_only=True, tag=True):
    """The learner opened hint `hint` (from 1)."""

    step: str
    hint: int
    kind = "hint"


class StepSkipped(LearningEvent, frozen=True, kw_only=True, tag=True):
    """The learner went on without doing a step or without answering its question."""

    step: str
    kind = "skip"


class WrongStateShown(LearningEvent, frozen=True, kw_only=True, tag=True):
    """The cluster reached a state that the step knows as a likely mistake; `wrong` is its id."""

    step: str
    wrong: str
    misconception: str = ""
    kind = "wrong state"


class LessonFinished(LearningEvent, frozen=True, kw_only=True, tag=True):
    """Every step of part `part` of `parts` is done. With the last part the lesson is done and its card begins."""

    part: int = 1
    parts: int = 1
    seconds: float = 0.0
    kind = "lesson"


class TransferAnswered(LearningEvent, frozen=True, kw_only=True, tag=True):
    """The question in another setting at the end of a lesson. `p` is 0 where it was not asked how sure."""

    choice: str
    choices: int
    p: float = 0.0
    outcome: str = ""
    right: bool
    brier: float = 0.0
    misconception: str = ""
    tags: tuple[str, ...] = ()
    seconds: float = 0.0
    kind = "answer"


class ReviewAsked(LearningEvent, frozen=True, kw_only=True, tag=True):
    """Question `count` (from 0) of the card of `lesson` was shown. Its content follows from `question_seed`."""

    count: int
    question_seed: int
    kind = "review"


class ReviewAnswered(LearningEvent, frozen=True, kw_only=True, tag=True):
    """Question `count` of a card was answered.

    Attributes:
        rating: that of FSRS: 1 again, 2 hard, 3 good, 4 easy.
        ms: from the question to the answer.
    """

    count: int
    question_seed: int
    choice: str
    choices: int
    p: float
    outcome: str
    right: bool
    brier: float
    rating: int
    ms: int
    misconception: str = ""
    tags: tuple[str, ...] = ()
    kind = "review"


class ChallengeJudged(LearningEvent, frozen=True, kw_only=True, tag=True):
    """An entry to the challenge `lesson` was judged: `score` in the challenge's own unit, `digest` of the verdict."""

    entry: str
    passed: bool
    score: float
    digest: str = ""
    seconds: float = 0.0
    kind = "challenge"


class LessonReset(LearningEvent, frozen=True, kw_only=True, tag=True):
    """The learner started the lesson over: steps and attempts of before are history."""

    kind = "lesson"


AnyEvent: TypeAlias = (
    LessonStarted
    | StepChecked
    | PredictionGiven
    | PredictionSettled
    | AnswerGiven
    | HintShown
    | StepSkipped
    | WrongStateShown
    | LessonFinished
    | TransferAnswered
    | ReviewAsked
    | ReviewAnswered
    | ChallengeJudged
    | LessonReset
)
KINDS: dict[str, type[LearningEvent]] = {kind.__name__: kind for kind in get_args(AnyEvent)}


class Stored(msgspec.Struct, frozen=True):
    """An event as the log holds it: `seq` is its offset, `at_ms` the wall time of the append."""

    seq: int
    at_ms: int
    event: AnyEvent


class Skipped(msgspec.Struct, frozen=True):
    """A record that this version cannot read. `why` is technical, for the page of the learner's data."""

    seq: int
    why: str


_decoder: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)
_encoder = msgspec.json.Encoder()


class UnreadableEvent(ValueError):
    """A record of another version, or a corrupt one; the message says which."""


def encode(event: AnyEvent) -> bytes:
    return _encoder.encode(event)


def decode(record: bytes) -> AnyEvent:
    """Raises UnreadableEvent."""
    try:
        event = _decoder.decode(record)
    except msgspec.MsgspecError as error:
        raise UnreadableEvent(str(error)) from None
    if event.v != VERSION:
        raise UnreadableEvent(f"version {event.v}")
    return event
