"""The input of a lesson's checks."""

from typing import NamedTuple

from broker_core.view.tree import View
from lab.exercises.tally import Tally


class Moment(NamedTuple):
    """What a learner sees: the newest view, its instant, whether the simulation is paused, and the counts."""

    view: View
    at_us: int
    paused: bool
    tally: Tally = Tally()
