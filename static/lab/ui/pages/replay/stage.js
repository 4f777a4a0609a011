// The lab that was shown, drawn at the instant of the class: in the presenter's view, or in the viewer's own.
import { Player } from "../../../core/player/player.js";
import { anchorOf, PARTS } from "../../../core/layout/ink.js";
import { lostRecords, sortedAlarms } from "../../../core/view/alarms.js";
import { createStage } from "../../../draw/stage.js";
import { HwElement, byId, html } from "../../kit/element.js";
import { t, texts } from "../../kit/i18n.js";
import { sentence } from "../../kit/words.js";
import { SCREENS, effect, signal, split } from "../../store/state.js";
import { clockText, tree } from "../../classroom/store.js";
import { clockText as labClock } from "../../../core/player/timemap.js";
import { source } from "./source.js";
import * as replay from "./store.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Stage } from "../../../draw/stage.js" */
/** @import { LabPlace } from "../../../core/replay/class_map.js" */
/** @import { PageView } from "../../../core/player/page_view.js" */
/** @import { Target } from "../../../core/view/selectors.js" */

const still = matchMedia("(prefers-reduced-motion: reduce)");

/** The number of the lab whose picture is shown; null if no lab was shown. @type {Signal<number | null>} */
export const lab = signal(null);
const NOTHING = { seq: 0, at_us: 0, last: 0, said: "", alarms: 0, lost: 0 };
/**
 * What the picture shows: its event, the number of events, unexplained alarms up to it, and lost acknowledged records.
 */
export const shownEvent = signal(NOTHING);

/** Why the picture of a lab cannot be loaded, as sentences; empty when it was loaded. */
const unloaded = signal("");
/** What a picture consists of. */
const PARTS_OF_LAB = /\/(?:index|segments\/\d+)\.json$/;

/**
 * Fetches for a player. Only where the picture shown misses what was not fetched is a failure reported: read-ahead is fetched again
 * when it is needed.
 * @param {() => Player} of @param {RequestInfo | URL} address @param {RequestInit} [request]
 */
async function fetchOfLab(of, address, request) {
  if (!PARTS_OF_LAB.test(String(address))) return source.fetch(address, request);
  try {
    const answer = await replay.reached(() => source.fetch(address, request));
    if (of() === player) unloaded.value = "";
    return answer;
  } catch (error) {
    if (of() === player && isMissing(of())) unloaded.value = replay.sentences(/** @type {import("./store.js").Refused} */ (error));
    throw error;
  }
}

/** Whether the picture is not there, or is still that of another instant. @param {Player} of */
const isMissing = (of) => !of.view || of.isSeeking;

/** Loads what is missing of the picture. */
function loadAgain() {
  unloaded.value = "";
  if (player && !player.index) void player.refresh();
  void replay.seek(replay.atNow());
}

addEventListener("online", () => unloaded.peek() && loadAgain());

/** Read-ahead in events: the segment of this later event is fetched before it is needed. */
const AHEAD_EVENTS = 500;

/** @type {Map<number, Player>} */
const players = new Map();
/** @type {Stage | null} */
let drawn = null;
/** @type {Player | null} */
let player = null;

/** A lab's player, which starts at the lab's position. @param {LabPlace} place */
function playerOf({ lab: n, seq, at_us, runs }) {
  const found = players.get(n);
  if (found) return found;
  const address = replay.manifest.peek()?.labs[n]?.address ?? "/";
  const [run, branch] = address.split("/");
  const made = new Player({ url: location.origin, run, branch, api: `${location.origin}${replay.base}labs/${n}/`, WebSocket: null,
    isReadOnly: true, fetch: (address, request) => fetchOfLab(() => made, address, request), at: runs || !seq ? at_us : null,
    seq: runs ? null : seq, calm: () => still.matches });
  made.subscribe(({ what }) => {
    if (player !== made) return;
    // Repeats a seek that was made before the lab was loaded.
    if (what.has("index")) replay.showAgain();
    tell();
  });
  players.set(n, made);
  return made;
}

