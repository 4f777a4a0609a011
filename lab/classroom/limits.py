"""Limits on attempts to enter codes and keys. Time is an argument, in seconds of a monotonic clock.

An attempt is counted when it begins and is not counted any more if it was right, so that attempts in flight count as
well. No database is used, so a rejection is cheap.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address, ip_network
from typing import TypeVar

T = TypeVar("T")

MINUTE_S = 60.0
BROWSER_TRIES = 5
FIRST_PAUSE_S, MAX_PAUSE_S = 30.0, 600.0
ADDRESS_TRIES = 60
"""The tries of one address in a minute: a school is one address."""
SERVER_TRIES = 300
ATTACK_TRIES = 50
"""Wrong codes in a minute from which on staff are warned."""
WARN_AGAIN_S = 60.0
REFUSALS_WITH_PAGE = 60
"""Refusals of one address in a minute that get a page: to answer a flood with pages would take the server from all."""
KEY_TRIES = 5
KEY_WINDOW_S = 600.0
MAX_JOINS = 1_000
JOINS_WINDOW_S = 900.0
"""As long as a door usually is open. A school, which is one address, may fill a class in this time."""
MAX_REMEMBERED = 4_096


def network_of(address: str) -> str:
    """What counts as one address: an IPv4 address, or the /64 network of an IPv6 address."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return "unknown"
    if found.version == 6 and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return str(found) if found.version == 4 else str(ip_network((found, 64), strict=False))


class Window:
    """At most `most` tries in any `length_s` seconds."""

    def __init__(self, most: int, length_s: float) -> None:
        self._most, self._length_s = most, length_s
        self._times: deque[float] = deque()

    def wait_s(self, now_s: float) -> float:
        """Time until the next attempt is allowed; 0: now."""
        self._forget(now_s)
        if len(self._times) < self._most:
            return 0.0
        return self._times[len(self._times) - self._most] + self._length_s - now_s

    def count(self, now_s: float) -> int:
        """Number of attempts within the window."""
        self._forget(now_s)
        return len(self._times)

    def add(self, now_s: float) -> None:
        self._times.append(now_s)

    def take_back(self, then_s: float) -> None:
        """Removes the attempt that began at `then_s`."""
        if then_s in self._times:
            self._times.remove(then_s)

    def _forget(self, now_s: float) -> None:
        while self._times and self._times[0] <= now_s - self._length_s:
            self._times.popleft()


class _Browser:
    """Five in a minute; from then on each attempt requires a pause, twice as long as the previous one, until one is
    right or ten minutes pass without an attempt.
    """

    def __init__(self) -> None:
        self.window = Window(BROWSER_TRIES, MINUTE_S)
        self._pauses = 0
        self._until_s = float("-inf")

    def wait_s(self, now_s: float) -> float:
        return max(self._until_s - now_s, 0.0)

    def add(self, now_s: float) -> None:
        if now_s - self._until_s > MAX_PAUSE_S:
            self._pauses = 0
        self.window.add(now_s)
        if self._pauses or self.window.count(now_s) >= BROWSER_TRIES:
            self._until_s = now_s + min(FIRST_PAUSE_S * 2**self._pauses, MAX_PAUSE_S)
            self._pauses = min(self._pauses + 1, 10)

    def take_back(self, then_s: float) -> None:
        self.window.take_back(then_s)
        self._until_s, self._pauses = float("-inf"), 0


@dataclass(frozen=True)
class Try:
    """An allowed attempt."""

    browser: str
    network: str
    at_s: float


class _Floods:
    """The addresses that have been refused too often to get a page each time."""

    def __init__(self) -> None:
        self._refusals: OrderedDict[str, Window] = OrderedDict()

    def refused(self, network: str, now_s: float) -> None:
        """Counts a refusal with a page."""
        _remembered(self._refusals, network, lambda: Window(REFUSALS_WITH_PAGE, MINUTE_S)).add(now_s)

    def has(self, network: str, now_s: float) -> bool:
        """Whether the address floods the server."""
        refusals = self._refusals.get(network)
        return refusals is not None and refusals.wait_s(now_s) > 0


