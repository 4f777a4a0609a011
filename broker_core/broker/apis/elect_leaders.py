"""ElectLeaders (API key 43)."""

from msgspec import structs

from broker_core.broker.admin.admin_purgatory import DelayedElections
from broker_core.broker.apis.services import ControllerServices
from broker_core.config_defs.java_text import scala_trie_order
from broker_core.errors import Errors
from broker_core.partitions import topic_of
from broker_core.sim.kernel import Message
from broker_core.wire.messages import ElectLeadersRequest


def handle(services: ControllerServices, message: Message) -> None:
    """The controller elects leaders; responds when this broker's metadata has them, or the timeout has passed."""
    body: ElectLeadersRequest = message.body
    response = services.controller.elect_leaders(body)
    # Kafka groups the results by topic in a Scala map, and the tools show partitions of one hash bucket in that order.
    places = {
        topic: at for at, topic in enumerate(scala_trie_order(topic_of(row.partition) for row in response.partitions))
    }
    by_topic = sorted(response.partitions, key=lambda row: places[topic_of(row.partition)])
    response = structs.replace(response, partitions=tuple(by_topic))
    leadership = services.controller.context.leadership
    expected = {
        result.partition: leadership[result.partition].leader
        for result in response.partitions
        if result.error is Errors.NONE
    }
    services.waiting_admin.park(DelayedElections(message, expected, response), body.timeout_ms)
