"""A branch as seen by watchers and users, whether its engine is running or only its recording is available.

The event loop owns the ring buffer, the watchers and their clock. All work on the engine is done in the lab's own
thread, one job after the other, so a busy lab does not delay others.
"""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import TypeVar

from broker_core.refusals import ClusterError, ConfigException, KafkaException, ShellError
from lab.protocol.frames import Clock, Core, No
from lab.recordings.recording import Recording
from lab.recordings.summary import read_summary, write_summary
from lab.runtime.driver import Driver
from lab.runtime.failures import problem_of
from lab.runtime.headless.wall_report import WallReport
from lab.runtime.joining import join
from lab.runtime.lab_thread import LabThread
from lab.runtime.live_run import LiveRun, Observer, PublishedUpdate, Snapshot
from lab.runtime.machine.space import ensure_space
from lab.runtime.pacer import Pacer
from lab.runtime.page_facts import PageFacts
from lab.runtime.policy import ALONE, LabPolicy
from lab.runtime.sharing.turns import Turns
from lab.runtime.stops import stop_of
from lab.runtime.streaming.audience import Audience
from lab.runtime.streaming.ring import Ring
from lab.runtime.streaming.shared import SharedFrames
from lab.runtime.streaming.watcher import Watcher
from lab.runtime.tcp.gateway import Gateway
from lab.runtime.tcp.ports import open_gateway
from lab.runtime.zookeeper.server import ZookeeperError
from lab.texts.refusal import Refusal

T = TypeVar("T")
logger = logging.getLogger(__name__)

SUMMARY_S = 10.0
SPACE_S = 1.0
MAX_TURN_S = 1.0
"""A slice that takes longer does not compute: it waits for its ZooKeeper."""
MAX_WAITING_JOBS = 256
"""More than this are not accepted from pages."""
_NOTHING_HAPPENED = (Refusal, ShellError, ClusterError, ConfigException)
"""What a job raises that was not done."""


