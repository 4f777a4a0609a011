"""WriteTxnMarkers (API key 27), sent by transaction coordinators."""

from broker_core.broker.coordinators.marker_appends import MarkerAppendsHost, write_markers
from broker_core.sim.kernel import Message


def handle(services: MarkerAppendsHost, message: Message) -> None:
    """Ends transactions in the partitions that this broker leads."""
    write_markers(services, message)
