// The state of the replay of a class: the instant shown, playback, and the state of the class at that instant.
import { batch, computed, signal } from "@preact/signals-core";
import { inLanguage } from "../../../core/classroom/polls.js";
import { ClassMap } from "../../../core/replay/class_map.js";
import { ClassPlayer } from "../../../core/replay/class_player.js";
import { advance, idleOf, saved, without } from "../../../core/replay/spans.js";
import { Voice } from "../../../core/replay/voice.js";
import { byId } from "../../kit/element.js";
import { language, t } from "../../kit/i18n.js";
import { now_us, tree } from "../../classroom/store.js";
import { base, classPage, source } from "./source.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { LabPlace } from "../../../core/replay/class_map.js" */
/** @import { Manifest, Span } from "../../../core/replay/manifest.d.ts" */
/** @typedef {Error & { what?: string, expected?: string, todo?: string }} Refused what the lab answered, or could not */

const { at = "0", csrf = "" } = byId("replay").dataset;
export const SPEEDS = [0.5, 1, 1.5, 2, 4];
/** Interval at which panels are updated during playback, ms. */
const TOLD_MS = 100;
/** Read-ahead during playback: the voice does not wait for the picture. */
const AHEAD_US = 10e6;
/** Interval at which a live class is polled for new events, ms. */
const REFRESHED_MS = 5000;
/** Distance from now, and from the known end, at which the replay of a live class becomes the class, microseconds. */
const NOW_US = 2e6;
/** Minimum interval at which it is asked for more at its known end, ms. */
const ASKED_MS = 1000;
/** Interval at which the page says how far behind it is, ms. */
const BEHIND_MS = 1000;
const MAX_FRAME_MS = 250;
const SHORTEST_LOOP_US = 100_000;

export { base, classPage };

/** @type {Signal<Manifest | null>} */
export const manifest = signal(null);
/** The instant that panels show, microseconds of class time; `atNow` is exact. */
export const at_us = signal(Number(at));
export const playing = signal(false);
export const speed = signal(1);
/** Whether idle spans are shortened. */
export const skips = signal(localStorage.getItem("highwater.replay.idle") !== "shown");
/** The passage being repeated. @type {Signal<Span | null>} */
export const loop = signal(null);
/** The camera: the presenter's view or the viewer's own. @type {Signal<"led" | "free">} */
export const camera = signal("led");
/** Whether the lab was stepped manually, so that its picture differs from the class's instant. */
export const stepped = signal(false);
/** The reason why the recording cannot be shown, as a sentence. */
export const problem = signal("");
/** How far a live class is ahead of the instant, microseconds. */
export const behind_us = signal(0);
/** Whether a part is being fetched. */
export const waits = signal(false);

/** Spans with captions, by language: these are not skipped as idle. @type {Signal<Span[][]>} */
export const spoken = signal([]);
export const idle = computed(() => {
  const found = manifest.value;
  return found ? idleOf(spoken.value.reduce(without, found.quiet), found.audio.voice, found.off_record) : [];
});
export const savedUs = computed(() => saved(idle.value));
export const length_us = computed(() => manifest.value?.length_us ?? 0);
/** The start of a passage of a recording. */
export const first_us = computed(() => manifest.value?.first_us ?? 0);
/** The last instant to show: at the very end the presenter has stopped leading, and nothing is shown. */
const last_us = computed(() => Math.max(0, length_us.value - 1));

export const classPlayer = new ClassPlayer(base, (...args) => reached(() => source.fetch(...args)));
/** @type {ClassMap} */
export let classMap = new ClassMap([]);
/** Spans whose sound could not be played. @type {Signal<Span[]>} */
export const unplayed = signal([]);
const voice = new Voice(/** @type {HTMLAudioElement} */ (byId("voice")), (piece) => source.soundOf(piece),
  { pieces: [], lost: [], voice: [], shift_us: 0 },
  (pieces) => {
    const shift_us = manifest.peek()?.audio.shift_us ?? 0;
    unplayed.value = pieces.map((one) => [one.at_us + shift_us, one.at_us + one.length_us + shift_us]);
  });

let exact_us = Number(at);
let told_ms = 0;
/** When the class was at the length of the manifest, on the page's clock. */
let known_ms = 0;
let frame_ms = 0;
/** Called with each new instant, before panels are updated. @type {(at_us: number, place: LabPlace | null) => void} */
let onInstant = () => {};
/** @param {typeof onInstant} listener */
export const setOnInstant = (listener) => void (onInstant = listener);