/** Resolves when a picture is drawn, or none is to be shown. @returns {Promise<void>} */
export const pictured = () => new Promise((resolve) => {
  const end = effect(() => {
    if (lab.value === null || shownEvent.value.seq > 0) queueMicrotask(() => (end(), resolve()));
  });
});

function tell() {
  if (!player) return;
  const last = player.event(player.seq);
  const { seq, at_us, view: shown } = player;
  if (!shown) return;
  shownEvent.value = { seq, at_us, last: player.live_seq, said: last ? sentence(last) : "", alarms: sortedAlarms(shown).unexplained.length,
    lost: lostRecords(shown).records };
}

/** Moving the picture switches to the viewer's own view. */
function mayPan() {
  replay.camera.value = "free";
  return true;
}

/** Draws another lab, or none. @param {LabPlace | null} place */
function change(place) {
  drawn?.destroy();
  drawn = null;
  player = place && playerOf(place);
  unloaded.value = "";
  shownEvent.value = NOTHING;
  lab.value = place && place.lab;
  if (!player) return;
  drawn = createStage({ stage: byId("stage"), timeline: byId("timeline") }, player, { t, texts, time: {
    seek: (us) => seekLab(us),
    seekSeq: (seq) => seekSeq(seq),
    goLive: () => void replay.seek(replay.length_us.peek()),
  }, mayPan });
  look(/** @type {PageView | undefined} */ (/** @type {unknown} */ (tree.peek().view)));
  drawn.setInk(tree.peek().ink ?? {});
  tell();
}

/** Seeks to the instant of the class at which an instant of the lab was shown. @param {number} lab_us */
export function seekLab(lab_us) {
  const n = lab.peek();
  const at_us = n === null ? null : replay.classMap.classAt(n, lab_us, replay.atNow());
  if (at_us !== null) void replay.seek(at_us);
}

/** Shows an event of the lab while the class is paused. @param {number} seq */
function seekSeq(seq) {
  replay.play(false);
  replay.stepped.value = true;
  unloaded.value = "";
  player?.seekSeq(seq);
}

/** Steps through the lab by event, or to the next delivery of a message. @param {1 | -1 | "rpc"} by */
export function step(by) {
  if (!player) return;
  replay.play(false);
  replay.stepped.value = true;
  unloaded.value = "";
  if (by === "rpc") void player.stepRpc();
  else void player.stepEvent(by);
}

/** The lab, event and instant shown. */
export const place = () => (lab.peek() === null || !player ? null : { lab: lab.peek(), seq: player.seq, at_us: player.at_us });

replay.setOnInstant((at_us, /** @type {LabPlace | null} */ found) => {
  if ((found?.lab ?? null) !== lab.peek()) change(found);
  if (player && found && !replay.stepped.peek()) {
    move(player, found);
    if (!isMissing(player)) unloaded.value = "";
  }
  const pointer = replay.classPlayer.pointer(at_us);
  const anchor = pointer && anchorOf(pointer.anchor);
  const lead = tree.peek().lead;
  drawn?.setPointer(lead?.name ?? "", pointer && anchor && { anchor, u: pointer.u / PARTS, v: pointer.v / PARTS });
});

/** Moves the lab's time to its position in the presenter's view. @param {Player} to @param {LabPlace} found */
function move(to, found) {
  // The lab's extent is not known yet; it is moved as soon as it is.
  if (!to.index) return;
  const view = /** @type {PageView | undefined} */ (/** @type {unknown} */ (tree.peek().view));
  const looksBack = replay.camera.peek() === "led" && view?.branch === `${to.run}/${to.branch}` && view.seq !== null && view.at_us !== null;
  if (looksBack) {
    if (to.seq !== view.seq || to.at_us !== view.at_us) to.seekSeq(/** @type {number} */ (view.seq), /** @type {number} */ (view.at_us));
  } else if (found.runs) {
    to.seekTime(Math.min(found.at_us, Math.max(0, to.live_at_us - 1)));
    to.wantEvent(Math.min(to.seq + AHEAD_EVENTS, to.live_seq));
  } else if (found.seq && (to.seq !== found.seq || to.at_us !== found.at_us)) to.seekSeq(found.seq, found.at_us);
}

