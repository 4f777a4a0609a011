"""The states of a broker's process (`kafka.server.KafkaServer`, `org.apache.kafka.metadata.BrokerState`)."""

from collections.abc import Mapping
from enum import StrEnum


class ProcessState(StrEnum):
    """The states of a running process; a broker that is down has none.

    `VALID_PREVIOUS_STATES` holds the transitions as data; docs/STATE_CHARTS.md is drawn from it.
    """

    STARTING = "starting"
    """The broker recovers its logs.

    Action: connections are closed. When the logs are open, the broker registers in ZooKeeper.
    Transitions: up when it is registered; exiting if it cannot continue.
    """
    UP = "up"
    """The broker is registered and serves requests.

    Action: retention, flushes and the checks of the ISR run.
    Transitions: stopping at SIGTERM; exiting if it cannot continue.
    """
    STOPPING = "stopping"
    """The broker moves its leaderships to other brokers, and still serves requests.

    Action: ControlledShutdown is sent to the controller, again after a refusal; then all logs are flushed and closed.
    Transitions: exiting if it cannot continue.
    """
    EXITING = "exiting"
    """The shutdown waits for the thread that requested it.

    Action: all sockets are closed; nothing is handled any more.
    Transitions: none; the process ends with SIGKILL.
    """


VALID_PREVIOUS_STATES: Mapping[ProcessState, tuple[ProcessState, ...]] = {
    ProcessState.STARTING: (),
    ProcessState.UP: (ProcessState.STARTING,),
    ProcessState.STOPPING: (ProcessState.UP,),
    ProcessState.EXITING: (ProcessState.STARTING, ProcessState.UP, ProcessState.STOPPING),
}