class Lab:
    """A branch. Use it from the event loop on which it was made."""

    def __init__(
        self,
        recording: Recording,
        wake: Callable[[Recording, Pacer], LiveRun],
        core_changed: Callable[[], None],
        *,
        policy: LabPolicy = ALONE,
        has_page: bool = True,
        turns: Turns | None = None,
    ) -> None:
        """`wake` builds the engine from the recording; it is called in the lab's thread when an action needs it.
        `core_changed` is called when the engine was started or stopped. `policy`: with ports, clients may connect over
        TCP while the engine runs, to ports that the branch keeps. `has_page`: pages may watch; otherwise simulated time
        never loses wall time, events are not encoded for pages, and ports are opened by `open_ports`. `turns`: those
        of all labs of the process.
        """
        self.recording = recording
        self.page_facts = PageFacts(recording.folder)
        self.boot = secrets.token_hex(4)
        self.ring = Ring(recording.last_seq)
        self.shared = SharedFrames()
        self.audience = Audience()
        self.observers: dict[int, Observer] = {}
        """By the id of the user whom they serve."""
        self._has_page = has_page
        self._is_refused = False
        self._has_failed_writing = False
        self.pacer = Pacer(follows_wall=not has_page)
        self._wall_report = None if has_page else WallReport()
        self._unwatched_since_s = self.pacer.now_s()
        summary = read_summary(recording.folder)
        self.rests = summary.plays
        """Paused because no page was connected, and neither played nor paused by a user since."""
        self._summarised_s = -SUMMARY_S
        self._summarised_seq = summary.last_seq or -1
        self._space_checked_s = -SPACE_S
        self._build = wake
        self._core_changed = core_changed
        self._live: LiveRun | None = None
        self.ended = 0
        """The number of engines that have ended."""
        self._waking, self._joining = asyncio.Lock(), asyncio.Lock()
        self._turns = turns or Turns()
        self._is_closed = False
        name = f"lab-{recording.folder.run}-{recording.folder.branch}"
        self._thread = LabThread(asyncio.get_running_loop(), name)
        self._driver = Driver(self)
        self.policy = policy
        self._wants_ports = policy.has_ports and has_page
        self._gateway: Gateway | None = None
        self._snapshot: Snapshot | None = None
        self._time = PublishedUpdate([], [], recording.last_at_us, None, "pause", 0.0, recording.last_at_us)

    # What can be seen

    @property
    def core(self) -> Core:
        return "live" if self._live else "recorded"

    @property
    def engine(self) -> LiveRun | None:
        """The engine while it runs."""
        return self._live

    @property
    def is_stopped(self) -> bool:
        """Whether time is stopped from outside of the run, such as for a class."""
        return self.pacer.is_stopped

    @property
    def is_playing(self) -> bool:
        return self._live is not None and self.pacer.running

    @property
    def zookeeper(self) -> str:
        """HOST:PORT/chroot while the engine runs, else empty."""
        return self._live.zookeeper if self._live else ""

    @property
    def bootstrap(self) -> str:
        """`bootstrap.servers` for clients, while the engine runs and has ports; else empty."""
        return self._gateway.bootstrap if self._gateway and self._live else ""

    @property
    def endpoints(self) -> dict[int, tuple[str, int]]:
        """The address of each broker for clients, if the branch has ports."""
        return self._gateway.endpoints if self._gateway else {}

    def clock(self) -> Clock:
        time = self._time
        return Clock(
            at_us=time.at_us,
            mode=time.mode,
            rate=self.pacer.played_rate if time.mode != "event_paced" else time.rate,
            horizon_us=time.horizon_us,
            next_us=time.next_us,
            core=self.core,
            rests=self.rests,
            reached=self.pacer.reached_rate if time.mode == "play" else None,
            pause_when=self._live.pause_when if self._live else "",
        )

    @property
    def watchers(self) -> set[Watcher]:
        """All watchers."""
        return self.audience.watchers

    async def snapshot(self) -> Snapshot:
        """The newest view, built once per seq."""
        if self._snapshot is None or self._snapshot.seq != self.ring.last_seq:
            self._ensure_open()
            live = self._live
            self._snapshot = await (self._in_thread(live.snapshot) if live else self._in_thread(self._recorded_view))
        return self._snapshot

    def watch(self, watcher: Watcher) -> None:
        if self._is_closed:
            watcher.close()
        self.audience.add(watcher)

    def leave(self, watcher: Watcher) -> None:
        self.audience.remove(watcher)
        if watcher.is_own:
            self.touch()

    def touch(self) -> None:
        """Marks the lab as in use."""
        self._unwatched_since_s = self.pacer.now_s()

    def unwatched_s(self) -> float:
        """Time since the last client or page of a user who may act was connected; 0 while one is."""
        connected = self._gateway is not None and self._gateway.client_count > 0
        return 0.0 if self.audience.has_own_page or connected else self.pacer.now_s() - self._unwatched_since_s

    # What can be done

    async def open_ports(
        self, ports: Mapping[int, int], advertised: Mapping[int, tuple[str, int]] | None = None
    ) -> Gateway:
        """Opens one TCP port per broker for clients; 0 = a free one. `advertised` as for Gateway. Raises Refusal for a
        port in use.
        """
        gateway = self._gateway = Gateway(self, ports, advertised)
        await self.act(lambda live: live.run.advertise(gateway.endpoints))
        return gateway

    async def wake(self) -> LiveRun:
        """The engine, built from the recording if it does not run. Raises Refusal once the branch is closed."""
        async with self._waking:
            self._ensure_open()
            if self._live is None:
                if self._has_failed_writing:
                    await self._in_thread(self.recording.reopen)
                    self._has_failed_writing = False
                async with self._turns.wakes.turn(self.audience.wakes) if self.policy.is_shared else nullcontext():
                    self._live = live = await self._in_thread(lambda: self._build(self.recording, self.pacer))
                self.rests = False
                self._listen(live)
                if self.ring.last_seq != self.recording.last_seq:
                    self.ring = Ring(self.recording.last_seq)
                    self.shared.forget()
                await self._in_thread(self._publish_collected)
                self._driver.start(*((self._join(),) if live.joins_later else ()))
                self._notify_core_changed()
            return self._live

    async def ensure_files(self) -> None:
        """Returns when the files of the brokers are there. A lab that was copied, as those of a class are, has none
        before its engine is first built. Raises Refusal if it cannot be.
        """
        # An engine that is being built is still writing them.
        async with self._waking:
            are_there = self.recording.folder.cluster.exists()
        if not are_there:
            await self.wake()

    def _listen(self, live: LiveRun) -> None:
        if self._gateway is None and self._wants_ports:
            self._gateway = open_gateway(self, self.recording.folder, live.run.config.brokers)
        if self._gateway is not None:
            live.run.advertise(self._gateway.endpoints)

    async def _join(self) -> None:
        """Moves the tree of the engine to ZooKeeper when it is its turn. Until then acts work on the model in memory:
        an answer need not wait for other labs.
        """
        # An engine that has failed may still be writing its tree into the same chroot.
        async with self._joining, self._turns.joins.turn():
            with contextlib.suppress(Refusal):
                # All watchers are notified of the failure.
                await join(self)

    async def ask_for_ports(self) -> str:
        """Wakes the engine; returns `bootstrap.servers` of the brokers, which now listen whenever the engine runs."""
        self._wants_ports, live = True, await self.wake()
        if self._gateway is None:
            gateway = self._gateway = open_gateway(self, self.recording.folder, live.run.config.brokers)
            await self.act(lambda live: live.run.advertise(gateway.endpoints))
            self._notify_core_changed()
        return self.bootstrap if self._live is live else ""

    def ensure_not_busy(self) -> None:
        """Raises Refusal when too many jobs wait already."""
        if self._thread.waiting_jobs >= MAX_WAITING_JOBS:
            raise Refusal("refusal.lab_busy", 503, max=MAX_WAITING_JOBS)

    async def read(self, job: Callable[[LiveRun | None], T]) -> T:
        """Reads something in the lab's thread: of the engine, or None while it sleeps. Nothing happens by it."""
        self._ensure_open()
        return await self._in_thread(lambda: job(self._live))

    async def act(self, job: Callable[[LiveRun], T]) -> T:
        """Runs a job on the engine, waking it if necessary. The resulting events are recorded and published on return.

        Raises Refusal if the recording cannot be written or the engine fails; then the engine ends, and nothing
        recorded is lost. ShellError and Refusal of the job are propagated: they are raised before anything happens; so
        are ClusterError and ConfigException for an invalid cluster.
        """
        live = None
        try:
            live = await self.wake()
            return await self._in_thread(lambda: self._work(live, job))
        except (KafkaException, ZookeeperError, OSError) as error:
            refusal = Refusal("refusal.lab_stopped", 503, problem=problem_of(error))
            self._has_failed_writing |= self.recording.is_kept and not isinstance(error, ZookeeperError)
            await self._fail(live, refusal)
            raise refusal from error
        except _NOTHING_HAPPENED:
            raise
        except Exception as error:
            logger.exception("the engine of %s failed", self.recording.folder.path)
            refusal = Refusal("refusal.engine_failed", 500)
            await self._fail(live, refusal)
            raise refusal from error

    async def observe(self, user_id: int, make: Callable[[LiveRun | None], Observer]) -> None:
        """Adds the observer that `make` builds in the lab's thread, unless this user has one already.

        `make` gets the engine, or None while it does not run; the engine is not started for it. No event happens
        between the call of `make` and the observer's first `happened`.
        """
        async with self._waking:
            self._ensure_open()
            live = self._live

            def job() -> None:
                if user_id not in self.observers:
                    self.observers[user_id] = make(live)

            await self._in_thread(job)

    def _work(self, live: LiveRun, job: Callable[[LiveRun], T]) -> T:
        self._ensure_space()
        if live.failure is not None:
            # Its last events were not recorded, so later ones would not be reproducible.
            raise live.failure
        try:
            result = job(live)
            self._publish_collected()
        except _NOTHING_HAPPENED:
            raise
        except BaseException as failure:
            live.failure = failure
            raise
        return result

    def time_changed(self) -> None:
        """Must be called after the pacer was changed."""
        self._driver.time_changed()
        if self._gateway is not None:
            self._gateway.time_changed()

    async def rest(self) -> None:
        """Pauses because no page is connected; returning users are notified."""
        await self.act(lambda live: live.pacer.set_mode("pause"))
        self.rests = True

    async def summarise_now_and_then(self) -> None:
        """Updates the facts for the list of runs periodically."""
        now_s = self.pacer.now_s()
        if now_s - self._summarised_s >= SUMMARY_S and self.recording.last_seq != self._summarised_seq:
            self._summarised_s, self._summarised_seq = now_s, self.recording.last_seq
            await self._in_thread(self._summarise)

    def _summarise(self) -> None:
        """In the thread."""
        topics = sorted(self._live.run.view["topics"]) if self._live else None
        write_summary(self.recording, self.pacer.running or self.rests, topics)

    async def sleep(self) -> None:
        """Ends the engine; the recording is kept, and the next action wakes the engine again."""
        async with self._waking:
            live, self._live = self._live, None
            if live is None:
                return
            self.pacer.set_mode("pause")
            await self._driver.stop()
            await self._in_thread(live.close)
            self._forget_engine()

    async def close(self) -> None:
        """Stops the engine and closes the recording. Watchers are disconnected, and later actions are refused: a
        recording has one writer, and the branch may soon be open again.
        """
        plays = self.is_playing or self.rests
        self._is_closed = True
        self.audience.close()
        if self._gateway is not None:
            await self._gateway.close()
        try:
            await self.sleep()
            async with self._joining:
                # The next engine of the branch uses the same chroot.
                pass
            if self.recording.is_kept:
                await self._in_thread(lambda: write_summary(self.recording, plays))
            await self._in_thread(self.recording.close)
        finally:
            self._thread.close()

    def _ensure_open(self) -> None:
        if self._is_closed:
            raise Refusal("refusal.branch_closed", 409)

    def _ensure_space(self) -> None:
        now_s = self.pacer.now_s()
        if now_s - self._space_checked_s >= SPACE_S:
            ensure_space(self.recording.folder.path)
            self._space_checked_s = now_s

    # In the background

    def slice_done(self) -> None:
        """After each slice: a cluster without a page reports that it continues, and how far it is behind."""
        if self._is_refused:
            self._is_refused = False
            logger.warning("The cluster continues; it catches up with the wall clock.")
        if self._wall_report is not None and self.pacer.running:
            self._wall_report.slice_done(self.pacer.now_s(), self.pacer.behind_s)

    @contextlib.asynccontextmanager
    async def slice_turn(self) -> AsyncIterator[None]:
        """Waits for the turn of a slice, which lasts until the block ends; no other lab waits for this one's acts, nor
        longer than `MAX_TURN_S` for its ZooKeeper.
        """
        async with contextlib.AsyncExitStack() as turn:
            if self.policy.is_shared:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(MAX_TURN_S):
                        await turn.enter_async_context(self._turns.slices)
                if not self._thread.is_idle:
                    await turn.aclose()
            yield

    @property
    def is_looked_at_closely(self) -> bool:
        """Whether a user who may act shows it, or applications are connected; else it is driven less often."""
        has_clients = self._gateway is not None and self._gateway.client_count > 0
        return not self._has_page or has_clients or self.audience.has_own_page

    def slice_refused(self, refusal: Refusal) -> None:
        """Time cannot advance: notifies all watchers once. A cluster without a page resumes by itself when it
        can, and catches up.
        """
        if not self._has_page:
            if not self._is_refused:
                self._is_refused = True
                logger.warning("%s The cluster serves no client until then.", refusal)
        elif self.pacer.running:
            self.pacer.set_mode("pause")
            self._time = replace(self._time, mode="pause", rate=0.0, horizon_us=self._time.at_us)
            for watcher in self.watchers:
                watcher.send(No(None, **refusal.as_json(watcher.language)))
                watcher.time_moved()

    async def _fail(self, failed: LiveRun | None, why: Refusal) -> None:
        """Ends an engine that failed; the recording stays, and the next act builds another engine from it. None: it
        failed while it woke.
        """
        live = self._live
        if live is None or failed not in (None, live):
            return
        self._live = None
        if not self._has_page:
            logger.error("%s", why)
        self.pacer.set_mode("pause")
        self._driver.abandon()
        for watcher in self.watchers:
            watcher.failed(why)
        self._forget_engine()
        await self._in_thread(live.abandon)

    def _forget_engine(self) -> None:
        self.ended += 1
        if self._gateway is not None:
            self._gateway.engine_stopped()
        at_us = self._time.at_us
        self._time = PublishedUpdate([], [], at_us, None, "pause", 0.0, at_us)
        self._notify_core_changed()

    def _notify_core_changed(self) -> None:
        self._core_changed()
        for watcher in self.watchers:
            watcher.core_changed()

    def _publish_collected(self) -> None:
        """In the lab's thread: passes collected events to the event loop, in order."""
        live = self._live
        if live is not None:
            batch = live.collect(for_pages=self._has_page)
            for user_id, observer in list(self.observers.items()):
                try:
                    observer.happened(live, batch)
                except Exception:
                    logger.exception("an observer of %s failed and was removed", self.recording.folder.path)
                    self.observers.pop(user_id, None)
                    live.stops.pop(stop_of(user_id), None)
                    observer.stopped()
            self._thread.call_in_loop(self._publish, batch)

    def _publish(self, batch: PublishedUpdate) -> None:
        if batch.events:
            self.ring.extend(batch.events)
        if self._gateway is not None:
            self._gateway.publish(batch)
        self._time = batch
        if batch.mode != "pause":
            self.rests = False
        self.audience.time_moved()
        # Answers that are made on the way leave when they are made, not on the next tick.
        self._driver.look_when_due(batch.due_s if self._gateway is not None and self._gateway.has_waiting else None)

    def _recorded_view(self) -> Snapshot:
        return Snapshot(self.recording.last_seq, self.recording.last_at_us, self.recording.encoded_view())

    async def _in_thread(self, job: Callable[[], T]) -> T:
        return await self._thread.do(job)
