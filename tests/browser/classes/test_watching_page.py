"""People who only look at a lab: controls that act are not available, the page says why, and sends nothing in vain."""

import json
import re

from playwright.sync_api import Locator, Page, WebSocket, expect

from lab.models import Class, Run
from tests.support.axe import violations
from tests.support.classroom.class_browser import open_class_panel
from tests.support.lab_page import MODULES, PHONE, TABLET, WIDE, nothing_sticks_out, press, settle, shown

ACTS = ("do", "time", "exercise", "complete")
"""Frames that take a right to the lab."""
SCREENS = ("Groups", "Producers", "Disk", "ZooKeeper", "Cluster")
KEYS = [" ", "Enter", ".", ">", "]", "t", "p", "k", "Escape", "x", "h", "b", "m", "u"]
IS_OFF = "(one) => one.disabled || one.ariaDisabled === 'true'"
STRIP_FITS = """() => {
    const { height } = document.querySelector(".unavailable").getBoundingClientRect();
    const kept = getComputedStyle(document.documentElement).getPropertyValue("--strip");
    return Math.abs(height - parseFloat(kept)) < 1;
}"""
PRESS_ALL = """() => {
    const controls = [...document.querySelectorAll("[data-takes]")].flatMap(
        (one) => one.matches("button, input, select") ? [one] : [...one.querySelectorAll("button, input, select")]);
    for (const one of controls) one.click();
    for (const form of document.querySelectorAll("form[data-takes]")) form.requestSubmit();
    return controls.length;
}"""


def asked(page: Page) -> list[str]:
    """What a page asks of labs from now on: frames that take a right, and requests that change something."""
    found: list[str] = []

    def sent(text: str | bytes) -> None:
        frame = json.loads(text)
        if frame.get("k") in ACTS:
            found.append(f"{frame['k']} {frame.get('op', frame.get('line', ''))}")

    def opened(socket: WebSocket) -> None:
        if "/ws/runs/" in socket.url:
            socket.on("framesent", sent)

    page.on("websocket", opened)
    page.on("request", lambda one: found.append(one.url) if one.method == "POST" else None)
    return found


def look_in(staff: Page) -> None:
    staff.locator(".tile").first.click()
    staff.get_by_role("button", name="Look at this lab").click()
    staff.get_by_role("link", name="Open the lab").click()
    expect(staff.locator(".hw-node.broker.up")).to_have_count(3)


def lead(staff: Page) -> None:
    """The instructor presents their own lab, in a page beside the board."""
    staff.get_by_role("button", name="Lead the class").click()
    page = staff.context.new_page()
    page.goto(staff.url.split("/classes/")[0] + f"/r/{Run.objects.get(learners__number=1).slug}/main")
    expect(page.locator(".hw-node.broker.up")).to_have_count(3)


def act(page: Page, op: str, **arguments: object) -> None:
    """Does something in the class."""
    page.evaluate(MODULES)
    does = {"op": op, **arguments}
    page.evaluate("async (does) => { await (await moduleOf('/ui/classroom/store.js')).act(does); }", does)


def take_time(staff: Page) -> None:
    staff.get_by_role("button", name="Take control of time").click()
    expect(play(staff)).not_to_have_attribute("aria-disabled", "true")


def sentence(page: Page) -> Locator:
    return page.locator("hw-unavailable")


def play(page: Page) -> Locator:
    return page.locator(".tbtn .play")