/** Scrolls what the presenter looked at into view. @param {PageView | undefined} view */
function look(view) {
  if (!drawn || !view || replay.camera.peek() !== "led") return;
  if (view.partition) drawn.setTopic(view.partition.replace(/-\d+$/, ""));
  const [type, id] = split(view.selection ?? "");
  drawn.select(type ? { type: /** @type {Target["type"]} */ (type), id } : null);
  drawn.showSight({ ranges: view.ranges, window: view.window }, view.partition);
}

const view = () => /** @type {PageView | undefined} */ (/** @type {unknown} */ (tree.value.view));
let lookedAt = "";
effect(() => {
  const to = view();
  const now = JSON.stringify([replay.camera.value, to?.ranges, to?.window, to?.partition, to?.selection]);
  if (now !== lookedAt) look(to);
  lookedAt = now;
});
// The labs of a live class also grow.
effect(() => {
  const last_seq = replay.manifest.value?.labs[lab.value ?? -1]?.last_seq ?? 0;
  if (player?.index && last_seq > player.live_seq) void player.refresh();
});
effect(() => void (replay.at_us.value, tell()));
effect(() => {
  const { ink = {} } = tree.value;
  drawn?.setInk(ink);
});

class HwReplayStageBar extends HwElement {
  /** What the picture shows. @param {number} n the lab */
  #shown(n) {
    const { seq, at_us, last, said, alarms, lost } = shownEvent.value;
    return html`<span class="chip"><bdi>${replay.manifest.value?.labs[n]?.title}</bdi></span>
      <span class="said" title=${said}>${said}</span>
      ${alarms ? html`<span class="tag bad">✕ ${t("health.alarms", { n: alarms })}</span>` : ""}
      ${lost ? html`<span class="tag bad">✕ ${t("health.lost", { n: lost })}</span>` : ""}
      <span class="mono dim">${labClock(at_us).clock} · ${t("replay.event_of", { n: seq, of: last })}</span>`;
  }

  render() {
    const { lead, stage } = tree.value;
    const n = lab.value;
    const screen = view()?.screen;
    const name = lead?.name || (stage?.shown ? stage.name : "") || "";
    return html`<b>${t("replay.stage")}</b>
      <div class="seg" role="group" aria-label=${t("replay.camera")}>${/** @type {const} */ (["led", "free"]).map((one) => html`<button
        aria-pressed=${replay.camera.value === one} @click=${() => (replay.camera.value = one)}>${one === "led"
          ? t(name ? "replay.camera_of" : "replay.camera_led", { name }) : t("replay.camera_free")}</button>`)}</div>
      ${screen && SCREENS.includes(screen) && lead ? html`<span class="tag">${t("replay.looks_at",
        { name, screen: t(`stage.${screen}`) })}</span>` : ""}
      ${n === null ? "" : this.#shown(n)}
      ${replay.stepped.value ? html`<button class="chip" @click=${() => void replay.seek(replay.atNow())}>${t("replay.back_to",
        { at: clockText(replay.at_us.value) })}</button>` : ""}`;
  }
}
customElements.define("hw-replay-stage-bar", HwReplayStageBar);

class HwReplayEmpty extends HwElement {
  render() {
    const { manifest, problem, waits, at_us } = replay;
    if (problem.value) return html`<p class="message bad" role="alert">${problem.value} <button class="btn"
      @click=${() => void replay.open()}>${t("replay.again")}</button></p>`;
    if (unloaded.value) return html`<p class="message bad" role="alert">${unloaded.value} <button class="btn"
      @click=${loadAgain}>${t("replay.again")}</button></p>`;
    if (!manifest.value) return html`<p class="nobody">${t("replay.loading")}</p>`;
    if (lab.value !== null) return "";
    if (waits.value) return html`<p class="nobody">${t("replay.loading")}</p>`;
    const text = manifest.value.labs.length ? t("replay.no_lab_now", { at: clockText(at_us.value) }) : t("replay.no_lab");
    return html`<p class="nobody">${text}</p>`;
  }
}
customElements.define("hw-replay-empty", HwReplayEmpty);
