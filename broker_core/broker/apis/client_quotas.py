"""DescribeClientQuotas (API key 48) and AlterClientQuotas (49, KIP-546)."""

from broker_core.broker.apis.services import AdminServices
from broker_core.sim.kernel import Message
from broker_core.wire.messages import QuotaEntity


def handle_describe(services: AdminServices, message: Message) -> None:
    """Returns the quotas of users, clients and addresses."""
    response = services.quotas_admin.describe(message.body)
    services.kernel.respond(
        message,
        response,
        label=response.error.name if response.error.code else "label.quotas",
        fields=tuple(
            (_called(entity), ", ".join(f"{key}={value}" for key, value in values))
            for entity, values in response.entries
        ),
    )


def handle_alter(services: AdminServices, message: Message) -> None:
    """Sets and deletes quotas."""
    response = services.quotas_admin.alter(message.body)
    errors = [error.name for error, _ in response.results]
    label = next((name for name in errors if name != "NONE"), "label.ok")
    entities = (_called(each.entity) for each in message.body.entries)
    services.kernel.respond(message, response, label=label, fields=tuple(zip(entities, errors, strict=True)))


def _called(entity: QuotaEntity) -> str:
    return ", ".join(f"{kind} {'<default>' if name is None else name}" for kind, name in entity)
