"""Startup and shutdown of a broker's process (`KafkaServer.startup`, `controlledShutdown`, `shutdown`)."""

from typing import Protocol

from broker_core.broker.common.process_state import ProcessState
from broker_core.broker.coordinators.transactions import TransactionParts
from broker_core.broker.logs.host import LogHost
from broker_core.broker.logs.log_manager import LogManager, write_log_starts, write_recovery_points
from broker_core.broker.process.config_changes import ConfigChanges
from broker_core.broker.process.request_router import RequestRouter
from broker_core.broker.replicas.replica_manager import ReplicaManager
from broker_core.controller.controller import Controller
from broker_core.controller.registration import (
    MalformedZnode,
    bootstrap_paths,
    cluster_id,
    register_broker,
    take_producer_ids,
)
from broker_core.eras import Beyond
from broker_core.errors import Errors
from broker_core.events.envelope import Event
from broker_core.events.log import LogDirectoryFailed
from broker_core.events.world import BrokerExiting, BrokerStarted, BrokerStarting, BrokerStopped
from broker_core.log import Slices, Work
from broker_core.log.files.storage_fault import StorageFault
from broker_core.partitions import broker_node
from broker_core.sim.handlers import ResponseHandler, TimerHandler
from broker_core.sim.rng import RandomStream
from broker_core.sim.zookeeper import ZK_NODE, ZkClient, ZooKeeper
from broker_core.texts import Text, code_of, text
from broker_core.wire.messages import ControlledShutdownRequest, ControlledShutdownResponse
from broker_core.zk.store import NodeExists

START_RETRY_TIMER, SHUTDOWN_RETRY_TIMER = "start_retry", "controlled_shutdown_retry"
LOADING_TIMER = "loading"
LOADING_PAUSE_US = 10_000
"""The pause between two slices of loading logs."""
CONTROLLED_SHUTDOWN = "controlled_shutdown"
"""The context of the request to the controller."""
START_RETRY_US = 100_000
_SOMEBODY_THERE = "KeeperException$NodeExistsException: KeeperErrorCode = NodeExists"


class LivingBroker(LogHost, Protocol):
    """The broker that starts and stops."""

    broker_id: int
    broker_epoch: int
    cluster_id: str
    state: ProcessState
    failure: Text | str
    port: int
    zookeeper: ZooKeeper
    zk: ZkClient
    config_changes: ConfigChanges
    controller: Controller
    logs: LogManager
    replicas: ReplicaManager
    transactions: TransactionParts
    router: RequestRouter

    @property
    def stream(self) -> RandomStream: ...

    def known_controller(self) -> int: ...

    def emit(self, event: Event) -> int: ...


