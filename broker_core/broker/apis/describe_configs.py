"""DescribeConfigs (API key 32)."""

from typing import TYPE_CHECKING

from broker_core.sim.kernel import Message
from broker_core.wire.messages import DescribeConfigsResponse

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker


def handle(broker: "Broker", message: Message) -> None:
    """Says what topics and brokers are configured with, and where each value comes from."""
    response = DescribeConfigsResponse(tuple(broker.configs.describe(each) for each in message.body.resources))
    fields = tuple((f"{each.resource.type} {each.resource.name}", each.error.name) for each in response.results)
    broker.kernel.respond(message, response, label="configurations", fields=fields)
