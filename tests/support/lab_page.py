"""Shared by tests of the lab page: a page of a new run, user actions, and what the page shows."""

import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import Browser, BrowserContext, Locator, Page, ViewportSize, WebSocketRoute, expect

from devtools.tour.contexts import WarmContexts
from devtools.tour.lab_page import newest_event
from tests.support.lab_server import PATIENCE_S, LabServer, Visitor

# A page may be slow where all processors are busy; what must be fast has its own timeout where it is expected.
expect.set_options(timeout=120_000)

WIDE: ViewportSize = {"width": 1440, "height": 900}
TABLET: ViewportSize = {"width": 1024, "height": 768}
PHONE: ViewportSize = {"width": 390, "height": 844}
TOPIC = "kafka-topics.sh --create --topic orders --partitions 3 --replication-factor 3"


#: Drawing each step of a movement is most of what a page costs whose time runs, and hardly any test looks at one.
STILL = {"reduced_motion": "reduce"}


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    """Of people who have asked for reduced motion. Tests that look at movements use `moving`."""
    return {**browser_context_args, **STILL}


@pytest.fixture
def moving(page: Page) -> None:
    """The page of a user who has not asked for reduced motion."""
    page.emulate_media(reduced_motion="no-preference")


@pytest.fixture(scope="session")
def contexts(browser: Browser) -> Iterator[WarmContexts]:
    """The browser contexts of a process: its tests load the page's modules from their cache."""
    contexts = WarmContexts(browser)
    yield contexts
    contexts.close()


@pytest.fixture
def context(contexts: WarmContexts, browser_context_args: dict[str, Any]) -> Iterator[BrowserContext]:
    """A context without traces of earlier tests. Its pages have the timeouts of the tests."""
    context = contexts.take(browser_context_args)
    context.set_default_timeout(PATIENCE_S * 1000)
    yield context
    contexts.give_back(context)


@pytest.fixture
def newcomer(contexts: WarmContexts, browser_context_args: dict[str, Any]) -> Iterator[Callable[[], Page]]:
    """Opens the page of a new visitor, each time in a context of its own."""
    taken: list[BrowserContext] = []

    def opened() -> Page:
        context = contexts.take(browser_context_args)
        taken.append(context)
        context.set_default_timeout(PATIENCE_S * 1000)
        page = context.new_page()
        page.set_viewport_size(WIDE)
        return page

    yield opened
    for context in taken:
        contexts.give_back(context)


@pytest.fixture
def complaints(page: Page) -> Iterator[list[str]]:
    """The browser's complaints: errors of scripts, refused styles and scripts, answers with an error."""
    heard: list[str] = []
    page.on("pageerror", lambda error: heard.append(f"{error.message}\n{error.stack}"))
    page.on("console", lambda said: heard.append(f"{said.text} {said.location}") if said.type == "error" else None)
    yield heard
    assert heard == []


@pytest.fixture
def lab(page: Page, visitor: Visitor, complaints: list[str]) -> Page:
    """The page of a new run of three brokers, time playing."""
    return open_run(page, visitor, visitor.new_run())


@pytest.fixture
def with_topic(page: Page, visitor: Visitor, complaints: list[str]) -> Page:
    """The same with a topic `orders` of three partitions."""
    run = visitor.new_run()
    with visitor.socket(run) as socket:
        socket.run(TOPIC)
    open_run(page, visitor, run)
    expect(page.locator(".nodes").get_by_text("orders", exact=True)).to_be_visible()
    expect(partition(page, "orders-0")).to_contain_text("leader")
    return page


@pytest.fixture
def signed_in(page: Page, lab_server: LabServer, complaints: list[str]) -> Page:
    """A page that has signed in, at the list of runs."""
    return sign_in(page, lab_server)


def open_run(page: Page, visitor: Visitor, run: str) -> Page:
    """Opens the page of a run of three brokers as the visitor."""
    be(page, visitor)
    page.set_viewport_size(WIDE)
    page.goto(f"{visitor.server.address}/r/{run}/main")
    expect(page.locator(".nodes .state.up")).to_have_count(3)
    return page


def be(page: Page, visitor: Visitor) -> None:
    """Signs a page in as the visitor; it shows nothing for that."""
    for cookie in visitor.cookies:
        address = visitor.server.address
        page.context.add_cookies([{"name": cookie.name, "value": cookie.value or "", "url": address}])


def sign_in(page: Page, server: LabServer) -> Page:
    """Opens the list of runs by the printed address."""
    page.set_viewport_size(WIDE)
    page.goto(f"{server.address}/sign-in/?token={settings.SIGN_IN_TOKEN}&next=/runs/")
    return page


def partition(page: Page, name: str) -> Locator:
    return page.locator(".hw-partition", has_text=name)


def press(page: Page, *keys: str) -> None:
    """Keys of the page itself: no field has the focus."""
    page.evaluate("document.activeElement.blur()")
    for key in keys:
        page.keyboard.press(key)


def pause(page: Page) -> None:
    """Pauses, and waits until the page has drawn everything before that."""
    press(page, "Space")
    expect(page.locator(".tp .tag")).to_contain_text("PAUSED")
    shows_event(page, newest_event(page))


def number(page: Page) -> int:
    """The event that is shown."""
    return int(re.sub(r"\D", "", page.locator(".number").inner_text()))


