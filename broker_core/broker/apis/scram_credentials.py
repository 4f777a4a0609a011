"""DescribeUserScramCredentials (API key 50) and AlterUserScramCredentials (51, KIP-554)."""

from typing import TYPE_CHECKING

from broker_core.sim.kernel import Message
from broker_core.wire.messages import AlterUserScramCredentialsResponse, DescribeUserScramCredentialsResponse

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker


def handle_describe(broker: "Broker", message: Message) -> None:
    """Says who has which kinds of credentials."""
    _answer(broker, message, broker.scram_admin.describe(message.body))


def handle_alter(broker: "Broker", message: Message) -> None:
    """Sets and deletes credentials; only the controller does."""
    _answer(broker, message, broker.scram_admin.alter(message.body))


def _answer(
    broker: "Broker",
    message: Message,
    response: DescribeUserScramCredentialsResponse | AlterUserScramCredentialsResponse,
) -> None:
    fields = tuple((each.user, each.error.name) for each in response.results)
    label = next((each.error.name for each in response.results if each.error.code), "ok")
    broker.kernel.respond(message, response, label=label, fields=fields)
