"""A lab page as its user sees and touches it, in a window of 1440 by 900."""

import math
import re
from collections.abc import Callable
from typing import Literal
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, Locator, Page

from devtools.tour.shown import Shown, ShownCommand, ShownLane, ShownPartition, look
from devtools.tour.tour import WAIT_S, Tour, until

FASTEST = 100.0
SLOWEST = 0.001
SLIDER_STEP = 0.005
MAX_STEPS = 300


class LabPage:
    """One page of one branch. Every act waits until the page lets a user do it."""

    def __init__(self, tour: Tour, page: Page) -> None:
        self.tour = tour
        self.page = page

    @classmethod
    def of_new_run(cls, tour: Tour, name: str, context: BrowserContext | None = None) -> "LabPage":
        """Starts a run of three brokers by the form, and waits until they are up."""
        page = tour.page(context)
        page.goto(f"{tour.origin}/runs/")
        form = page.locator("form.new-run")
        form.get_by_label("Name").fill(name)
        form.get_by_label("Seed").fill("7")
        form.get_by_role("button", name="Start the cluster").click()
        lab = cls(tour, page)
        tour.runs.append(lab.run)
        lab.until(lambda seen: seen.brokers_up == 3, "three brokers that are up")
        return lab

    @classmethod
    def at(cls, tour: Tour, address: str, context: BrowserContext | None = None) -> "LabPage":
        """Opens an address in a page of its own."""
        page = tour.page(context)
        page.goto(address)
        lab = cls(tour, page)
        lab.until(lambda seen: seen.event > 0, "a page that shows an event")
        return lab

    @property
    def run(self) -> str:
        self.page.wait_for_url(re.compile(r"/r/"))
        return self.page.url.split("/r/")[1].split("/")[0]

    @property
    def branch(self) -> str:
        return re.split(r"[?#]", self.page.url.split("/r/")[1].split("/")[1])[0]

    # What is seen

    @property
    def shown(self) -> Shown:
        return look(self.page)

    def until(self, wanted: Callable[[Shown], object], said: str, seconds: float = WAIT_S) -> Shown:
        """Waits until the page shows what is wanted, and returns what it shows then."""

        def found() -> Shown | None:
            seen = self.shown
            return seen if wanted(seen) else None

        def complaint() -> str:
            seen = self.shown
            return f"{said} (event {seen.event}, {seen.state}; {_partitions(seen)}; {' '.join(seen.refusals)})"

        seen = until(self.page, found, complaint, seconds)
        assert seen is not None
        return seen

    def partition(self, name: str) -> ShownPartition:
        """A partition of the topic that is shown, as soon as it has a leader."""
        seen = self.until(
            lambda seen: name in seen.partitions and seen.partitions[name].leader, f"{name} with a leader"
        )
        return seen.partitions[name]

    def lane(self, partition: str, node: str) -> ShownLane:
        return self.partition(partition).lanes[node]

    def sees(self, locator: Locator, said: str, seconds: float = WAIT_S) -> Locator:
        """Waits until something is visible, and returns it."""
        until(self.page, lambda: locator.first.is_visible(), said, seconds)
        return locator.first

    def refused(self, *, because: str) -> str:
        """Waits for a refusal with this text, closes it, and returns its whole text."""
        message = self.sees(
            self.page.locator(".messages .message.bad", has_text=because), f"a message with {because!r}"
        )
        said = message.inner_text()
        message.get_by_role("button", name="Close").click()
        return said

    # Time

    def press(self, *keys: str) -> None:
        """Keys of the page itself: no field has the focus."""
        self.page.evaluate("document.activeElement?.blur()")
        for key in keys:
            self.page.keyboard.press(key)

    def pause(self) -> Shown:
        """Pauses, if time is running; returns what is shown when all that had happened by then has been drawn."""
        self._button("Pause", "Play")
        self.until(lambda seen: seen.is_paused or seen.is_past, "a pause")
        return self.rests()

    def rests(self) -> Shown:
        """In a pause: returns what is shown when the page has drawn all that happened before it."""
        if self.shown.is_past:
            return self.shown
        newest = newest_event(self.page)
        return self.until(lambda seen: seen.event >= newest, f"event {newest}")

    def play(self) -> None:
        self._button("Play", "Pause")
        self.until(lambda seen: seen.state.startswith("▶"), "time that runs")

    def lets_pass(self, share: float) -> None:
        """Lets the run grow by a share of its age, so that what came before is a visible part of its time line."""
        end = self.shown.at_us * (1 + share)
        self.until(lambda seen: seen.at_us >= end, f"an instant {share:g} times its age later")

    def now(self) -> None:
        """Goes back to the newest instant."""
        self.page.locator("button.now").click()
        self.until(lambda seen: not seen.is_past, "the newest instant")

    def step(self, what: Literal["event", "RPC"]) -> Shown:
        """Presses the button, and waits until something has happened."""
        before = self.shown.event
        self.page.get_by_role("button", name=f"Step one {what}", exact=True).click()
        return self.until(lambda seen: seen.event > before, f"an event after {before}")

    def steps_until(self, wanted: Callable[[Shown], object], said: str) -> Shown:
        """Steps message by message until the page shows what is wanted."""
        seen = self.shown
        for _ in range(MAX_STEPS):
            if wanted(seen):
                return seen
            seen = self.step("RPC")
        raise AssertionError(f"{said} was expected within {MAX_STEPS} messages ({_partitions(seen)}).")

    def speed(self, rate: float) -> None:
        """Moves the slider."""
        slider = self.page.get_by_role("slider", name="Speed (logarithmic)")
        text = f"{rate:g}×" if rate >= 1 else f"1/{round(1 / rate)}×"
        place = math.log(rate / SLOWEST) / math.log(FASTEST / SLOWEST)
        slider.fill(f"{round(place / SLIDER_STEP) * SLIDER_STEP:g}")
        self.until(lambda seen: seen.rate == text, f"the speed {text}")

    def _button(self, name: str, other: str) -> None:
        transport = self.page.locator("hw-transport")
        button = transport.get_by_role("button", name=name, exact=True)
        until(
            self.page,
            lambda: button.or_(transport.get_by_role("button", name=other, exact=True)).count(),
            f"a button {name}",
        )
        if button.count():
            button.click()

    # Acting

    def act_panel(self) -> Locator:
        """The side panel with the forms."""
        self.page.get_by_role("tab", name="Act", exact=True).click()
        return self.sees(self.page.locator("hw-act"), "the panel Act")

    def lesson_panel(self) -> Locator:
        """The side panel with the lesson."""
        self.page.get_by_role("tab", name="Lesson", exact=True).click()
        return self.page.locator("hw-exercise")

    def create_topic(self, name: str, partitions: int, factor: int) -> None:
        """By the form."""
        self.act_panel().get_by_role("button", name="Create topic").click()
        dialog = self.sees(self.page.get_by_role("dialog"), "the form of a topic")
        dialog.get_by_label("Name").fill(name)
        dialog.get_by_label("Partitions").fill(str(partitions))
        dialog.get_by_label("Replication factor").fill(str(factor))
        dialog.get_by_role("button", name="Create topic").click()

    def with_orders(self, partitions: int = 3) -> "LabPage":
        """Creates `orders` with factor 3, and waits until each partition has its leader and a full ISR."""
        self.create_topic("orders", partitions, 3)
        self.until(
            lambda seen: (
                len(seen.partitions) == partitions
                and all(one.leader and len(one.isr) == 3 and len(one.lanes) == 3 for one in seen.partitions.values())
            ),
            f"orders with {partitions} partitions, each with a leader and three replicas in the ISR",
        )
        return self

    def produce_to(self, partition: str, acks: str = "all") -> Locator:
        """Sets up the form; returns it."""
        form = self.act_panel().locator("hw-produce form")
        form.get_by_label("partition", exact=True).select_option(partition)
        form.get_by_role("radio", name=acks, exact=True).click()
        return form

    def produce(self, partition: str, value: str, *, key: str = "", acks: str = "all") -> None:
        form = self.produce_to(partition, acks)
        form.get_by_label("key").fill(key)
        form.get_by_label("value").fill(value)
        form.get_by_role("button", name="Produce one").click()

    def client(self, name: str) -> list[str]:
        """The row of a producer in the panel: client, acks, sent, acked, failed, latency."""
        row = self.page.locator("hw-produce .clients tr", has_text=name)
        return row.first.locator("td").all_inner_texts() if row.count() else []

    def broker(self, number: int, verb: str) -> None:
        """A line of a broker's menu in the side panel: kill, start, freeze, thaw, stop."""
        self.act_panel().get_by_role("button", name=f"Actions on broker {number}").click()
        self.page.get_by_role("menuitem", name=f"broker {verb} {number}").click()

    def link(self, verb: str, a: int, b: int) -> None:
        """Cuts or restores the link of two brokers, by the menu of one of them."""
        self.act_panel().get_by_role("button", name=f"Actions on broker {a}").click()
        self.page.get_by_role("menuitem", name=f"link {verb} {a} {b}").click()

    # The console

    def open_console(self) -> Locator:
        """Opens it if it is not open; its line."""
        line = self.page.locator("#console-line")
        if not line.is_visible():
            self.page.get_by_role("button", name="Console", exact=True).click()
        return self.sees(line, "the console's line")

    def close_console(self) -> None:
        if self.page.locator("#console-line").is_visible():
            self.page.get_by_role("button", name="Console", exact=True).click()

    def send(self, line: str) -> None:
        """Types a line and sends it."""
        field = self.open_console()
        field.fill(line)
        field.press("Enter")

    def command(self, line: str, seconds: float = WAIT_S) -> ShownCommand:
        """Sends a line and waits until it has ended."""
        self.open_console()
        before = len(self.shown.console)
        self.send(line)
        seen = self.until(
            lambda seen: len(seen.console) > before and not seen.console[-1].running, f"the end of `{line}`", seconds
        )
        assert seen.console[-1].line == line, f"The console shows {seen.console[-1].line!r} after {line!r}."
        return seen.console[-1]

    def tab(self, name: str) -> Locator:
        """Opens a tab of the inspector; its panel."""
        self.page.get_by_role("tab", name=re.compile(rf"^{name}\s*\d*$")).click()
        return self.page.locator("#tab-panel")


def newest_event(page: Page) -> int:
    """The last event of the branch according to its recording: the page may not have reached it yet."""
    address = urlsplit(page.url)
    run, branch = address.path.split("/")[2:4]
    index = page.request.get(f"{address.scheme}://{address.netloc}/api/runs/{run}/{branch}/index.json")
    last_seq: int = index.json()["last_seq"]
    return last_seq


def _partitions(seen: Shown) -> str:
    return "; ".join(
        f"{name} leader {one.leader or 'none'} epoch {one.epoch} ISR {sorted(one.isr)} "
        + " ".join(f"{node} LEO {lane.leo} HW {lane.hw}" for node, lane in one.lanes.items())
        for name, one in seen.partitions.items()
    )