def test_staff_who_look_in_ask_nothing_of_the_lab_until_they_help(staff: Page, ada: Page) -> None:
    found = asked(staff)
    look_in(staff)
    expect(sentence(staff)).to_contain_text("You are looking at Ada's lab. To act in it, start helping")
    press(staff, "c")
    expect(staff.locator("#console-line")).to_have_attribute("readonly", "")
    expect(staff.locator("#console-line")).to_have_attribute("aria-disabled", "true")
    expect(staff.locator("hw-produce .btn.pri")).to_have_attribute("aria-disabled", "true")
    for screen in SCREENS:
        staff.locator(".cv-h .seg button", has_text=screen).click()
        assert staff.evaluate(PRESS_ALL) > 10
        off = staff.locator("[data-takes]:is(button, input, select)").evaluate_all(f"(all) => all.map({IS_OFF})")
        assert off and all(off), screen
    for key in KEYS:
        press(staff, key)
        assert staff.locator("dialog[open]").count() == 0, key
    expect(staff.locator(".messages")).to_contain_text("You are looking at Ada's lab")
    assert found == []
    assert violations(staff, within="hw-unavailable") == []
    # The past is played by the page itself.
    press(staff, ",")
    expect(play(staff)).not_to_have_attribute("aria-disabled", "true")
    expect(staff.locator(".tbtn button").last).to_have_attribute("aria-disabled", "true")
    expect(sentence(staff)).to_contain_text("You are looking at Ada's lab")
    press(staff, "End")
    expect(play(staff)).to_have_attribute("aria-disabled", "true")
    for size in (TABLET, PHONE, WIDE):
        staff.set_viewport_size(size)
        nothing_sticks_out(staff)
        staff.wait_for_function(STRIP_FITS)
        expect(sentence(staff).get_by_role("button", name="Help in this lab")).to_be_in_viewport(ratio=1)
    walk_lanes(staff)
    assert found == []


def walk_lanes(staff: Page) -> None:
    """In the past, and not in the lab: where there is no later event on a lane the page stays in the past."""
    staff.evaluate(MODULES)
    lasts = set()
    for broker in ("b1", "b2", "b3"):
        press(staff, "End")
        staff.evaluate(
            "async (name) => { (await moduleOf('/ui/store/state.js')).selection.value = `broker:${name}`; }", broker
        )
        press(staff, "<", ">", ">")
        settle(staff)
        lasts.add(shown(staff)["shown_seq"])
    assert len(lasts) == 3


def test_controls_follow_help_and_a_learner_takes_time_back_and_undoes_what_the_helper_did(
    staff: Page, ada: Page
) -> None:
    helped = ada.url.split("?")[0]
    look_in(staff)
    send = staff.locator("hw-produce .btn.pri")
    expect(send).to_have_attribute("aria-disabled", "true")
    staff.get_by_role("button", name="Help in this lab").click()
    expect(sentence(staff)).to_contain_text("You are helping Ada, who controls the time of this lab.")
    expect(send).not_to_have_attribute("aria-disabled", "true")
    expect(play(staff)).to_have_attribute("aria-disabled", "true")
    send.click()
    press(ada, "c")
    expect(ada.locator("hw-console")).to_contain_text("producer send p1 orders-0")
    press(ada, "c")
    take_time(staff)
    expect(sentence(staff)).to_contain_text("who decides afterwards whether to keep your changes")
    # A fork is the learner's alone.
    expect(staff.locator(".tp .fork")).to_have_attribute("aria-disabled", "true")
    ada.get_by_role("tab", name="Class").click()
    ada.get_by_role("button", name="Take back control of time").click()
    expect(play(staff)).to_have_attribute("aria-disabled", "true")
    ada.get_by_role("tab", name="Act").click()
    take_time(staff)
    staff.get_by_role("button", name="End the help").click()
    expect(send).to_have_attribute("aria-disabled", "true")
    expect(play(staff)).to_have_attribute("aria-disabled", "true")
    assert staff.locator(".message.bad").count() == 0
    expect(sentence(ada)).to_be_empty()
    # The panel of the class opens for the choice.
    ada.get_by_role("button", name="Undo them").click()
    # The page shows the lab as it was, which is another branch.
    expect(ada).not_to_have_url(re.compile(re.escape(helped) + r"([?#].*)?$"))
    expect(ada.locator(".hw-node.broker.up")).to_have_count(3)
    press(ada, "c")
    expect(ada.locator("hw-console")).not_to_contain_text("producer send p1 orders-0")


