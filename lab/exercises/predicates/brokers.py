"""Predicates about brokers and the simulation's clock."""

from typing import Annotated

from broker_core.texts import text
from lab.exercises.moment import Moment
from lab.exercises.places import Node, node_text, nodes_of
from lab.exercises.predicate import GoalState, answer, one_of, predicate


@predicate
def paused(moment: Moment) -> GoalState:
    """The simulation is paused."""
    return answer("goal.paused", moment.paused)


@predicate
def brokers_up(moment: Moment, *, at_least: int) -> GoalState:
    """At least this number of brokers is up."""
    nodes = moment.view["nodes"].values()
    count = sum(node["kind"] == "broker" and node["state"] == "up" for node in nodes)
    return answer("goal.brokers_up", count >= at_least, n=count, wanted=at_least)


@predicate
def broker_is(moment: Moment, *, broker: Node, state: Annotated[str, one_of("up", "down")]) -> GoalState:
    """A broker is up, or down."""
    name = nodes_of(moment.view, broker)[0]
    node = moment.view["nodes"].get(name)
    if node is None:
        return GoalState(False, text("goal.no_node", node=name))
    found = node["state"]
    shown = _STATES.get(found, text("goal.state_changing"))
    return answer("goal.broker_is", found == state, node=node_text(name), state=shown, wanted=_STATES[state])


_STATES = {"up": text("goal.state_up"), "down": text("goal.state_down")}
