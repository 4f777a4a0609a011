"""Guesses class codes at 10,000 a minute, in a process of its own: that of the participants is busy.

`python -m devtools.rehearsal.guesses ADDRESS` guesses from each line on its standard input to the next one, and prints
what was answered as JSON at the end of its input.
"""

import http
import http.client
import json
import random
import sys
import threading
import time
import urllib.parse
from dataclasses import asdict, dataclass, field

from devtools.rehearsal.visitor import token_in
from lab.classroom.codes import CODES, shown_code

CODES_A_S = 10_000 / 60
CONNECTIONS = 12
WINDOW_S = 60.0


@dataclass
class Guessed:
    """What was answered. `looked_up`: when each request for a code that was looked up began and ended, in seconds.
    `guessing_s`: the time between the lines of the input.
    """

    looked_up: list[tuple[float, float]] = field(default_factory=list)
    refused_ms: list[float] = field(default_factory=list)
    guessing_s: float = 0.0

    @property
    def a_minute(self) -> float:
        return 60 * (len(self.looked_up) + len(self.refused_ms)) / self.guessing_s if self.guessing_s else 0.0

    def looked_up_in_window(self) -> int:
        """The most codes that were certainly looked up within the same 60 s by the clock of the server."""
        return max(
            (
                sum(first <= began and ended <= first + WINDOW_S for began, ended in self.looked_up)
                for first, _ in self.looked_up
            ),
            default=0,
        )


class _Guesser:
    """Several connections that share one schedule; each is a new browser in each spell."""

    def __init__(self, server: str) -> None:
        self._address = urllib.parse.urlsplit(server)
        self._chance = random.Random(7)
        self._lock = threading.Lock()
        self._due_s = 0.0
        self.found = Guessed()

    def run(self, stop: threading.Event) -> None:
        """Guesses until it is stopped."""
        self._due_s = began_s = time.monotonic()
        threads = [threading.Thread(target=self._guess_all, args=(stop,)) for _ in range(CONNECTIONS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.found.guessing_s += time.monotonic() - began_s

    def _guess_all(self, stop: threading.Event) -> None:
        connection = http.client.HTTPConnection(self._address.hostname or "", self._address.port)
        try:
            connection.request("GET", "/join/")
            page = connection.getresponse()
            # A browser of its own: those without a cookie count as one, which may try five codes.
            cookies = "; ".join(cookie.partition(";")[0] for cookie in page.msg.get_all("Set-Cookie", []))
            token = token_in(page.read().decode())
            while not stop.wait(self._wait_s()):
                self._guess(connection, cookies, token)
        finally:
            connection.close()

    def _wait_s(self) -> float:
        """Takes the next place in the schedule. Of a delay no more than a second is made up for."""
        with self._lock:
            now_s = time.monotonic()
            due_s, self._due_s = self._due_s, max(self._due_s, now_s - 1) + 1 / CODES_A_S
        return max(0.0, due_s - now_s)

    def _guess(self, connection: http.client.HTTPConnection, cookies: str, token: str) -> None:
        with self._lock:
            code = shown_code(self._chance.randrange(CODES))
        body = urllib.parse.urlencode({"code": code, "csrfmiddlewaretoken": token})
        origin = f"http://{self._address.netloc}"
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": cookies, "Origin": origin}
        began_s = time.monotonic()
        connection.request("POST", "/join/", body, headers)
        answer = connection.getresponse()
        answer.read()
        ended_s = time.monotonic()
        with self._lock:
            if answer.status == http.HTTPStatus.TOO_MANY_REQUESTS:
                self.found.refused_ms.append(1_000 * (ended_s - began_s))
            else:
                self.found.looked_up.append((began_s, ended_s))


def main() -> None:
    guesser = _Guesser(sys.argv[1])
    while sys.stdin.readline():
        stop = threading.Event()
        guessing = threading.Thread(target=guesser.run, args=(stop,))
        guessing.start()
        is_more = sys.stdin.readline()
        stop.set()
        guessing.join()
        if not is_more:
            break
    print(json.dumps(asdict(guesser.found)))


if __name__ == "__main__":
    main()
