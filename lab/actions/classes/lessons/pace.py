"""The pace of a class in the lessons of its learners: no step past it opens in a lab of the class."""

from lab.actions.classes.live_class import live_classes
from lab.models import Branch, Class, Presence
from lab.texts.refusal import Refusal


async def pace_of_class(branch: Branch, lesson: str) -> int:
    """The last step of a lesson, from 1, that may open now in a lab; 0: no limit, as outside of classes. The class is
    opened if it is not: after a restart of the server, the labs of its learners may be opened first.
    """
    run = branch.run
    if run.classroom is None or run.participant is None:
        return 0
    live = live_classes().opened(run.classroom.slug)
    if live is None:
        classroom = await Class.objects.filter(pk=run.classroom.pk, state=Class.State.OPEN).afirst()
        if classroom is None:
            return 0
        try:
            live = await live_classes().of(classroom)
        except Refusal:
            # Its log cannot be read: nobody can set a pace.
            return 0
    participant = run.participant
    joins_as = participant.role if participant.presence == Presence.IN else ""
    return live.labs.pace_of(participant.source, lesson, joins_as)