/** Shows the instant again with newly loaded data. */
export const showAgain = () => onInstant(exact_us, classMap.labAt(exact_us));

/** The instant that is shown. */
export const atNow = () => exact_us;

export async function open() {
  try {
    await refresh();
    // Without an instant in the address the page opens at the first instant that shows a lab.
    const isChosen = new URLSearchParams(location.search || location.hash.slice(1)).has("at");
    await seek(isChosen ? exact_us : (classMap.firstShown() ?? 0));
    if (manifest.peek()?.live) {
      speed.value = 2;
      const asking = setInterval(() => {
        if (manifest.peek()?.live) void refresh().catch(() => {});
        else clearInterval(asking);
      }, REFRESHED_MS);
      setInterval(() => (behind_us.value = behindNow()), BEHIND_MS);
    }
  } catch (error) {
    problem.value = sentences(/** @type {Refused} */ (error));
  }
}

export async function refresh() {
  const found = await classPlayer.open();
  classMap = new ClassMap(found.rows);
  voice.audio = found.manifest.audio;
  known_ms = performance.now();
  manifest.value = found.manifest;
}

/** How far a live class is ahead: it goes on between two answers of the lab. */
const behindNow = () =>
  manifest.peek()?.live ? Math.max(0, length_us.peek() + (performance.now() - known_ms) * 1000 - exact_us) : 0;

/** Shows an instant of the class. @param {number} to_us */
export async function seek(to_us) {
  exact_us = Math.max(first_us.peek(), Math.min(to_us, last_us.peek()));
  stepped.value = false;
  voice.pause();
  tell();
  await arrive();
}

/** Fetches the data for the instant, and shows it. */
async function arrive() {
  const wanted_us = exact_us;
  waits.value = true;
  // The lab is fetched together with the class.
  showAgain();
  try {
    await classPlayer.load(wanted_us);
    problem.value = "";
  } catch (error) {
    problem.value = sentences(/** @type {Refused} */ (error));
    playing.value = false;
  } finally {
    waits.value = false;
  }
  if (wanted_us === exact_us && show()) tell();
}

/** Shows the instant; returns whether all its data is loaded. */
function show() {
  const state = classPlayer.show(exact_us);
  if (state === "missing") return false;
  if (state === "changed") tree.value = inLanguage(classPlayer.tree, language);
  showAgain();
  return true;
}

function tell() {
  told_ms = performance.now();
  batch(() => {
    at_us.value = exact_us;
    now_us.value = exact_us;
    behind_us.value = behindNow();
  });
}

/** @param {boolean} on */
export function play(on) {
  if (on && exact_us >= last_us.peek() && !manifest.peek()?.live) void seek(0);
  voice.allow();
  stepped.value = false;
  playing.value = on;
  frame_ms = 0;
  if (on) requestAnimationFrame(frame);
  else voice.pause();
}

/**
 * One frame of playback: the time comes from the voice, or from the clock where there is none.
 * @param {number} now_ms
 */
function frame(now_ms) {
  if (!playing.peek()) return;
  const passed_ms = frame_ms ? Math.min(MAX_FRAME_MS, now_ms - frame_ms) : 0;
  frame_ms = now_ms;
  if (!waits.peek()) go(passed_ms);
  requestAnimationFrame(frame);
}

/** @param {number} passed_ms */
function go(passed_ms) {
  const off = manifest.peek()?.off_record ?? [];
  const shortened = skips.peek() ? idle.peek() : [];
  const ahead_us = advance(exact_us, passed_ms * 1000, { speed: speed.peek(), idle: shortened, off });
  const isJump = ahead_us - exact_us > passed_ms * 1000 * speed.peek() + 1000;
  const heard_us = isJump ? null : voice.at_us;
  exact_us = Math.min(heard_us ?? ahead_us, last_us.peek());
  const repeated = loop.peek();
  if (repeated && exact_us >= Math.min(repeated[1], last_us.peek())) return void seek(repeated[0]);
  if (isJump) voice.pause();
  else if (heard_us === null) voice.play(exact_us, speed.peek());
  classPlayer.prefetch(exact_us + AHEAD_US * speed.peek());
  if (!show()) void arrive();
  else if (performance.now() - told_ms >= TOLD_MS) tell();
  if (exact_us >= last_us.peek() - (manifest.peek()?.live ? NOW_US : 0)) void arrived();
  return undefined;
}

