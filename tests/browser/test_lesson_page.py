"""A lesson in a real browser, done by following its texts: commands, keys, questions, the next lesson."""

import re

import pytest
from django.conf import settings
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.support.axe import violations
from tests.support.lab_page import MODULES, PHONE, TABLET, WIDE, nothing_sticks_out
from tests.support.lab_server import LabServer

FIRST = "008-a-records-way"


def start(page: Page, server: LabServer, slug: str) -> None:
    """Starts a lesson whose set-up creates a topic."""
    begin(page, server, slug)
    expect(page.locator(".hw-partition").first).to_contain_text("leader")


def begin(page: Page, server: LabServer, slug: str, size: ViewportSize = WIDE) -> None:
    """Starts a lesson from its page."""
    page.set_viewport_size(size)
    page.goto(f"{server.address}/sign-in/?token={settings.SIGN_IN_TOKEN}&next=/course/{slug}/")
    page.get_by_role("button", name=re.compile("^Start")).first.click()
    expect(page.locator(".step.now .n")).to_have_text("1")


def faults(page: Page) -> list[str]:
    """What axe finds, except for lanes and cards: their names describe the figures on them in words."""
    drawn = re.compile(r'label-content-name-mismatch: <g [^>]*class="hw-(lane|node|dock) ')
    return [one for one in violations(page) if not drawn.match(one)]


@pytest.fixture
def first(page: Page, lab_server: LabServer, complaints: list[str]) -> Page:
    """The first lesson of the course, just started."""
    start(page, lab_server, FIRST)
    return page


def step_until(page: Page, number: str) -> None:
    """Presses Enter, wherever the focus is, until the step is in progress."""
    for _ in range(40):
        if page.locator(".step.now .n").inner_text() == number:
            return
        before = page.locator(".number").inner_text()
        page.keyboard.press("Enter")
        expect(page.locator(".number")).not_to_have_text(before)
    raise AssertionError(f"step {number} was not reached")


NOW = "moduleOf('/ui/store/state.js').then(({ player }) => player.at_us)"


def test_commands_after_pauses_run_when_they_have_ended(first: Page) -> None:
    first.evaluate(MODULES)
    pauses = 'sleep 10ms\nwait "isr orders-0 == [9]" 10ms'
    text = f"```\n{pauses}\nkafka-topics.sh --create --topic later --partitions 1 --replication-factor 1\n```"
    first.evaluate(
        """async (text) => {
          const { effect, exercise } = await moduleOf("/ui/store/state.js");
          // The server's next frame has the lesson's own text.
          effect(() => {
            const { steps } = exercise.value, at = steps.findIndex(({ state }) => state === "active");
            if (steps[at].text !== text)
              exercise.value = { ...exercise.value, steps: steps.with(at, { ...steps[at], text }) };
          });
        }""",
        text,
    )
    begun_us = first.evaluate(NOW)
    sleeps, waits, creates = first.locator(".step.now .code-line").all()
    for line in (sleeps, waits, creates):
        line.click()
    expect(sleeps).to_have_attribute("data-ran", "ran")
    # Time is paused.
    for line in (waits, creates):
        expect(line).to_have_attribute("data-ran", "waits")
    first.keyboard.press("Space")
    expect(creates).to_have_attribute("data-ran", "ran")
    assert first.evaluate(NOW) - begun_us >= 20_000


def test_console_returns_the_keyboard_focus(first: Page) -> None:
    first.keyboard.press("c")
    expect(first.locator("#console-line")).to_be_focused()
    before = first.locator(".number").inner_text()
    first.keyboard.press("Enter")
    expect(first.locator(".number")).not_to_have_text(before)
    first.keyboard.press("Escape")
    expect(first.locator("#console-line")).not_to_be_focused()
    first.keyboard.press("Space")
    expect(first.locator(".tp .tag")).not_to_contain_text("PAUSED")
    first.get_by_role("button", name="Close the console").click()
    expect(first.locator("#console-line")).to_have_count(0)


def test_lesson_is_shown_to_its_end_and_the_next_one_begins(first: Page) -> None:
    for number in ("2", "3", "4", "end"):
        first.get_by_role("button", name="Show the solution").click()
        reached = first.locator(".debrief") if number == "end" else first.locator(".step.now .n", has_text=number)
        expect(reached).to_be_visible()
        expect(first.locator(".help[role=status]")).to_have_count(0)
    # The solution that was shown does not count as the learner's prediction.
    expect(first.locator(".step.done").nth(1).locator(".verdict")).to_have_text("The outcome is 1.")
    assert faults(first) == []
    first.get_by_role("button", name="Next: 1.2").click()
    expect(first.locator("hw-exercise h2")).to_have_text("Ask with Kafka's own commands")
    expect(first.locator(".step.now .n")).to_have_text("1")