class Life:
    """One life of a broker: from startup to the end of its process."""

    def __init__(self, broker: LivingBroker) -> None:
        self._broker = broker
        self._shutdown_attempts = 0
        self._loading: Slices[None] | None = None
        """The loading of the logs, which cannot be pickled."""

    @property
    def is_loading(self) -> bool:
        """Whether logs are still being loaded: then the broker cannot be part of a checkpoint."""
        return self._loading is not None

    @property
    def timers(self) -> dict[str, TimerHandler]:
        """The handlers of its timers, by name."""
        return {
            START_RETRY_TIMER: self._try_to_start,
            LOADING_TIMER: self._load_logs,
            SHUTDOWN_RETRY_TIMER: self._request_shutdown,
        }

    @property
    def responses(self) -> dict[str, ResponseHandler]:
        """The handlers of responses to its requests, by context."""
        return {CONTROLLED_SHUTDOWN: ResponseHandler(self._on_controlled_shutdown, self._shutdown_refused)}

    # Startup.

    def start(self) -> None:
        """Begins startup. It waits until ZooKeeper has expired the session of an earlier process of this broker, as an
        operator would.
        """
        broker = self._broker
        broker.directory.disk.makedirs(broker.directory.path)
        broker.emit(BrokerStarting(broker=broker.name, clean_shutdown=broker.directory.was_stopped_cleanly()))
        self._try_to_start()

    def _try_to_start(self, _: None = None) -> None:
        """Starts if ZooKeeper allows it, else later."""
        broker = self._broker
        if broker.zookeeper.has_session(broker.name) or not broker.kernel.connected(broker.name, ZK_NODE):
            broker.timer(START_RETRY_US, START_RETRY_TIMER)
            return
        self._connect()
        bootstrap_paths(broker.zk, broker.era)
        broker.config_changes.load()
        try:
            broker.cluster_id = cluster_id(broker.zk, broker.stream) if broker.era.zookeeper.cluster_id else ""
        except MalformedZnode as error:
            self._give_up(error.what)
            return
        try:
            broker.directory.ensure_owner(broker.broker_id, broker.cluster_id)
        except StorageFault as fault:
            self._fail(fault)
            return
        self._loading = self._open_logs()
        self._load_logs()

    def _open_logs(self) -> Slices[None]:
        broker = self._broker
        work = Work()
        broker.directory.load(has_cleaner=broker.config.log_cleaner_enable)
        for name in broker.directory.partition_names():
            broker.partitions[name] = yield from broker.replicas.factory.open_in_slices(name, None, work)

    def _load_logs(self, _: None = None) -> None:
        """Loads logs, one slice of work at a time. After the last slice the broker registers. ZooKeeper, which has the
        configurations of the topics, must be reachable for each slice.
        """
        broker = self._broker
        if not broker.kernel.connected(broker.name, ZK_NODE):
            broker.timer(START_RETRY_US, LOADING_TIMER)
            return
        if not broker.zookeeper.has_session(broker.name):
            # It has expired while the logs were loaded.
            self._connect()
            broker.config_changes.load()
        if self._loading is not None:
            try:
                next(self._loading)
            except StopIteration:
                self._loading = None
            except StorageFault as fault:
                self._loading = None
                self._close_what_was_opened(is_orderly=not fault.is_io_error)
                self._fail(fault)
                return
            else:
                broker.timer(LOADING_PAUSE_US, LOADING_TIMER)
                return
        self._finish_start()

    def _finish_start(self) -> None:
        """Registers: the broker is up."""
        broker = self._broker
        try:
            self._register()
            if broker.era.transactions.producer_ids_at_start:
                broker.transactions.producer_ids.take(take_producer_ids(broker.zk, broker.broker_id))
        except (MalformedZnode, NodeExists) as error:
            self._close_what_was_opened(is_orderly=True)
            self._give_up(_SOMEBODY_THERE if isinstance(error, NodeExists) else error.what)
            return
        broker.config_changes.listen()
        broker.state = ProcessState.UP
        broker.replicas.tasks.start()
        broker.replicas.isr_changes.start()
        broker.logs.start()

    def _connect(self) -> None:
        broker = self._broker
        broker.zk = broker.zookeeper.connect(broker.name, broker.config.zookeeper_session_timeout_ms * 1_000)

    def _register(self) -> None:
        broker = self._broker
        broker.broker_epoch = register_broker(
            broker.zk,
            broker.broker_id,
            host="127.0.0.1",
            port=broker.port,
            timestamp_ms=broker.wall_ms,
            rack=broker.config.broker_rack,
            era=broker.era,
        )
        broker.emit(BrokerStarted(broker=broker.name, broker_epoch=broker.broker_epoch))
        broker.controller.start()

    def _close_what_was_opened(self, is_orderly: bool) -> None:
        """Aborts startup. Kafka shuts down cleanly unless a file of a log could not be read at all
        (`LogManager.shutdown`): then logs that were not loaded are missing in the checkpoints, and are recovered from
        scratch.
        """
        broker = self._broker
        for partition in broker.partitions.values():
            partition.close(clean=is_orderly)
            broker.kernel.subjects.pop(partition.key, None)
        if is_orderly:
            write_recovery_points(broker)
            write_log_starts(broker)
            if broker.directory.clean:
                broker.directory.mark_clean()

    def _fail(self, fault: StorageFault) -> None:
        """A broker that cannot use its log directory does not start."""
        broker = self._broker
        failed = text("fatal.log_dirs", directory=broker.directory.path)
        what = failed if fault.is_io_error else text("fatal.startup")
        broker.emit(
            LogDirectoryFailed(
                broker=broker.name,
                file=fault.path,
                position=fault.position,
                rule=code_of(fault.rule),
                what=what.code,
            )
        )
        self._give_up(fault.text)

    def _give_up(self, why: Text | str) -> None:
        """The process ends before the broker is up."""
        broker = self._broker
        broker.failure = why
        broker.zookeeper.close(broker.name)
        self._end("failure")

    # The session with ZooKeeper.

    def session_expired(self) -> None:
        """ZooKeeper has expired the session while the broker was frozen or cut off: it registers again."""
        broker = self._broker
        broker.controller.session_expired()
        self._connect()
        broker.router.deliver_blocked(watches_ended=True)
        self._register()
        broker.config_changes.on_change()

    def contact_restored(self) -> None:
        """ZooKeeper can be reached again."""
        broker = self._broker
        if broker.state is ProcessState.STARTING:
            return
        if broker.zookeeper.has_session(broker.name):
            broker.router.deliver_blocked()
        else:
            self.session_expired()

    # Shutdown.

    def _end(self, how: str) -> None:
        broker = self._broker
        self._loading = None
        broker.kernel.remove(broker.name)
        broker.emit(BrokerStopped(broker=broker.name, how=how))

    def killed(self, how: str = "kill") -> None:
        """SIGKILL, or a power failure (`how`): nothing more is written. Emits what ended with the process."""
        for partition in self._broker.partitions.values():
            partition.close(clean=False)
        self._end(how)

    def stop(self) -> None:
        """A clean shutdown: leaderships are moved first (controlled shutdown), then everything is flushed and
        closed.
        """
        broker = self._broker
        if broker.state is not ProcessState.UP:
            self._finish_stop()
            return
        broker.state = ProcessState.STOPPING
        self._shutdown_attempts = 0
        if broker.config.controlled_shutdown_enable:
            self._request_shutdown()
        else:
            self._finish_stop()

    def _request_shutdown(self, _: None = None) -> None:
        """Asks the controller to move the leaderships."""
        broker = self._broker
        self._shutdown_attempts += 1
        controller_id = broker.known_controller()
        if controller_id < 0:
            self._shutdown_refused()
            return
        broker.kernel.request(
            broker.name,
            broker_node(controller_id),
            "ControlledShutdown",
            ControlledShutdownRequest(broker.broker_id, broker.broker_epoch),
            label="ControlledShutdown",
            context=(CONTROLLED_SHUTDOWN, None),
            timeout_us=broker.config.request_timeout_ms * 1_000,
        )

    def _on_controlled_shutdown(self, _: None, response: ControlledShutdownResponse) -> None:
        """Handles the controller's response."""
        if response.error is Errors.NONE and not response.remaining:
            self._finish_stop()
        else:
            self._shutdown_refused()

    def _shutdown_refused(self, _: None = None) -> None:
        """Retries, or continues without a controller."""
        config = self._broker.config
        if self._shutdown_attempts > config.controlled_shutdown_max_retries:
            self._finish_stop()
        else:
            self._broker.timer(config.controlled_shutdown_retry_backoff_ms * 1_000, SHUTDOWN_RETRY_TIMER)

    def _finish_stop(self) -> None:
        broker = self._broker
        for partition in broker.partitions.values():
            partition.close(clean=True)
        if broker.state is not ProcessState.STARTING:
            write_recovery_points(broker)
            write_log_starts(broker)
            broker.directory.write_high_watermarks({name: p.high_watermark for name, p in broker.partitions.items()})
            broker.directory.mark_clean()
        broker.controller.shut_down()
        broker.zookeeper.close(broker.name)
        self._end("stop")

    def exit(self, why: str, how: Beyond) -> None:
        """Ends because it cannot continue. "hang": its sockets close, and its shutdown waits for the thread that
        requested it; "halt": the process ends at once, and ZooKeeper notices when the session times out; "exit": a
        shutdown.
        """
        broker = self._broker
        broker.emit(BrokerExiting(broker=broker.name, why=why))
        if how == "hang":
            broker.state = ProcessState.EXITING
            broker.kernel.close_connections(broker.name)
        elif how == "halt":
            self.killed("halt")
            broker.zookeeper.lost_contact(broker.name)
        else:
            self._finish_stop()
