"""A recorded class of 90 minutes (`loads/recorded_class.py`), sealed and replayed in Chromium. Prints JSON.

`audio`: at 20 places, how far the begin of a tone is from the picture of the stroke that was drawn at that instant.
`seek`: to random instants, until the picture is complete. `open`: until the picture is there, the first time after the
server has started, and later. Acceptance statements 21 and 22 of the live class. What a browser's recorder adds to the
distance of sound and picture is measured by tests/browser/test_class_sound.py.
"""

import argparse
import json
import os
import random
import tempfile
import time
from base64 import b64decode
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.ending import run
from benchmarks.loads import recorded_class as made
from benchmarks.server_bench import RunningLab, make_recording, ms_since, running_lab

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WARM_UP = 3

_ENCODE = """async () => {
  const rate = 48000, packets = [];
  let head = null;
  const text = (bytes) => btoa(String.fromCharCode(...bytes));
  const encoder = new AudioEncoder({ error: (problem) => { throw problem; }, output: (chunk, about) => {
    const data = new Uint8Array(chunk.byteLength);
    chunk.copyTo(data);
    packets.push(text(data));
    head ??= text(new Uint8Array(about.decoderConfig.description));
  } });
  encoder.configure({ codec: "opus", sampleRate: rate, numberOfChannels: 1, bitrate: 32000, bitrateMode: "constant" });
  for (let s = 0; s < 10; s++) {
    const data = Float32Array.from({ length: rate }, (_, i) =>
      (Math.random() - 0.5) * 0.04 + (s === 5 && i < rate * 0.15 ? 0.6 * Math.sin((2 * Math.PI * 800 * i) / rate) : 0));
    encoder.encode(new AudioData({ format: "f32", sampleRate: rate, numberOfFrames: rate, numberOfChannels: 1,
      timestamp: s * 1e6, data }));
  }
  await encoder.flush();
  return { head, packets };
}"""
#: the page's own modules, which are in it already
_MODULES = """
  const urls = performance.getEntriesByType("resource").map((entry) => entry.name);
  const own = (name) => import(urls.find((url) => url.endsWith(`/ui/pages/replay/${name}.js`)));
  const [replay, stage] = [await own("store"), await own("stage")];
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
"""
_OPENED = """async () => {
  const isThere = () => document.querySelector(".hw-node.broker.up") && document.querySelector("hw-replay-bar .track")
    && document.querySelector("hw-replay-transport .go:not([disabled])");
  while (!isThere()) await new Promise((resolve) => requestAnimationFrame(resolve));
  return performance.now();
}"""
_SEEK = f"""async (part) => {{ {_MODULES}
  const track = document.querySelector("hw-replay-bar .track");
  const {{ left, top, width }} = track.getBoundingClientRect();
  track.setPointerCapture = () => {{}};
  let last = 0, shown = -1, told = null;
  const began = performance.now();
  track.dispatchEvent(new PointerEvent("pointerdown", {{ clientX: left + part * width, clientY: top + 20, button: 0,
    pointerId: 1, bubbles: true }}));
  while (replay.waits.value || performance.now() - Math.max(began, last) < 400) {{
    await frame();
    const seq = stage.shownEvent.value.seq, tree = replay.classPlayer.tree;
    if (seq !== shown || tree !== told) last = performance.now();
    [shown, told] = [seq, tree];
  }}
  const place = replay.classMap.labAt(replay.atNow());
  const answer = await fetch(`${{replay.base}}labs/${{place.lab}}/seek?t_us=${{Math.floor(place.at_us)}}`);
  const {{ seq }} = await answer.json();
  return {{ ms: last - began, off: Math.abs(seq - shown) }};
}}"""
_LISTEN = f"""async (at_us) => {{ {_MODULES}
  if (!window.heard) {{
    const context = new AudioContext();
    window.heard = new AnalyserNode(context, {{ fftSize: 8192 }});
    const mediaElement = document.getElementById("voice");
    new MediaElementAudioSourceNode(context, {{ mediaElement }}).connect(window.heard);
    window.heard.connect(context.destination);
    await context.resume();
  }}
  const samples = new Float32Array(8192), rate = window.heard.context.sampleRate;
  await replay.seek(at_us - 1.5e6);
  await new Promise((resolve) => setTimeout(resolve, 300));
  replay.play(true);
  const began = performance.now();
  let sound = null, picture = null;
  while ((sound === null || picture === null) && performance.now() - began < 5000) {{
    await frame();
    const now = performance.now();
    if (picture === null && document.querySelector(".hw-ink polyline")) picture = now;
    window.heard.getFloatTimeDomainData(samples);
    const loud = samples.findIndex((sample) => Math.abs(sample) > 0.15);
    if (sound === null && loud >= 0) sound = now - ((samples.length - loud) / rate) * 1000;
  }}
  replay.play(false);
  return sound === null || picture === null ? null : sound - picture;
}}"""