let arrives = false;
let asked_ms = -Infinity;
/** Reached the end; for a live class, unless it has gone on since it was asked for last. */
async function arrived() {
  if (arrives) return;
  arrives = true;
  if (manifest.peek()?.live && performance.now() - asked_ms >= ASKED_MS) {
    asked_ms = performance.now();
    await refresh().catch(() => {});
  }
  arrives = false;
  const isLive = manifest.peek()?.live ?? false;
  if (isLive ? behindNow() > NOW_US : exact_us < last_us.peek()) return;
  play(false);
  tell();
  if (isLive) toNow();
}

/** Leaves the recording of a live class, and follows the class. */
export const toNow = () => location.assign(`${classPage}watch/`);

/** @param {number} to */
export function setSpeed(to) {
  speed.value = to;
  voice.pause();
}

export function toggleSkips() {
  skips.value = !skips.peek();
  localStorage.setItem("highwater.replay.idle", skips.peek() ? "skipped" : "shown");
}

/** Starts or stops repeating the chapter at the instant. */
export function toggleLoop() {
  if (loop.peek()) return void (loop.value = null);
  const chapters = manifest.peek()?.chapters ?? [];
  const begins = [first_us.peek(), ...chapters.map((chapter) => chapter.at_us), length_us.peek()];
  const i = begins.findLastIndex((begin) => begin <= exact_us);
  return void (loop.value = [begins[i], begins[i + 1] ?? length_us.peek()]);
}

/** Moves an end of the repeated passage. @param {0 | 1} end the start, or the end @param {number} to_us */
export function moveLoop(end, to_us) {
  const repeated = loop.peek();
  if (!repeated) return;
  const [from, to] = repeated;
  loop.value = end ? [from, Math.min(Math.max(to_us, from + SHORTEST_LOOP_US), length_us.peek())]
    : [Math.max(Math.min(to_us, to - SHORTEST_LOOP_US), first_us.peek()), to];
}

/** Plays the sound this much later from now on. @param {number} shift_us */
export function delaySound(shift_us) {
  const now = manifest.peek();
  if (!now) return;
  voice.audio = { ...now.audio, shift_us };
  manifest.value = { ...now, audio: { ...now.audio, shift_us } };
}

/** The response of an address of the recording; throws its refusal. @param {string} path */
export const ask = (path) => classPlayer.ask(path);

/** @param {string} path @param {unknown} body @param {string} [method] */
export const send = (path, body, method = "POST") => answered(path, { method, body: JSON.stringify(body),
  headers: { "content-type": "application/json" } });

/** Uploads a file to an address; throws its refusal. @param {string} path @param {Blob} file */
export const sendFile = (path, file) => answered(path, { method: "PUT", body: file });

/**
 * The content of an answer; throws the refusal, also of a server that does not answer.
 * @param {string} path @param {RequestInit} request
 */
async function answered(path, request) {
  const answer = await reached(() => fetch(base + path, { ...request, headers: { ...request.headers, "x-csrftoken": csrf } }));
  if (answer.status === 204) return {};
  // A proxy may answer in the lab's place with a page of its own.
  return answer.json().catch(() => {
    throw ofStatus(answer.status);
  });
}

/** @param {Refused} error */
export const sentences = ({ what, expected, todo, message }) => [what || message, expected, todo].filter(Boolean).join(" ");

/** @param {{ what: string, expected?: string, todo?: string }} said */
const refusal = (said) => Object.assign(new Error(said.what), said);

/** The refusal of an answer that is not the lab's. @param {number} status */
const ofStatus = (status) => refusal({ what: t("error.status", { status }), todo: t("replay.status_todo") });

/**
 * A successful answer; throws the refusal otherwise, also of a lab that does not respond. @param {() => Promise<Response>} ask
 */
export async function reached(ask) {
  const answer = await ask().catch(() => {
    throw refusal({ what: t("replay.unreachable"), expected: t("replay.unreachable_expected"), todo: t("replay.unreachable_todo") });
  });
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => null);
  throw said ? refusal(said) : ofStatus(answer.status);
}

/** An instant of a class as in addresses, `31:42.500`. @param {number} us */
export function addressTime(us) {
  const ms = Math.floor(us / 1000);
  const [minutes, seconds] = [Math.floor(ms / 60_000), Math.floor(ms / 1000) % 60];
  return `${minutes}:${String(seconds).padStart(2, "0")}.${String(ms % 1000).padStart(3, "0")}`;
}