def test_solution_does_not_repeat_what_was_done(first: Page) -> None:
    command = first.locator(".step.now .code-line")
    command.dblclick()
    expect(command).to_have_attribute("data-ran", "ran")
    first.get_by_role("button", name="Show the solution").click()
    expect(first.locator(".step.now .n")).to_have_text("2")
    first.keyboard.press("c")
    expect(first.locator("hw-console .typed", has_text="consumer follow c1")).to_have_count(1)


def test_skipped_step_is_announced_and_the_next_one_opens(first: Page) -> None:
    first.get_by_role("button", name="Skip").click()
    expect(first.locator(".step.now .n")).to_have_text("2")
    expect(first.locator(".step.done").first).to_contain_text("skipped")
    first.get_by_role("button", name="Skip").click()
    expect(first.locator(".step.now .verdict")).to_contain_text("No prediction.")


def test_keys_and_topic_of_a_text_are_right_with_the_console_open(
    page: Page, lab_server: LabServer, complaints: list[str]
) -> None:
    begin(page, lab_server, "010-where-replicas-land")
    expect(page.locator(".nothing")).to_have_text("3 brokers, no topics yet.")
    page.keyboard.press("c")
    line = page.locator("#console-line")
    expect(line).to_be_focused()
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    expect(line).to_have_value("")
    # The page shows the first topic until there is the lesson's own.
    for topic in ("spread", "wide"):
        line.fill(f"kafka-topics.sh --create --topic {topic} --partitions 1 --replication-factor 1")
        line.press("Enter")
        expect(page.locator(".hw-partition").first).to_contain_text(f"{topic}-0")
    expect(page.get_by_role("combobox", name="topic")).to_have_value("wide")
    page.reload()
    expect(page.locator(".hw-partition").first).to_contain_text("wide-0")
    expect(line).to_be_visible()
    expect(line).not_to_be_focused()


def test_lesson_in_progress_fits_every_width(first: Page) -> None:
    first.locator(".step.now .code-line").click()
    for size in (TABLET, PHONE, WIDE):
        first.set_viewport_size(size)
        nothing_sticks_out(first)
        expect(first.locator(".step.now")).to_be_visible()
        assert faults(first) == []
        inspector = first.locator("aside.insp").bounding_box()
        assert inspector is None or inspector["x"] + inspector["width"] <= size["width"]
    # On a projector each screen fits next to the lesson.
    first.set_viewport_size(TABLET)
    for screen in ("ZooKeeper", "Groups", "Disk", "Table", "Cluster + logs"):
        first.locator(".cv-h").get_by_role("button", name=screen).click()
        side, canvas = (first.locator(one).bounding_box() for one in ("aside.side", "main.canvas"))
        assert side and canvas
        assert side["x"] + side["width"] <= canvas["x"] + 2, screen
        assert canvas["width"] > 600 and canvas["height"] > 300, (screen, canvas)


#: keeps what the live regions held, one after the other
_LISTEN = """
  window.said = [];
  new MutationObserver((changes) => {
    for (const { target } of changes) {
      const region = (target.nodeType === 1 ? target : target.parentElement)?.closest(".sr[aria-live]");
      const text = region?.textContent.trim();
      if (text && text !== window.said.at(-1)) window.said.push(text);
    }
  }).observe(document, { subtree: true, childList: true, characterData: true });
"""