def make_class(data: Path, events: int, pattern: dict[str, Any]) -> None:
    """The class in the lab's data folder, ended and not sealed."""
    os.environ["HIGHWATER_DATA"] = str(data)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lab.settings")
    # The driver of the browser has an event loop, which Django takes for its own.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command

    from lab.classroom.audio.webm import Packet, Sound

    call_command("migrate", verbosity=0)
    recording = make_recording(settings.RUNS, events)
    folder = settings.DATA / "classes" / made.SLUG
    packets = [Packet(20 * n, b64decode(one)) for n, one in enumerate(pattern["packets"])]
    arrived = made.keep_sound(folder, Sound(b64decode(pattern["head"]), packets))
    texts = made.write_log(folder, recording.seq_at, recording.last_at_us, arrived)
    _enter(texts, recording.config)
    recording.close()


def _enter(texts: list[str], config: dict[str, Any]) -> None:
    """The rows of the class: people, texts, and the run that led."""
    from django.utils import timezone

    from lab.models import Branch, Class, ClassText, Participant, Role, Run
    from lab.web.sign_in import local_user

    user = local_user()
    room = Class.objects.create(
        slug=made.SLUG,
        owner=user,
        title="Ninety minutes",
        chapter=made.LESSON,
        languages=["en"],
        link_key="x" * 26,
        state=Class.State.ENDED,
        ended_at=timezone.now(),
    )
    teacher = Participant.objects.create(
        classroom=room, number=1, user=user, role=Role.INSTRUCTOR, is_guest=False, nickname="Lin", skeleton="lin"
    )
    for number in range(2, made.LEARNERS + 2):
        name = f"Learner {number}"
        Participant.objects.create(
            classroom=room, number=number, nickname=name, skeleton=name.lower(), consent="nickname"
        )
    for number, body in enumerate(texts, 1):
        ClassText.objects.create(classroom=room, number=number, author=teacher, language="en", body=body)
    slug, branch = made.LED.split("/")
    run = Run.objects.create(
        slug=slug, owner=user, name="The lab that led", seed=1, brokers=len(config["brokers"]), era=config["era"]
    )
    Branch.objects.create(run=run, name=branch)


def measure(events: int, seeks: int, heard: int) -> dict[str, Any]:
    """Weights in MB, times in ms."""
    from devtools.tour.chromium import chromium

    autoplay = "--autoplay-policy=no-user-gesture-required"
    with tempfile.TemporaryDirectory(prefix="highwater-bench-") as folder, chromium(autoplay) as browser:
        began_s = time.perf_counter()
        make_class(Path(folder), events, _pattern(browser))
        found: dict[str, Any] = {"made_s": round(time.perf_counter() - began_s, 1)}
        with running_lab(Path(folder)) as lab:
            began_s = time.perf_counter()
            lab.get_ms(f"/api/classes/{made.SLUG}/recording/manifest.json")
            found["seal_ms"] = round(ms_since(began_s))
            found["export_mb"] = round(lab.size_of(f"/api/classes/{made.SLUG}/recording/export") / 1e6, 1)
        with running_lab(Path(folder)) as lab:
            found |= _replayed(browser, lab, seeks, heard)
    return found


def _pattern(browser: "Browser") -> dict[str, Any]:
    """Ten seconds of sound. The encoder is there for pages of this machine."""
    page = browser.new_page()
    page.route("http://localhost/**", lambda route: route.fulfill(body="", content_type="text/html"))
    page.goto("http://localhost/")
    found: dict[str, Any] = page.evaluate(_ENCODE)
    page.close()
    return found


def _replayed(browser: "Browser", lab: RunningLab, seeks: int, heard: int) -> dict[str, Any]:
    address = f"{lab.base}/classes/{made.SLUG}/replay/?at=45:00"
    page, opened = None, []
    for _ in range(4):
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        page = context.new_page()
        # Signed in by a page that shares nothing with the replay.
        page.goto(f"{lab.sign_in}&next=/static/lab/icons.svg")
        page.goto(address, wait_until="commit")
        opened.append(page.evaluate(_OPENED))
    assert page is not None
    page.wait_for_timeout(2_000)
    instants = random.Random(2)
    sought = [page.evaluate(_SEEK, instants.random()) for _ in range(WARM_UP + seeks)][WARM_UP:]
    times = sorted(one["ms"] for one in sought)
    apart = {at_us // made.US: page.evaluate(_LISTEN, at_us) for at_us in made.places(heard)}
    off_ms = [abs(one) for one in apart.values() if one is not None]
    return {
        "open": {"first_ms": round(opened[0]), "later_ms": round(median(opened[1:]))},
        "seek": {
            "p50_ms": round(median(times)),
            "p99_ms": round(times[min(len(times) - 1, int(0.99 * len(times)))]),
            "worst_off_events": max(one["off"] for one in sought),
        },
        "audio": {
            "places": len(off_ms),
            "worst_ms": round(max(off_ms)),
            "p50_ms": round(median(off_ms)),
            "at_s": apart,
        },
        "heap_mb": round(_heap_bytes(page) / 1e6),
    }


def _heap_bytes(page: "Page") -> float:
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    metrics = session.send("Performance.getMetrics")["metrics"]
    return float(next(one["value"] for one in metrics if one["name"] == "JSHeapUsedSize"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=200_000, help="of the lab that leads")
    parser.add_argument("--seeks", type=int, default=150)
    parser.add_argument("--places", type=int, default=20)
    given = parser.parse_args()
    print(json.dumps(measure(given.events, given.seeks, given.places), indent=1))


if __name__ == "__main__":
    run(main)
