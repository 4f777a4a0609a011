"""The sound of a class, recorded by a real browser from a tone at known instants: offline, reloaded, and aligned."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from playwright.sync_api import BrowserType, Page, expect

from devtools.tour.contexts import WarmContexts
from lab.actions.classes.live_class import close_classes, live_classes
from lab.models import Class, Run
from tests.support.lab_page import WIDE
from tests.support.lab_server import PATIENCE_S, LabServer

ALIGNED_US = 200_000
MICROPHONE = """
  // A microphone that hears 100 ms of a tone at the begin of every second of `heard.currentTime`.
  navigator.mediaDevices.getUserMedia = async () => {
    const context = (window.heard = new AudioContext());
    const tone = new OscillatorNode(context, { frequency: 800 });
    const gain = new GainNode(context, { gain: 0 });
    for (let s = 1; s < 120; s++) {
      gain.gain.setValueAtTime(0.5, s);
      gain.gain.setValueAtTime(0, s + 0.1);
    }
    const out = new MediaStreamAudioDestinationNode(context, { channelCount: 1 });
    tone.connect(gain).connect(out);
    tone.start();
    return out.stream;
  };
"""
HEARD = """async () => {
  const voice = document.getElementById("voice");
  while (voice.currentTime < 0.3) await new Promise((resolve) => requestAnimationFrame(resolve));
  return voice.src;
}"""
ONSETS = """async (address) => {
  const data = await (await fetch(address)).arrayBuffer();
  const context = new OfflineAudioContext(1, 48000, 48000);
  const samples = (await context.decodeAudioData(data)).getChannelData(0);
  const found = [];
  for (let at = 0, quiet = 0; at < samples.length; at++) {
    if (Math.abs(samples[at]) > 0.1) {
      if (quiet > 24000) found.push(at / 48000);
      quiet = 0;
    } else quiet++;
  }
  return found;
}"""


@pytest.fixture(scope="module")
def hearing(browser_type: BrowserType, browser_type_launch_args: dict[str, object]) -> Iterator[WarmContexts]:
    """Contexts of a browser that grants the microphone."""
    args = [
        "--use-fake-ui-for-media-stream",
        "--use-fake-device-for-media-stream",
        "--autoplay-policy=no-user-gesture-required",
    ]
    found = browser_type.launch(**{**browser_type_launch_args, "args": args})  # type: ignore[arg-type]
    yield WarmContexts(found)
    found.close()


@pytest.fixture
def board(hearing: WarmContexts, lab_server: LabServer) -> Iterator[Page]:
    """The board of a new class, with a microphone that hears the tone."""
    context = hearing.take({"viewport": WIDE})
    context.set_default_timeout(PATIENCE_S * 1000)
    page = context.new_page()
    page.add_init_script(MICROPHONE)
    page.goto(f"{lab_server.address}/sign-in/?token={settings.SIGN_IN_TOKEN}&next=/classes/")
    form = page.locator("#new-class")
    form.get_by_label("Name").fill("Storage systems")
    form.get_by_role("button", name="Start class").click()
    page.get_by_role("link", name="Open the board").click()
    yield page
    hearing.give_back(context)
    lab_server.call(lambda _: close_classes())
    Run.objects.filter(classroom__isnull=False).update(classroom=None)
    Class.objects.all().delete()


def arrival(page: Page, path: str) -> object:
    return page.expect_response(lambda answer: path in answer.url and answer.status == 200)


def test_sound_survives_a_lost_network_and_a_reload_and_is_aligned(
    board: Page, lab_server: LabServer, tmp_path: Path
) -> None:
    """Acceptance statement 21, with a real recorder: the bench has the 90 minutes."""
    board.get_by_role("button", name="Lead the class").click()
    expect(board.get_by_role("button", name="You lead")).to_be_visible()
    slug = board.url.rstrip("/").split("/")[-2]
    sound = f"/api/classes/{slug}/recording/audio/"

    def class_us() -> int:
        found = lab_server.call(lambda _: live_classes().opened(slug))
        return int(found.room.now_us())

    with arrival(board, sound):  # type: ignore[attr-defined]
        board.get_by_role("button", name="Record sound").click()
    expect(board.locator("hw-microphone")).to_contain_text("Sound is recorded")
    begun_us = class_us() - int(board.evaluate("heard.currentTime") * 1e6)
    board.context.set_offline(True)
    expect(board.locator("hw-microphone")).to_contain_text("The server does not respond")
    board.context.set_offline(False)
    with arrival(board, sound):  # type: ignore[attr-defined]
        pass
    with arrival(board, "/end"):  # type: ignore[attr-defined]
        board.reload()
    expect(board.locator("hw-microphone")).to_contain_text("Sound is recorded")
    with arrival(board, sound):  # type: ignore[attr-defined]
        pass
    with arrival(board, "/end"):  # type: ignore[attr-defined]
        board.get_by_role("button", name="Stop recording sound").click()
    expect(board.locator("hw-microphone")).to_contain_text("of sound stored")
    stored = board.evaluate(f"fetch('/api/classes/{slug}/recording/manifest.json').then((answer) => answer.json())")[
        "audio"
    ]
    assert len(stored["pieces"]) == 2 and stored["lost"] == []
    assert stored["voice"], "also what was said before the reload is known as speech"
    assert stored["voice"][0][0] < stored["pieces"][0]["at_us"] + stored["pieces"][0]["length_us"]
    first = stored["pieces"][0]
    onsets = board.evaluate(ONSETS, f"{sound}{first['piece']}")
    assert len(onsets) >= 2
    for onset_s in onsets:
        off_us = (first["at_us"] + onset_s * 1e6 - begun_us) % 1_000_000
        print("aligned within", min(off_us, 1_000_000 - off_us) / 1000, "ms")
        assert min(off_us, 1_000_000 - off_us) < ALIGNED_US
    board.locator("hw-class-end summary").click()
    board.get_by_role("button", name="End the class for everyone").click()
    expect(board.locator("hw-class-end summary")).to_have_count(0)
    board.goto(board.url.replace("/board/", "/replay/"))
    is_replayed_taken_over_and_carried_away(board, tmp_path / "class.html")


def is_replayed_taken_over_and_carried_away(page: Page, file: Path) -> None:
    expect(page.locator(".hw-node.broker.up")).to_have_count(3)
    page.get_by_role("button", name="Play", exact=True).click()
    assert "/recording/audio/" in page.evaluate(HEARD)
    page.get_by_role("button", name="Save as a page").click()
    with page.expect_download() as saved:
        page.get_by_role("dialog").get_by_role("button", name="Save").click()
    saved.value.save_as(file)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Take over from here").click()
    page.wait_for_url("**/r/*/main*")
    expect(page.locator(".nodes .state.up")).to_have_count(3)
    assert page.context.browser is not None
    context = page.context.browser.new_context(offline=True)
    alone = context.new_page()
    alone.goto(file.as_uri())
    alone.get_by_role("button", name="Play", exact=True).click()
    assert alone.evaluate(HEARD).startswith("blob:")
    expect(alone.locator(".hw-node.broker.up")).to_have_count(3)
    context.close()


def test_refused_or_lost_microphone_is_reported_and_the_class_continues(board: Page) -> None:
    panel = board.locator("hw-microphone")
    record = panel.get_by_role("button", name="Record sound")
    board.evaluate(f"() => {{ {MICROPHONE} window.given = navigator.mediaDevices.getUserMedia; }}")
    for error, said in {
        "NotFoundError": "No microphone was found",
        "NotReadableError": "The microphone is in use",
        "NotAllowedError": "denied access to the microphone",
    }.items():
        refused = f"() => Promise.reject(new DOMException('', '{error}'))"
        board.evaluate(f"() => (navigator.mediaDevices.getUserMedia = {refused})")
        record.click()
        expect(panel.get_by_role("alert")).to_contain_text(said)
        expect(record).to_be_visible()
    board.evaluate("() => (navigator.mediaDevices.getUserMedia = async () => (window.stream = await window.given()))")
    record.click()
    expect(panel).to_contain_text("Sound is recorded")
    expect(panel.get_by_role("alert")).to_have_count(0)
    board.evaluate(
        "() => stream.getTracks().forEach((track) => { track.stop(); track.dispatchEvent(new Event('ended')); })"
    )
    expect(panel.get_by_role("alert")).to_contain_text("The microphone is no longer available")
    expect(panel).not_to_contain_text("Sound is recorded")
    expect(record).to_be_visible()


@pytest.mark.parametrize("broken", ["IDBFactory.prototype.open", "IDBObjectStore.prototype.put"])
def test_browser_that_cannot_store_sound_is_reported_and_the_class_continues(board: Page, broken: str) -> None:
    board.add_init_script(f"{broken} = () => {{ throw new DOMException('', 'QuotaExceededError'); }}")
    board.reload()
    panel = board.locator("hw-microphone")
    record = panel.get_by_role("button", name="Record sound")
    record.click()
    expect(panel.get_by_role("alert")).to_contain_text("could not store the sound")
    expect(record).to_be_visible()
    expect(panel).not_to_contain_text("Sound is recorded")


def test_recorder_that_ends_unexpectedly_is_reported(board: Page) -> None:
    board.add_init_script(
        "const start = MediaRecorder.prototype.start; "
        "MediaRecorder.prototype.start = function (ms) { start.call(this, ms); window.recorder = this; };"
    )
    board.reload()
    panel = board.locator("hw-microphone")
    panel.get_by_role("button", name="Record sound").click()
    expect(panel).to_contain_text("Sound is recorded")
    board.evaluate(
        "async () => { while (!window.recorder) await new Promise(requestAnimationFrame); recorder.stop(); }"
    )
    expect(panel.get_by_role("alert")).to_contain_text("The browser stopped recording")
    expect(panel.get_by_role("button", name="Record sound")).to_be_visible()


def test_browser_that_cannot_record_is_reported(board: Page) -> None:
    for without, said in (
        ("delete globalThis.MediaRecorder", "This browser cannot record sound"),
        ("MediaRecorder.isTypeSupported = () => false", "This browser cannot record sound"),
        ("Object.defineProperty(globalThis, 'isSecureContext', { value: false })", "over TLS"),
    ):
        # The same board in another tab.
        board.wait_for_url("**/board/")
        page = board.context.new_page()
        page.add_init_script(without)
        page.goto(board.url)
        panel = page.locator("hw-microphone")
        expect(panel).to_contain_text(said)
        expect(panel.get_by_role("button")).to_have_count(0)
        expect(page.get_by_role("button", name="Take off the record")).to_be_visible()
        page.close()