def test_command_runs_by_one_click_then_keys_work_and_each_event_is_announced_once_to_a_screen_reader(
    page: Page, lab_server: LabServer, complaints: list[str]
) -> None:
    page.add_init_script(_LISTEN)
    start(page, lab_server, FIRST)
    command = page.locator(".step.now .code-line")
    command.click()
    expect(command).to_have_attribute("data-ran", "ran")
    assert page.evaluate("document.activeElement === document.body")
    step_until(page, "2")
    page.locator(".opt[data-value='3']").click()
    page.get_by_role("radio", name="70 %").click()
    page.keyboard.press("Enter")
    expect(page.locator(".step.now .verdict")).to_contain_text("Locked in")
    for command in page.locator(".step.now .code-line").all():
        command.click()
        expect(command).to_have_attribute("data-ran", "ran")
    step_until(page, "3")
    done = page.locator(".step.done").nth(1)
    expect(done.locator(".verdict")).to_have_text("You predicted 3; the outcome was 1.")
    expect(done.locator(".reason")).to_have_count(2)
    # The step that was just done can be read on, and what it offers be used.
    expect(done.locator(".code-line").first).to_be_visible()
    page.get_by_role("button", name=re.compile("^Hint 1")).click()
    # The next sentence may follow before anybody looks at the element.
    page.wait_for_function("() => window.said.some((sentence) => sentence.includes('Hint 1.'))")
    said = " ".join(page.evaluate("window.said"))
    for sentence in (
        "Step 1 of 4: ",
        "Step 1 is done: ",
        "Step 2 of 4: ",
        "Locked in. ",
        "You predicted 3; the outcome was 1.",
        "Step 3 of 4: ",
        "Hint 1. ",
    ):
        assert said.count(sentence) == 1, (sentence, said)
    # The panel is drawn again with each frame: a live region in it would be announced more than once.
    expect(page.locator("hw-exercise [role=status], hw-exercise [aria-live]")).to_have_count(0)


def test_panel_leads_to_the_terms_of_the_lesson(first: Page) -> None:
    with first.context.expect_page() as opened:
        first.get_by_role("link", name="Terms that this lesson introduces").click()
    expect(opened.value.locator(".terms")).to_contain_text("purgatory")
    expect(opened.value.locator("#terms")).to_be_in_viewport()


def test_lesson_starts_over_in_a_new_run(first: Page) -> None:
    before = first.url
    first.locator(".step.now .code-line").click()
    expect(first.locator(".step.now .code-line")).to_have_attribute("data-ran", "ran")
    first.get_by_role("button", name="Start over").click()
    first.get_by_role("button", name="Start over?").click()
    expect(first).not_to_have_url(re.compile(re.escape(before.partition("?")[0])))
    expect(first.locator(".step.now .n")).to_have_text("1")
    expect(first.locator(".step.now .code-line")).not_to_have_attribute("data-ran", "ran")


def test_refused_answer_is_explained_at_its_question(page: Page, lab_server: LabServer, complaints: list[str]) -> None:
    begin(page, lab_server, "009-ask-with-kafkas-own-commands")
    expect(page.locator(".step.now .prose kbd").first).to_have_text("`")
    number = page.locator(".step.now .n")
    while (before := number.inner_text()) != "4":
        page.get_by_role("button", name="Show the solution").click()
        expect(number).not_to_have_text(before)
        expect(page.locator(".help[role=status]")).to_have_count(0)
    answer = page.get_by_role("textbox", name="Your answer")
    answer.fill("none")
    answer.press("Enter")
    expect(page.locator(".step.now .verdict")).to_contain_text("'none' is not a number.")
    expect(page.locator("hw-messages .message.bad")).to_have_count(0)
    answer.fill("9")
    answer.press("Enter")
    expect(page.locator(".step.now .verdict")).to_have_text("9 is not correct: look again.")


def test_phone_does_not_show_keys_to_press(browser: Browser, lab_server: LabServer) -> None:
    context = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    page = context.new_page()
    begin(page, lab_server, "001-high-watermark-two-fetches", PHONE)
    for command in page.locator(".step.now .code-line").all():
        command.tap()
        expect(command).to_have_attribute("data-ran", "ran")
    message = page.locator(".message", has_text="The simulation is paused.")
    expect(message).to_contain_text("Press Play or step to see the effect.")
    expect(page.locator("button.hint")).to_be_visible()
    assert page.locator("kbd").filter(visible=True).all_inner_texts() == []
    # The text shows the symbol of the button instead.
    assert "Enter" not in page.locator(".step.now").inner_text()
    shown, pressed = (page.locator(f"{where} use").get_attribute("href") for where in (".step.now .key", ".tbtn .ic"))
    assert shown == pressed
    context.close()


def test_line_with_a_part_to_fill_in_goes_into_the_console(browser: Browser, lab_server: LabServer) -> None:
    context = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    page = context.new_page()
    begin(page, lab_server, "002-finding-an-offset", PHONE)
    page.locator(".step.now .code-line", has_text="<first-offset>").tap()
    line = page.locator("#console-line")
    expect(line).to_have_value("kafka-dump-log.sh --files broker-2/archive-0/<first-offset>.index")
    page.keyboard.type("00000000000000000000")
    expect(line).to_have_value("kafka-dump-log.sh --files broker-2/archive-0/00000000000000000000.index")
    line.fill("broker ki")
    page.get_by_role("button", name="Complete the line").tap()
    expect(line).to_have_value("broker kill ")
    context.close()