def test_a_follower_returns_to_act_takes_over_and_may_go_on_during_a_hold(staff: Page, ada: Page) -> None:
    own = ada.url.split("?")[0]
    lead(staff)
    expect(sentence(ada)).to_contain_text("You are following Instructor. To act, return to your own lab.")
    expect(play(ada)).to_have_attribute("aria-disabled", "true")
    # Fields work all the same.
    speed = ada.locator("hw-transport [type=range]")
    expect(speed).to_be_enabled()
    assert speed.get_attribute("data-unavailable") is None
    # A menu of the lab that is followed does not act in the own one.
    ada.locator(".hw-node.broker").first.click(button="right")
    choice = ada.locator(".hw-menu button", has_text="broker freeze 1")
    expect(choice).to_have_attribute("aria-disabled", "true")
    choice.dispatch_event("click")
    expect(sentence(ada)).to_be_empty()
    expect(ada.locator(".hw-menu")).to_have_count(0)
    press(ada, "f")
    expect(sentence(ada)).to_contain_text("You are following Instructor.")
    # Acting detaches, as ever.
    play(ada).dispatch_event("click")
    expect(sentence(ada)).to_be_empty()
    expect(play(ada)).not_to_have_attribute("aria-disabled", "true")
    press(ada, "f")
    expect(sentence(ada)).to_contain_text("You are following")
    sentence(ada).get_by_role("button", name="Return to my lab").click()
    expect(sentence(ada)).to_be_empty()
    press(ada, "f")
    sentence(ada).get_by_role("button", name="Take over from here").click()
    expect(ada).not_to_have_url(re.compile(re.escape(own.rsplit("/r/", 1)[1].split("/")[0])))
    # The page shows the new lab; it follows when it is asked to.
    expect(ada.get_by_role("button", name="Instructor is presenting")).to_be_visible()
    expect(play(ada)).not_to_have_attribute("aria-disabled", "true")
    expect(sentence(ada)).to_be_empty()
    press(ada, "f")
    expect(sentence(ada)).to_contain_text("You are following Instructor.")
    sentence(ada).get_by_role("button", name="Return to my lab").click()
    expect(sentence(ada)).to_be_empty()
    staff.get_by_role("button", name="Hold everyone").click()
    expect(sentence(ada)).to_contain_text("asks for your attention. Your lab is paused.")
    sentence(ada).get_by_role("button", name="Leave the hold").click()
    # It also shows her own lab again.
    expect(sentence(ada)).to_be_empty()
    expect(play(ada)).not_to_have_attribute("aria-disabled", "true")
    # A page that is loaded again during the hold does not follow either, once it knows the class.
    ada.reload()
    open_class_panel(ada)
    expect(ada.get_by_role("button", name="Instructor is presenting")).to_have_attribute("aria-pressed", "false")
    expect(sentence(ada)).to_be_empty()
    expect(play(ada)).not_to_have_attribute("aria-disabled", "true")


def test_a_hold_leaves_everyone_where_they_were_when_it_began(staff: Page, ada: Page) -> None:
    lead(staff)
    expect(sentence(ada)).to_contain_text("You are following Instructor.")
    for is_alone in (False, True):
        if is_alone:
            sentence(ada).get_by_role("button", name="Return to my lab").click()
            expect(sentence(ada)).to_be_empty()
        staff.get_by_role("button", name="Hold everyone").click()
        expect(sentence(ada)).to_contain_text("asks for your attention. Your lab is paused.")
        staff.get_by_role("button", name=re.compile("^Release")).click()
        if is_alone:
            expect(sentence(ada)).to_be_empty()
            expect(play(ada)).not_to_have_attribute("aria-disabled", "true")
        else:
            expect(sentence(ada)).to_contain_text("You are following Instructor.")


def test_a_field_keeps_the_focus_when_the_right_to_it_ends(staff: Page, ada: Page) -> None:
    look_in(staff)
    staff.get_by_role("button", name="Help in this lab").click()
    expect(sentence(staff)).to_contain_text("You are helping Ada")
    press(staff, "c")
    line = staff.locator("#console-line")
    expect(line).to_be_focused()
    line.press_sequentially("broker free")
    staff.evaluate(MODULES)
    staff.evaluate("""async () => {
        const { act, tree } = await moduleOf("/ui/classroom/store.js");
        const [p] = Object.entries(tree.value.people).find(([, one]) => one.name === "Ada");
        await act({ op: "end_help", p });
    }""")
    expect(line).to_have_attribute("readonly", "")
    expect(line).to_be_focused()
    staff.keyboard.press("z")
    expect(line).to_have_value("broker free")
    found = asked(staff)
    staff.keyboard.press("Enter")
    expect(staff.locator(".messages")).to_contain_text("You can look, but not act.")
    assert found == []


