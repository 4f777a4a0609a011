"""Shares the state of the leading lab with the class: each learner may continue from it in a new run."""

import asyncio
from weakref import WeakValueDictionary

from lab.actions.classes.live_class import LiveClass
from lab.actions.give_state import save_for_handout, set_aside, take_state
from lab.classroom.acts import Given
from lab.classroom.acts.facts import GiveState, TakeState
from lab.models import Branch, Class, Participant
from lab.runtime.host import Host
from lab.texts.refusal import Refusal

MAX_HANDOUTS = 20
"""The most states that a class may give: each keeps the logs of its lab on disk."""
_taking: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
"""By participant: two presses give one run."""


async def hand_out(host: Host, live: LiveClass, classroom: Class) -> GiveState:
    """Stores the current instant of the leading lab. Raises Refusal if no participant leads, or there are too many
    handouts.
    """
    lead, given = await live.room.read(lambda state: (state.lead.lab if state.lead else "", len(state.handouts)))
    if not lead:
        raise Refusal("class_act.nobody_leads", 409)
    if given >= MAX_HANDOUTS:
        raise Refusal("class_act.many_handouts", 409, max=MAX_HANDOUTS)
    run, _, name = lead.partition("/")
    branch = await Branch.objects.select_related("run").aget(run__slug=run, name=name)
    seq = await save_for_handout(await host.lab(run, name))
    made = await set_aside(host, classroom, branch, seq)
    return GiveState(made.number, lead, made.seq, made.at_us)


async def take_handout(host: Host, live: LiveClass, participant: Participant, number: int, id: str = "") -> int:
    """A new run of the participant that begins at a state that was given, noted in the class by the act `id`; the same
    one when they ask again. Returns the seq of the event. The run is made and noted even if the request is cancelled.

    Raises Refusal for a number that was not given.
    """
    p = participant.source

    async def taken() -> int:
        # Until the class knows of the run: a second press must find it.
        async with _taking.setdefault(participant.pk, asyncio.Lock()):
            is_given, known = await live.room.read(
                lambda state: (number in state.handouts, dict(state.people[p].taken) if p in state.people else {})
            )
            if not is_given:
                raise Refusal("class_act.no_handout", 404, number=number)
            lab = known.get(number)
            if lab is None:
                branch = await take_state(host, participant, number, participant.classroom.title)
                lab = f"{branch.run.slug}/{branch.name}"
            return await live.room.do(Given(p, TakeState(p, number, lab), id))

    return await asyncio.shield(taken())
