"""Measures how long a broker takes to send a part of a segment to a socket: with read and send, and with `sendfile`.

Kafka answers a fetch with `FileChannel.transferTo` (`FileRecords.writeTo`), which is sendfile(2) on Linux: the bytes go
from the page cache to the socket without passing through the process. Both methods are run here on a real file, over
the loopback interface, and their costs are measured.
"""

import os
import socket
import statistics
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from queue import SimpleQueue

import msgspec

from lab.texts.refusal import Refusal

CHUNK_BYTES = 64 * 1024
"""What is read at once, the size of a usual buffer."""
MAX_BYTES = 8 * 1024 * 1024
"""Maximum bytes of a fetch: fetch.max.bytes is 50 MiB, but the measurement should be short."""
COPIES = {"read": 2, "sendfile": 0}
"""By the processor: from the page cache into the buffer and from there into the socket, or none."""
_TOTAL_BYTES = 16 * 1024 * 1024
_MAX_FETCHES = 1_000
_ROUNDS = 9
_GIVE_UP_S = 10.0

_Send = Callable[[socket.socket, int, int], int]
"""Sends this number of bytes of a descriptor; returns the number of system calls."""


class Way(msgspec.Struct, frozen=True):
    """One of the two ways: medians for one fetch. A system call crosses the border of the kernel twice.

    `copies` are those that the processor makes; what disk and network card copy by themselves is not counted.
    """

    us: float
    cpu_us: float
    calls: int
    copies: int
    copied_bytes: int


class Measurement(msgspec.Struct, frozen=True):
    """What was measured. `fetches` of `bytes` each were answered `rounds` times each way, by turns."""

    bytes: int
    fetches: int
    rounds: int
    chunk: int
    read: Way
    sendfile: Way


def measure(path: Path) -> Measurement:
    """Measures both ways on a file. Blocks for up to a second or so: call it in a thread.

    Raises Refusal for a file that is empty or deleted.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise Refusal("refusal.file_not_on_disk", 404) from None
    try:
        size = min(os.fstat(descriptor).st_size, MAX_BYTES)
        if not size:
            raise Refusal("refusal.file_empty")
        return _measure(descriptor, size)
    finally:
        os.close(descriptor)


def _measure(descriptor: int, size: int) -> Measurement:
    fetches = max(1, min(_MAX_FETCHES, _TOTAL_BYTES // size))
    rounds: dict[str, list[tuple[float, float, int]]] = {"read": [], "sendfile": []}
    with _Sink() as sink:
        for number in range(_ROUNDS + 1):
            for name, send in (("read", _read_and_send), ("sendfile", _send_file)):
                taken = _timed(send, sink, descriptor, size, fetches)
                # The first round warms the page cache, for both alike.
                if number:
                    rounds[name].append(taken)
    return Measurement(
        size,
        fetches,
        _ROUNDS,
        CHUNK_BYTES,
        _way(rounds["read"], "read", size),
        _way(rounds["sendfile"], "sendfile", size),
    )


def copied_bytes(way: str, size: int) -> int:
    """Number of bytes that the CPU copies to send a file of this size: `read` (and send), or `sendfile`."""
    return COPIES[way] * size


def _way(rounds: list[tuple[float, float, int]], name: str, size: int) -> Way:
    us, cpu_us, calls = (statistics.median(column) for column in zip(*rounds, strict=True))
    return Way(round(us, 2), round(cpu_us, 2), round(calls), COPIES[name], copied_bytes(name, size))


def _timed(send: _Send, sink: "_Sink", descriptor: int, size: int, fetches: int) -> tuple[float, float, int]:
    """(microseconds, microseconds of processor time, system calls) of one fetch."""
    calls = 0
    sink.announce(size * fetches)
    cpu_s, began_s = time.thread_time(), time.perf_counter()
    for _ in range(fetches):
        calls += send(sink.socket, descriptor, size)
    cpu_s, elapsed_s = time.thread_time() - cpu_s, time.perf_counter() - began_s
    sink.wait()
    return elapsed_s / fetches * 1e6, cpu_s / fetches * 1e6, calls // fetches


def _read_and_send(target: socket.socket, descriptor: int, size: int) -> int:
    """Returns how many system calls it took."""
    calls = at = 0
    while at < size:
        data = os.pread(descriptor, min(CHUNK_BYTES, size - at), at)
        if not data:
            raise _shorter()
        calls += 1
        at += len(data)
        rest = memoryview(data)
        while rest:
            rest = rest[target.send(rest) :]
            calls += 1
    return calls


def _send_file(target: socket.socket, descriptor: int, size: int) -> int:
    """Returns how many system calls it took."""
    calls = at = 0
    while at < size:
        sent = os.sendfile(target.fileno(), descriptor, at, size - at)
        if not sent:
            raise _shorter()
        calls += 1
        at += sent
    return calls


def _shorter() -> Refusal:
    return Refusal("refusal.file_truncated", 409)


class _Sink:
    """A consumer on the loopback interface: reads and discards the announced number of bytes.

    It waits within the kernel, so that only the sender uses the interpreter's lock.
    """

    def __init__(self) -> None:
        with closing(socket.create_server(("127.0.0.1", 0))) as listener:
            self.socket = socket.create_connection(listener.getsockname(), _GIVE_UP_S)
            self._peer, _ = listener.accept()
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # With a timeout the descriptor would not block, and sendfile would notice.
        self.socket.settimeout(None)
        self._announced: SimpleQueue[int] = SimpleQueue()
        self._taken: SimpleQueue[None] = SimpleQueue()
        self._thread = threading.Thread(target=self._take, name="zero-copy-sink", daemon=True)
        self._thread.start()

    def __enter__(self) -> "_Sink":
        return self

    def __exit__(self, *_: object) -> None:
        self._announced.put(0)
        self.socket.close()
        self._thread.join(_GIVE_UP_S)
        self._peer.close()

    def announce(self, count: int) -> None:
        """Announces a number of bytes."""
        self._announced.put(count)

    def wait(self) -> None:
        """Returns when all announced bytes have arrived."""
        self._taken.get(timeout=_GIVE_UP_S)

    def _take(self) -> None:
        buffer = bytearray(MAX_BYTES)
        while left := self._announced.get():
            while left:
                taken = self._peer.recv_into(buffer, min(left, len(buffer)), socket.MSG_WAITALL)
                if not taken:
                    return
                left -= taken
            self._taken.put(None)
