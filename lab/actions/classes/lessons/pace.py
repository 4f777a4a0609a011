"""The pace of a class in the lessons of its learners: no step past it opens in a lab of the class."""

from lab.actions.classes.live_class import live_classes
from lab.models import Branch, Presence


async def pace_of_class(branch: Branch, lesson: str) -> int:
    """The last step of a lesson, from 1, that may open now in a lab; 0: no limit, as outside of classes. The class is
    opened if it is not: after a restart of the server, the labs of its learners may be opened first.
    """
    live, participant = await live_classes().of_run(branch.run), branch.run.participant
    if live is None or participant is None:
        return 0
    joins_as = participant.role if participant.presence == Presence.IN else ""
    return live.labs.pace_of(participant.source, lesson, joins_as)
