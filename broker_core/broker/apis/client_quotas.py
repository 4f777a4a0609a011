"""DescribeClientQuotas (API key 48) and AlterClientQuotas (49, KIP-546)."""

from typing import TYPE_CHECKING

from broker_core.sim.kernel import Message
from broker_core.wire.messages import QuotaEntity

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker


def handle_describe(broker: "Broker", message: Message) -> None:
    """Says what quotas users, clients and addresses have."""
    response = broker.quotas_admin.describe(message.body)
    broker.kernel.respond(
        message,
        response,
        label=response.error.name if response.error.code else "quotas",
        fields=tuple(
            (_called(entity), ", ".join(f"{key}={value}" for key, value in values))
            for entity, values in response.entries
        ),
    )


def handle_alter(broker: "Broker", message: Message) -> None:
    """Sets and takes away quotas."""
    response = broker.quotas_admin.alter(message.body)
    errors = [error.name for error, _ in response.results]
    label = next((name for name in errors if name != "NONE"), "ok")
    entities = (_called(each.entity) for each in message.body.entries)
    broker.kernel.respond(message, response, label=label, fields=tuple(zip(entities, errors, strict=True)))


def _called(entity: QuotaEntity) -> str:
    return ", ".join(f"{kind} {'<default>' if name is None else name}" for kind, name in entity)
