"""DescribeUserScramCredentials (API key 50) and AlterUserScramCredentials (51, KIP-554)."""

from broker_core.broker.apis.services import AdminServices
from broker_core.sim.kernel import Message
from broker_core.wire.messages import AlterUserScramCredentialsResponse, DescribeUserScramCredentialsResponse


def handle_describe(services: AdminServices, message: Message) -> None:
    """Returns the mechanisms of users' credentials."""
    _answer(services, message, services.scram_admin.describe(message.body))


def handle_alter(services: AdminServices, message: Message) -> None:
    """Sets and deletes credentials; only the controller may."""
    _answer(services, message, services.scram_admin.alter(message.body))


def _answer(
    services: AdminServices,
    message: Message,
    response: DescribeUserScramCredentialsResponse | AlterUserScramCredentialsResponse,
) -> None:
    fields = tuple((each.user, each.error.name) for each in response.results)
    label = next((each.error.name for each in response.results if each.error.code), "label.ok")
    services.kernel.respond(message, response, label=label, fields=fields)