def shows_event(page: Page, seq: int) -> None:
    """The page comes to show that event."""
    grouped = f"{seq:,}".replace(",", r"\D")
    expect(page.locator(".number")).to_have_text(re.compile(rf"(?<!\d){grouped}(?!\d)"))


def nothing_sticks_out(page: Page) -> None:
    """The page is as wide as the window at most, once it has followed the window's size."""
    assert page.viewport_size
    page.wait_for_function(
        "(width) => innerWidth === width && document.documentElement.scrollWidth <= width",
        arg=page.viewport_size["width"],
    )


def nothing_sticks_out_at_any_width(page: Page) -> None:
    for size in (TABLET, PHONE, WIDE):
        page.set_viewport_size(size)
        nothing_sticks_out(page)


def console(page: Page, line: str) -> Locator:
    """Sends a line in the console; what it printed is below."""
    if not page.locator("#console-line").is_visible():
        press(page, "c")
    page.locator("#console-line").fill(line)
    page.keyboard.press("Enter")
    entry = page.locator("hw-console li", has=page.get_by_text(line, exact=True)).last
    expect(entry).to_be_visible()
    return entry


class Line:
    """The connection of a page's web sockets, which can be interrupted."""

    def __init__(self, page: Page, path: str) -> None:
        """Of the sockets whose address contains `path`, and that the page opens from now on."""
        self.opened = 0
        self._is_down = False
        self._code, self._reason = 1012, ""
        self._newest: WebSocketRoute | None = None
        page.route_web_socket(re.compile(path), self._pass_on)

    def _pass_on(self, route: WebSocketRoute) -> None:
        self.opened += 1
        self._newest = route
        if self._is_down:
            route.close(code=self._code, reason=self._reason)
        else:
            route.connect_to_server()

    def go_down(self, code: int = 1012, reason: str = "") -> None:
        """Ends the newest socket; none can be opened until `come_back`."""
        self._is_down = True
        self._code, self._reason = code, reason
        assert self._newest is not None
        self._newest.close(code=code, reason=reason)

    def come_back(self) -> None:
        self._is_down = False


# One page follows another

#: Gives the page's own modules, as it has loaded them, to the scripts of a test.
MODULES = """() => {
  const { src } = document.querySelector("script[src$='/ui/pages/lab/main.js']");
  window.moduleOf = (path) => import(src.replace("/ui/pages/lab/main.js", path));
  window.views = new BroadcastChannel("views of a test");
}"""
LEAD = """async () => {
  const { onView } = await moduleOf("/ui/store/view.js");
  onView((view) => views.postMessage(view));
}"""
FOLLOW = """async () => {
  const { led, setLead } = await moduleOf("/ui/store/follow.js");
  views.onmessage = ({ data }) => led(data, 1);
  setLead({ name: "Lin", term: 1 });
}"""
SHOWN = """async () => {
  const { view } = await moduleOf("/ui/store/view.js");
  const { player } = await moduleOf("/ui/store/state.js");
  const behind = player.isBehind || player.loading;
  return { ...view(), shown_seq: player.seq, shown_at_us: Math.floor(player.at_us), behind };
}"""


def lead_and_follow(context: BrowserContext, visitor: Visitor, led_run: str, own_run: str) -> tuple[Page, Page]:
    """The presenter's page of one run, and a page of another run that may follow; following has not started.

    Both runs have a topic, whose first partition the pages have chosen by themselves.
    """
    leader, follower = context.new_page(), context.new_page()
    for page, run in ((leader, led_run), (follower, own_run)):
        open_run(page, visitor, run)
        page.evaluate(MODULES)
        wait_until(page, f"async () => (await ({SHOWN})()).partition")
    follower.evaluate(FOLLOW)
    leader.evaluate(LEAD)
    expect(follower.get_by_role("button", name="Lin is presenting")).to_be_visible()
    follower.set_viewport_size(WIDE)
    return leader, follower


def wait_until(page: Page, function: str) -> None:
    """Waits until an asynchronous function of the page returns something true.

    `Page.wait_for_function` would take its promise for true.
    """
    until_s = time.monotonic() + PATIENCE_S
    while not page.evaluate(function):
        assert time.monotonic() < until_s, f"not true after {PATIENCE_S} s: {function}"
        page.wait_for_timeout(20)


def shown(page: Page) -> dict[str, Any]:
    """The view of a page, and the event of its picture."""
    found: dict[str, Any] = page.evaluate(SHOWN)
    return found


def settle(page: Page) -> None:
    """What was asked for is drawn: two looks at the page agree."""
    before: dict[str, Any] = {}
    while before != (before := shown(page)) or before["behind"]:
        page.wait_for_timeout(120)


def disagreement(leader: dict[str, Any], follower: dict[str, Any], but: str = "") -> str:
    """The differences of the two, except for the field `but`; empty if the second shows what the first looks at."""
    for name in ("branch", "shown_seq", "screen", "partition", "selection", "tab", "disk", "console"):
        if name != but and leader[name] != follower[name]:
            return f"{name}: {leader[name]} and {follower[name]}"
    if leader["screen"] == "picture":
        for partition, (first, last) in leader["ranges"].items():
            here = follower["ranges"].get(partition)
            if here is None or here[0] > first or here[1] < last:
                return f"{partition}: {[first, last]} in sight of the leader, {here} here"
        if leader["window"] and leader["window"] != follower["window"]:
            return f"window: {leader['window']} and {follower['window']}"
    return ""
