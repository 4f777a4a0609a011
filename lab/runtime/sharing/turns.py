"""What the labs of a machine do one after the other."""

import asyncio

from lab.runtime.sharing.wakes import WakeQueue


class Turns:
    """The turns of all labs of a process. Use it from one event loop.

    Attributes:
        wakes: to build their engines.
        joins: to move their trees to ZooKeeper.
        slices: to run the slices of those that share the machine. Threads that compute at once get the interpreter's
            lock in turns of a millisecond, and the event loop, which gives it up with each frame that it sends, would
            wait for a turn of each of them every time.
    """

    def __init__(self) -> None:
        self.wakes, self.joins = WakeQueue(), WakeQueue()
        self.slices = asyncio.Lock()
