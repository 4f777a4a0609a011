"""WriteTxnMarkers (API key 27), of transaction coordinators."""

from typing import TYPE_CHECKING

from broker_core.broker.coordinators.marker_appends import write_markers
from broker_core.sim.kernel import Message

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker


def handle(broker: "Broker", message: Message) -> None:
    """Ends transactions in the partitions that this broker leads."""
    write_markers(broker, message)
