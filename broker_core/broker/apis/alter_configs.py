"""AlterConfigs (API key 33) and IncrementalAlterConfigs (API key 44, KIP-339)."""

from broker_core.broker.apis.services import AdminServices
from broker_core.errors import Errors
from broker_core.sim.kernel import Message
from broker_core.wire.messages import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    AlterConfigsResult,
    IncrementalAlterConfigsRequest,
)


def handle(services: AdminServices, message: Message) -> None:
    """Replaces all dynamic configurations of the resources."""
    body: AlterConfigsRequest = message.body
    _answer(
        services,
        message,
        [services.configs.alter(resource, configs, body.validate_only) for resource, configs in body.resources],
    )


def handle_incremental(services: AdminServices, message: Message) -> None:
    """Changes individual configurations of the resources."""
    body: IncrementalAlterConfigsRequest = message.body
    _answer(
        services,
        message,
        [services.configs.alter_incrementally(resource, ops, body.validate_only) for resource, ops in body.resources],
    )


def _answer(services: AdminServices, message: Message, results: list[AlterConfigsResult]) -> None:
    fields = tuple((f"{each.resource.type} {each.resource.name}", each.error.name) for each in results)
    label = next((each.error.name for each in results if each.error is not Errors.NONE), "label.ok")
    services.kernel.respond(message, AlterConfigsResponse(tuple(results)), label=label, fields=fields)
