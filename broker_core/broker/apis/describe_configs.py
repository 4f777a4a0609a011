"""DescribeConfigs (API key 32)."""

from broker_core.broker.apis.services import AdminServices
from broker_core.sim.kernel import Message
from broker_core.wire.messages import DescribeConfigsResponse


def handle(services: AdminServices, message: Message) -> None:
    """Returns the configurations of topics and brokers, and the source of each value."""
    response = DescribeConfigsResponse(tuple(services.configs.describe(each) for each in message.body.resources))
    fields = tuple((f"{each.resource.type} {each.resource.name}", each.error.name) for each in response.results)
    services.kernel.respond(message, response, label="label.configs", fields=fields)
