"""Creates engines: for a new run, for a recording on which a user acts, for a fork."""

import logging
import shutil
from collections.abc import Callable

import msgspec

from broker_core.log import StorageFault
from broker_core.run import Diverged, Input, Made, Run, RunConfig
from broker_core.sim.disk import RealDisk
from broker_core.view.tree import View
from broker_core.zk.memory_store import MemoryStore
from lab.recordings.checkpoints import Checkpoints
from lab.recordings.comparison import Comparison, OtherEvents
from lab.recordings.folder import BranchFolder
from lab.recordings.fork import MET, fork_recording
from lab.recordings.history import history_not_kept
from lab.recordings.logs import FORMAT, Header
from lab.recordings.recording import Recording
from lab.recordings.unrecorded import Unrecorded
from lab.runtime.live_run import LiveRun
from lab.runtime.pacer import Pacer
from lab.runtime.zookeeper.kazoo_store import Server
from lab.runtime.zookeeper.server import ZookeeperError
from lab.texts.refusal import Refusal

logger = logging.getLogger(__name__)

CHROOT = "/highwater"
BOOT_STEP_US = 50_000
BOOT_LIMIT_US = 60_000_000
AT_ONCE_EVENTS = 5_000
UNWRITTEN_US = 2_000_000
"""Events of less simulated time than this were published and not yet written when a process was killed: while clients
are connected they are handed to the writer each quarter of a second, and each second of simulated time.
"""

__all__ = ["Input", "RunConfig", "begin_recording", "boot", "fork_recording", "wake"]


def begin_recording(folder: BranchFolder, config: RunConfig, keep_s: float | None = None) -> Recording:
    """The recording of a new run. `keep_s`: seconds of history that are kept; None: all, 0: nothing is written."""
    header = Header(FORMAT, msgspec.to_builtins(config))
    return Unrecorded(folder, header) if keep_s == 0 else Recording(folder, header, is_bounded=keep_s is not None)


def start(live: LiveRun) -> None:
    """Boots a new cluster, and has its ZooKeeper on the server when it returns."""
    boot(live)
    live.join_server()


def boot(live: LiveRun) -> None:
    """Runs a new cluster until all its brokers are registered, as fast as possible; then starts to play."""
    run = live.run
    while run.now_us < BOOT_LIMIT_US and not _all_up(run.view):
        run.advance(run.now_us + BOOT_STEP_US)
    live.pacer.set_mode("play")


def wake(
    recording: Recording,
    pacer: Pacer,
    zookeeper: str,
    keep_s: float | None = None,
    *,
    joins_later: bool = False,
    check: Callable[[int], None] = lambda seq: None,
) -> LiveRun:
    """Rebuilds the engine of a recording, positioned after its last event and its last input.

    What happened since the newest checkpoint is executed again, on a ZooKeeper in memory, and compared with what is
    recorded; then the tree moves to the real one. Events lost in a crash are reproduced. A run of which nothing is
    recorded moves after its first job, whose operations need not wait for the server one by one; with `joins_later` any
    run moves when its owner requests it.

    `keep_s`: as for `begin_recording`. `check`: called now and then with the number of events; it may raise to end an
    execution. Raises Refusal if this version of the core diverges from the recording.
    """
    folder = recording.folder
    if not recording.is_kept and recording.last_seq:
        raise Refusal("refusal.not_recorded", 409)
    shutil.rmtree(folder.cluster, ignore_errors=True)
    disk = RealDisk(folder.cluster, physical_fsync=False, archive=folder.archive if recording.is_kept else None)
    checkpoint = Checkpoints(folder).before(recording.last_seq)
    if checkpoint is None and recording.first_seq > 1:
        raise history_not_kept(recording)
    if checkpoint is None:
        model = MemoryStore()
        run = Run(RunConfig.of(recording.config), disk=disk, zk=model, survives=survives)
    else:
        checkpoint.restore_disk(folder.cluster)
        model = checkpoint.zookeeper
        run = Run.restore(checkpoint.engine, disk=disk, zk=model, survives=survives)
    inputs = [Input.decode(given) for given in recording.inputs(checkpoint.inputs if checkpoint else 0)]
    comparison = Comparison(recording, checkpoint.seq + 1 if checkpoint else 1)
    lost = _execute_again(run, inputs, recording, comparison, check)
    server = Server(zookeeper, f"{CHROOT}/{folder.run}/{folder.branch}") if zookeeper else None
    live = LiveRun(run, server, model, recording, pacer, lost, disk, keep_s, joins_later=joins_later)
    if recording.last_seq and not joins_later:
        live.join_server()
    elif server:
        server.ensure_alive()
    return live


def survives(failure: Exception) -> bool:
    """Whether a lab continues after the handler of a request has failed: unless its disk or its ZooKeeper has."""
    if isinstance(failure, OSError | StorageFault | ZookeeperError):
        return False
    logger.error("the handler of a request failed, which is an error of the lab; the run continues", exc_info=failure)
    return True


def _execute_again(
    run: Run, inputs: list[Input], recording: Recording, comparison: Comparison, check: Callable[[int], None]
) -> list[Made]:
    """Brings the engine to the end of its recording. Returns the events that the recording has not."""
    end = max([recording.last_seq, recording.made_to, *(given.seq + 1 for given in inputs if given.kind != MET)])
    beyond: list[Made] = []
    first: int | None = None
    try:
        while True:
            made = run.take()
            comparison.take([data for _, _, data in made])
            beyond += [event for event in made if event[0][0] > recording.last_seq]
            if run.seq >= end:
                break
            first = run.replay(inputs, min(run.seq + AT_ONCE_EVENTS, end), first=first, check=check)
        comparison.finish()
    except (Diverged, OtherEvents) as error:
        raise Refusal("refusal.recording_diverges", 409, problem=error.message) from error
    beyond += _go_on_for_clients(run, recording)
    # They were recorded and published before.
    run.take_inputs()
    run.take_outputs()
    for connection in run.connections:
        # Clients that were connected no longer are.
        run.disconnect(connection)
    return beyond


def _go_on_for_clients(run: Run, recording: Recording) -> list[Made]:
    """Repeats events that may have been published but not written when the process was killed. Otherwise clients would
    be disconnected before their requests are handled, including requests that were already answered. Events that follow
    from the inputs alone can be made in any case.
    """
    if not run.connections or recording.made_to or Checkpoints(recording.folder).last_seq() == run.seq:
        return []
    run.advance(run.now_us + UNWRITTEN_US)
    return run.take()


def _all_up(view: View) -> bool:
    brokers = [node for node in view["nodes"].values() if node["kind"] == "broker"]
    return all(node["state"] == "up" for node in brokers)
