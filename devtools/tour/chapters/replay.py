"""Replay: an address with an instant, reloads, a second browser, a lost connection, and invalid addresses."""

import re

from playwright.sync_api import WebSocketRoute

from devtools.tour.lab_page import LabPage
from devtools.tour.shown import Shown
from devtools.tour.tour import ANSWERED_WITH_ERROR, Tour

TITLE = "replay"
RUBBISH = 12


def walk(tour: Tour) -> None:
    lab = LabPage.of_new_run(tour, "Tour: replay").with_orders()
    lab.produce_to("orders-0").get_by_role("button", name="Produce 100").click()
    lab.until(lambda seen: _ends(seen) == {100}, "100 records on all replicas")
    end = lab.pause()

    with tour.stop("a link to an instant of the past"):
        lab.press("5")
        past = lab.until(lambda seen: seen.is_past and seen.event < end.event, "the middle of the run")
        lab.press("s")
        lab.sees(lab.page.locator(".message.ok", has_text="copied"), "a word that it was copied")
        address = lab.page.evaluate("navigator.clipboard.readText()")
        assert re.search(rf"\?t={past.at_us / 1e6:.6f}&", address), (
            f"The link is {address}, the instant {past.at_us} µs."
        )

    with tour.stop("it opens there in a second browser, paused"):
        other = LabPage.at(tour, address)
        seen = other.until(lambda seen: seen.is_past and seen.event == past.event, f"event {past.event}, in the past")
        assert seen.at_us == past.at_us, f"The clock is at {seen.at_us} µs, not at {past.at_us}."
        assert seen.partitions == past.partitions, "The strips are not the same."

    with tour.stop("a reload resumes where it was"):
        other.page.reload()
        other.until(
            lambda seen: seen.is_past and (seen.event, seen.at_us) == (past.event, past.at_us), "the same instant"
        )

    with tour.stop("the past can be played"):
        other.speed(0.1)
        other.play()
        other.until(lambda seen: seen.event > past.event, "later events")
        other.pause()
    _both_at_once(tour, lab, other, end)


def _both_at_once(tour: Tour, lab: LabPage, other: LabPage, end: Shown) -> None:
    with tour.stop("both see the same when one acts"):
        lab.now()
        other.now()
        lab.play()
        lab.produce("orders-0", "for both to see")
        for page in (lab, other):
            page.until(lambda seen: _ends(seen) == {101}, "101 records on all replicas")
        seen = lab.pause()
        other.until(
            lambda there: (there.is_paused, there.event) == (True, seen.event), f"a pause at event {seen.event}"
        )

    with tour.stop("a lost connection comes back, and nothing is missed"):
        line = _Line()
        context = tour.visitor()
        context.route_web_socket(re.compile("/ws/"), line.connect)
        third = LabPage.at(tour, lab.page.url, context)
        line.cut()
        third.until(lambda seen: "Connection lost" in seen.connection, "a word of the lost connection")
        lab.play()
        lab.produce("orders-0", "while you were away")
        lab.until(lambda seen: _ends(seen) == {102}, "102 records on all replicas")
        seen = lab.pause()
        line.mend()
        third.until(lambda there: there.connection == "" and there.event == seen.event, f"event {seen.event}")
        assert third.shown.partitions == seen.partitions, "The strips are not the same."

    with tour.stop("an instant that does not exist is one clear page"):
        response = other.page.goto(f"{tour.origin}/r/{lab.run}/main?t=99999")
        assert response and response.status == 404, f"The answer had the status {response and response.status}."
        said = other.page.locator("main").inner_text()
        assert "What to do" in said, f"The page says: {said}"
        tour.forgive(ANSWERED_WITH_ERROR)

    with tour.stop("malformed frames on the socket are refused with a message, and the run continues"):
        answers = lab.page.evaluate(_SEND_RUBBISH, {"run": lab.run, "count": RUBBISH})
        first, last = answers[0], answers[-1]
        assert first["k"] == "no" and first["what"] and first["expected"] and first["todo"], f"It answered {first}."
        assert last["code"] == 4400 and last["reason"], f"It ended with {last}."
        lab.play()
        lab.until(lambda seen: seen.event > end.event and seen.connection == "", "a page that is still connected")


class _Line:
    """The connection of a page, to be cut."""

    def __init__(self) -> None:
        self._open: list[WebSocketRoute] = []
        self._is_cut = False

    def connect(self, socket: WebSocketRoute) -> None:
        if self._is_cut:
            socket.close(code=1012, reason="cut")
            return
        socket.connect_to_server()
        self._open.append(socket)

    def cut(self) -> None:
        self._is_cut = True
        for socket in self._open:
            socket.close(code=1012, reason="cut")
        self._open.clear()

    def mend(self) -> None:
        self._is_cut = False


#: Opens a socket beside that of the page, sends hello and then invalid frames; returns the responses, and the code it
#: was closed with.
_SEND_RUBBISH = """async ({ run, count }) => {
  const { schema } = await (await fetch(`/api/runs/${run}/main/index.json`)).json();
  const socket = new WebSocket(`ws://${location.host}/ws/runs/${run}/main/`);
  const answers = [];
  await new Promise((done) => {
    socket.onopen = () => socket.send(JSON.stringify({ k: "hello", v: 1, schema, have: 0, boot: "" }));
    socket.onmessage = ({ data }) => {
      const frame = JSON.parse(data);
      if (frame.k === "snap") for (let i = 0; i < count; i++) socket.send(i % 2 ? "rubbish" : '{"k":"fly"}');
      if (frame.k === "no") answers.push(frame);
    };
    socket.onclose = ({ code, reason }) => done(answers.push({ code, reason }));
  });
  return answers;
}"""


def _ends(seen: Shown) -> set[int]:
    """Log end offsets and high watermarks of all replicas of orders-0."""
    return {end for lane in seen.partitions["orders-0"].lanes.values() for end in (lane.hw, lane.leo)}
