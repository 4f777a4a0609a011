"""Polls, in rounds."""

from broker_core.events import Event
from lab.classroom.events.kinds import kind


@kind("poll", "staff")
class PollMade(Event):
    """`form`: choice, number, point, prediction. `text` and `choices`: ids of texts. `right`: the right answer, empty
    if there is none or it is not known. `step`: whose prediction it is, of the lesson with the slug `lesson`. Votes of
    an anonymous poll do not contain the voter.

    How a lab settles it: at `when`, a condition, or after `within_s` simulated seconds; 0: no limit. `holds`: of each
    choice the condition under which it came true, empty for the choice that is right if no other came true. `asks`: the
    quantity that a number is compared with. `tags`: of each choice the misconception behind it; empty if none is known.
    `other_text` and `other_choices`: in the other language, 0 and empty for none.
    """

    poll: int
    form: str
    text: int
    choices: tuple[int, ...]
    anonymous: bool
    asks_sure: bool
    right: str
    step: int
    when: str = ""
    holds: tuple[str, ...] = ()
    asks: str = ""
    within_s: int = 0
    tags: tuple[str, ...] = ()
    other_text: int = 0
    other_choices: tuple[int, ...] = ()
    lesson: str = ""


@kind("poll", "all")
class PollOpened(Event):
    """Round `round`, from 1. Closes at `until_us`; 0: when staff closes it."""

    poll: int
    round: int
    until_us: int


@kind("poll", "tape")
class Voted(Event):
    """`voter`: a participant, or in an anonymous poll a code, which is the same for a person in each round. `sure`:
    percent, -1 if it was not asked.
    """

    poll: int
    round: int
    voter: str
    answer: str
    sure: int


@kind("poll", "all")
class PollClosed(Event):
    poll: int
    round: int


@kind("poll", "all")
class DiscussionBegan(Event):
    """Participants discuss their answers with each other until `until_us`; 0: until the next round."""

    poll: int
    until_us: int


@kind("poll", "staff")
class SplitOpened(Event):
    """Staff see the split from now on, even while the round is open."""

    poll: int


@kind("poll", "all")
class SplitShown(Event):
    poll: int


@kind("poll", "all")
class SettlingBegan(Event):
    """The lab plays on from event `seq` until it has settled the poll."""

    poll: int
    lab: str
    seq: int


@kind("poll", "all")
class SettlingEnded(Event):
    """The lab stops settling the poll. `why`: none (no answer came true), since (the event from which
    the prediction measures time did not happen), lab (it cannot continue), act.
    """

    poll: int
    why: str


@kind("poll", "all")
class Revealed(Event):
    """What came true. `by`: `lab`, which settled it at event `seq`; or `staff`, who looked at that lab and override
    what a lab settled.
    """

    poll: int
    outcome: str
    lab: str
    seq: int
    by: str = "staff"


@kind("poll", "all")
class PollEnded(Event):
    poll: int