class WrongCodes:
    """Limits on wrong class codes per browser, per address and for the server. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._browsers: OrderedDict[str, _Browser] = OrderedDict()
        self._networks: OrderedDict[str, Window] = OrderedDict()
        self._floods = _Floods()
        self._server = Window(SERVER_TRIES, MINUTE_S)
        self._warned_s = float("-inf")

    def begin(self, browser: str, address: str, now_s: float) -> Try | float:
        """Counts an attempt, or returns the number of seconds to wait before the next one."""
        network = network_of(address)
        with self._lock:
            wait_s = self._wait_s(browser, network, now_s)
            if wait_s > 0:
                self._floods.refused(network, now_s)
                return wait_s
            _remembered(self._browsers, browser, _Browser).add(now_s)
            _remembered(self._networks, network, lambda: Window(ADDRESS_TRIES, MINUTE_S)).add(now_s)
            self._server.add(now_s)
            return Try(browser, network, now_s)

    def wait_in_flood_s(self, browser: str, address: str, now_s: float) -> float:
        """The number of seconds to wait for an attempt that `begin` would refuse, of an address that has been refused
        too often to get a page each time; otherwise 0.
        """
        network = network_of(address)
        with self._lock:
            return self._wait_s(browser, network, now_s) if self._floods.has(network, now_s) else 0.0

    def _wait_s(self, browser: str, network: str, now_s: float) -> float:
        one = self._browsers.get(browser)
        near = self._networks.get(network)
        return max(self._server.wait_s(now_s), one.wait_s(now_s) if one else 0.0, near.wait_s(now_s) if near else 0.0)

    def was_right(self, tried: Try) -> None:
        """The code was right: the attempt does not count."""
        with self._lock:
            if one := self._browsers.get(tried.browser):
                one.take_back(tried.at_s)
            if near := self._networks.get(tried.network):
                near.take_back(tried.at_s)
            self._server.take_back(tried.at_s)

    def is_attack(self, now_s: float) -> bool:
        """Whether the number of wrong codes indicates guessing."""
        with self._lock:
            return self._server.count(now_s) >= ATTACK_TRIES

    def should_warn(self, now_s: float) -> bool:
        """Whether staff should be warned of guessing now: at most once a minute."""
        with self._lock:
            is_due = now_s - self._warned_s >= WARN_AGAIN_S and self._server.count(now_s) >= ATTACK_TRIES
            if is_due:
                self._warned_s = now_s
            return is_due


class KeyTries:
    """Limits on wrong return keys in ten minutes: five per browser and class, sixty per address and class, and 300 per
    address, whatever the class is. Thread-safe.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._windows: OrderedDict[str, Window] = OrderedDict()
        self._floods = _Floods()

    def begin(self, classroom: str, browser: str, address: str, now_s: float) -> float:
        """Counts an attempt and returns 0, or returns the number of seconds to wait."""
        network = network_of(address)
        limits = (
            (f"{classroom} {browser}", KEY_TRIES), (f"{classroom} {network}", ADDRESS_TRIES), (network, SERVER_TRIES),
        )  # fmt: skip
        with self._lock:
            windows = [_remembered(self._windows, name, partial(Window, most, KEY_WINDOW_S)) for name, most in limits]
            wait_s = max(window.wait_s(now_s) for window in windows)
            if wait_s > 0:
                self._floods.refused(network, now_s)
                return wait_s
            for window in windows:
                window.add(now_s)
            return 0.0

    def wait_in_flood_s(self, classroom: str, browser: str, address: str, now_s: float) -> float:
        """As `WrongCodes.wait_in_flood_s`."""
        network = network_of(address)
        with self._lock:
            if not self._floods.has(network, now_s):
                return 0.0
            names = (f"{classroom} {browser}", f"{classroom} {network}", network)
            known = (self._windows.get(name) for name in names)
            return max((window.wait_s(now_s) for window in known if window is not None), default=0.0)

    def was_right(self, classroom: str, browser: str, address: str) -> None:
        """Forgets the attempts of a browser that entered the right key."""
        with self._lock:
            self._windows.pop(f"{classroom} {browser}", None)


class Joins:
    """Limit on new participants per address: each is a row of the class, also after they have left."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._windows: OrderedDict[str, Window] = OrderedDict()

    def begin(self, address: str, now_s: float) -> float:
        """Counts a join and returns 0, or returns the number of seconds to wait."""
        with self._lock:
            window = _remembered(self._windows, network_of(address), lambda: Window(MAX_JOINS, JOINS_WINDOW_S))
            wait_s = window.wait_s(now_s)
            if wait_s == 0:
                window.add(now_s)
            return wait_s


def _remembered(known: "OrderedDict[str, T]", name: str, make: Callable[[], T]) -> T:
    """The entry of this name, created on demand. The least recently used ones are evicted; the capacity exceeds what
    the server's limit admits while they count.
    """
    found = known.get(name)
    if found is None:
        found = known[name] = make()
        if len(known) > MAX_REMEMBERED:
            known.popitem(last=False)
    known.move_to_end(name)
    return found