def test_time_and_commands_are_not_available_while_the_class_is_paused(staff: Page, ada: Page) -> None:
    found = asked(ada)
    ada.reload()
    expect(ada.locator(".hw-node.broker.up")).to_have_count(3)
    staff.get_by_role("button", name="Pause all labs").click()
    expect(sentence(ada)).to_contain_text("The instructor has paused all labs.")
    expect(play(ada)).to_have_attribute("aria-disabled", "true")
    expect(ada.locator("hw-produce .btn.pri")).to_have_attribute("aria-disabled", "true")
    speed = ada.locator("hw-transport [type=range]")
    expect(speed).to_be_enabled()
    press(ada, " ", ".", "Enter")
    assert found == []
    expect(ada.locator(".tp .fork")).not_to_have_attribute("aria-disabled", "true")
    # A bookmark is not an event of the lab.
    expect(ada.locator(".tp .mark-it")).not_to_have_attribute("aria-disabled", "true")
    press(ada, "m")
    ada.get_by_role("button", name="Save bookmark").click()
    expect(ada.locator(".message.ok")).to_contain_text("Saved bookmark")
    staff.get_by_role("button", name="Resume all labs").click()
    expect(sentence(ada)).to_be_empty()
    expect(play(ada)).not_to_have_attribute("aria-disabled", "true")


def test_a_helper_is_told_that_a_hold_stops_the_lab(staff: Page, ada: Page) -> None:
    lead(staff)
    look_in(staff)
    staff.get_by_role("button", name="Help in this lab").click()
    send = staff.locator("hw-produce .btn.pri")
    expect(send).not_to_have_attribute("aria-disabled", "true")
    act(staff, "hold", seconds=60)
    expect(sentence(staff)).to_contain_text("Everyone is held, and Ada's lab is paused.")
    expect(send).to_have_attribute("aria-disabled", "true")
    # Those who have left the hold are not stopped by it.
    sentence(ada).get_by_role("button", name="Leave the hold").click()
    expect(sentence(staff)).to_contain_text("You are helping Ada")
    expect(send).not_to_have_attribute("aria-disabled", "true")
    act(staff, "release")
    act(staff, "hold", seconds=60)
    expect(send).to_have_attribute("aria-disabled", "true")
    sentence(staff).get_by_role("button", name="Release everyone").click()
    expect(sentence(staff)).to_contain_text("You are helping Ada")
    expect(send).not_to_have_attribute("aria-disabled", "true")


def test_who_is_removed_is_told_in_their_lab_which_they_keep_and_cannot_join_again(staff: Page, ada: Page) -> None:
    link = Class.objects.get().link_key
    staff.get_by_role("button", name="Lead the class").click()
    expect(sentence(ada)).to_contain_text("You are following Instructor.")
    staff.locator(".tile").first.click()
    staff.get_by_role("button", name="Remove from the class").click()
    expect(staff.locator(".tile")).to_have_count(0)
    expect(ada.locator(".messages")).to_contain_text("You are no longer in this class.")
    expect(ada.locator("hw-class-panel")).to_have_text("The connection was closed: You are no longer in this class.")
    expect(sentence(ada)).to_be_empty()
    expect(ada.locator("hw-following button")).to_have_count(0)
    expect(play(ada)).not_to_have_attribute("aria-disabled", "true")
    ada.goto(f"{staff.url.split('/classes/')[0]}/join/{link}/")
    expect(ada.get_by_role("status")).to_have_text("Staff have removed you from this class.")


def test_an_observer_acts_nowhere(staff: Page, ada: Page) -> None:
    lead(staff)
    staff.locator(".tile").first.click()
    staff.locator("hw-person select").last.select_option("observer")
    found = asked(ada)
    ada.goto(staff.url.replace("/board/", "/watch/"))
    expect(ada.locator(".hw-node.broker.up")).to_have_count(3)
    expect(sentence(ada)).to_contain_text("Observers cannot act in labs")
    assert sentence(ada).get_by_role("button", name="Take over").count() == 0
    assert ada.evaluate(PRESS_ALL) > 3
    press(ada, *KEYS)
    assert found == []
