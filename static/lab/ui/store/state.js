// What the elements share: the instant that is shown, what is selected, and the few switches of the page.
import { batch, computed, effect, signal, untracked } from "@preact/signals-core";
import { EMPTY_VIEW } from "../../core/view/empty.gen.js";

export { batch, computed, effect, signal, untracked };

/** @import { Signal } from "@preact/signals-core" */
/** @import { Change } from "../../core/view/changes.js" */
/** @import { Connection } from "../../core/live/feed.js" */
/** @import { Mode } from "../../core/live/clock.js" */
/** @import { Player } from "../../core/player/player.js" */
/** @import { Index } from "../../core/recording/recording.js" */
/** @import { View } from "../../core/view/view.d.ts" */

/**
 * @typedef {{ view: View, seq: number, at_us: number, live_seq: number, live_at_us: number, mode: Mode, rate: number,
 *             reachedRate: number | null, isPast: boolean, pauseWhen: string,
 *             connection: Connection }} Moment
 * @typedef {{ choice: string, confidence: number | null, outcome: string | null }} Given
 * @typedef {{ at_us: number, seq: number, screen: string, text: string }} Freeze
 * @typedef {{ value: string, note: string }} Choice
 * @typedef {{ number: number, minutes: number, title: string }} Part
 * @typedef {{ id: string, state: "active" | "done", kind: "goals" | "prediction" | "answer", part: Part | null, text: string,
 *             choices: Choice[], makes_step: boolean, checked: { at_us: number, seq: number, detail: string } | null,
 *             skipped: boolean, why_not: string, wrong: string, given: Given | null, said: Record<string, string>,
 *             reasons: Record<string, string>, freeze: Freeze | null }} StepFrame a step that has opened
 *   `choices`: of a question, in the order shown; an answer without choices is a number; `makes_step`: locking in makes a step;
 *   `said`: the values of the choices, in words; `reasons`: known ones, by name
 * @typedef {{ text: string, choices: { place: number, text: string }[], choice: number | null, right: number | null,
 *             reasons: string[] }} TransferFrame a choice is named by its place
 * @typedef {{ text: string, concept: string, against: { quote: string, english: string, text: string } | null,
 *             chain: number, via: number, chain_title: string, transfer: TransferFrame | null }} Debrief
 *   `chain`: the event that it explains, `via`: the event at which its chain continues; 0 for none
 * @typedef {{ slug: string, brief: string, steps: (StepFrame | { state: "open" })[], hints: string[], hints_in_all: number,
 *             masked: boolean, finished: boolean, restarted: boolean, waits: boolean, debrief: Debrief | null }} ExerciseFrame
 *   in the language of the page, without the texts that are not due
 * @typedef {{ run: string, branch: string, boot: string, schema: string, core: string, name: string, zookeeper: string, bootstrap: string,
 *             user: string, rights: string[], names: Record<string, string> }} Welcome
 */

/** The player that the page shows. @type {Player} */
export let player;
/** The same; null before the first. What follows a player follows this. @type {Signal<Player | null>} */
export const front = signal(null);
/** The player of the page's own branch; while the page follows, another one is shown. @type {Player} */
export let own;
/** Whether the page shows its own branch. */
export const isOwn = computed(() => front.value === null || front.value === own);

/**
 * Facts of the instant shown. The object is new at each change; its `view` is the player's own, patched in place.
 * @type {Signal<Moment>}
 */
export const moment = signal({
  view: EMPTY_VIEW, seq: 0, at_us: 0, live_seq: 0, live_at_us: 0, mode: "pause", rate: 1, reachedRate: null, isPast: false, pauseWhen: "",
  connection: "connecting",
});

/** What is selected, as type and id of a Target of core/view/selectors.js: "replica:orders-0@b1", "znode:/controller", ... or "". */
export const selection = signal("");
/** The record under the pointer, in the picture or in its bytes: "orders-0@b1:42" or "". */
export const hovered = signal("");
export const partition = signal("");
export const tab = signal("inspect");
export const sideTab = signal("exercise");
export const shown = signal("picture"); // picture, table, or one of SCREENS
/** What takes the place of the picture, the inspector and the space-time drawing. */
export const SCREENS = ["disk", "zookeeper", "groups", "producers", "transactions", "alarms"];
export const consoleOpen = signal(false);
/** On a phone the inspector is a sheet: open or drawn in. */
export const sheetOpen = signal(false);
export const panels = signal({ side: true, inspector: true });
/** Frame `exercise` of the socket, null while none is in progress. @type {Signal<ExerciseFrame | null>} */
export const exercise = signal(null);
/** Why the last exercise ended without the learner: `deleted` with their learning data, or "". */
export const exerciseEnded = signal("");
/** Frame `welcome` of the socket. @type {Signal<Welcome | null>} */
export const welcome = signal(null);
/** The same of the page's own branch, whichever is shown. @type {Signal<Welcome | null>} */
export const ownWelcome = signal(null);
/** The index of the recording: branches, marks. Null until it is loaded. @type {Signal<Index | null>} */
export const index = signal(null);
/** A prediction hides outcomes on its branch. */
export const masked = computed(() => Boolean(exercise.value?.masked) && isOwn.value);

/** ["replica", "orders-0@b1"] of a selection. @param {string} selected @returns {[string, string]} */
export function split(selected) {
  const colon = selected.indexOf(":");
  return colon < 0 ? ["", ""] : [selected.slice(0, colon), selected.slice(colon + 1)];
}

/** How a node is named in the selection. @param {string} name */
export const nodeTarget = (name) => (/^b\d+$/.test(name) ? `broker:${name}` : name === "zk" ? "znode:/" : `client:${name}`);

/** Selects something and shows it in the inspector. @param {string} what */
export function select(what) {
  selection.value = what;
  if (what) tab.value = what.startsWith("znode:") ? "znodes" : "inspect";
}

const FASTEST_MS = 200;
/** @type {ReturnType<typeof setTimeout> | 0} */
let timer = 0;
let published = 0;

/** The frame, if an exercise is in progress. @param {Record<string, unknown> | null} frame */
const exerciseOf = (frame) => (frame?.slug ? /** @type {ExerciseFrame} */ (frame) : null);

function publish() {
  clearTimeout(timer);
  timer = 0;
  published = performance.now();
  const { view, seq, at_us, live_seq, live_at_us, mode, rate, reachedRate, isPast, pauseWhen, connection } = player;
  moment.value = {
    view: view ?? EMPTY_VIEW, seq, at_us, live_seq, live_at_us, mode, rate, reachedRate, isPast, pauseWhen, connection,
  };
}

/** Between two frames, where the browser supports it: panels must not delay the drawing. @param {() => void} todo */
function between(todo) {
  if ("requestIdleCallback" in globalThis) requestIdleCallback(todo, { timeout: FASTEST_MS });
  else setTimeout(todo);
}

let release = () => {};

/**
 * Shows a player in the place of the one before, which stays at its instant. While time runs the panels are redrawn five
 * times a second, else with every change.
 * @param {Player} to
 */
export function show(to) {
  release();
  clearTimeout(timer);
  timer = 0;
  const readIndex = () => (index.value = to.index && { ...to.index });
  const readWelcome = () => (welcome.value = /** @type {Welcome | null} */ (to.welcome));
  release = to.subscribe(({ what }) => {
    if (what.has("index")) readIndex();
    if (what.has("connection")) readWelcome();
    if (to.mode === "pause" || what.has("mode") || what.has("connection")) publish();
    else timer ||= setTimeout(between, FASTEST_MS - (performance.now() - published), publish);
  });
  player = to;
  batch(() => {
    readIndex();
    readWelcome();
    publish();
    hovered.value = "";
    front.value = to;
  });
}

/** Shows the player of the page's own branch, and follows the lesson on it. @param {Player} to */
export function attach(to) {
  own = to;
  to.subscribe(({ what }) => {
    if (what.has("connection")) ownWelcome.value = /** @type {Welcome | null} */ (to.welcome);
    if (!what.has("exercise")) return;
    exercise.value = exerciseOf(to.exercise_state);
    exerciseEnded.value = to.exercise_state?.ended ?? "";
  });
  show(to);
}

/**
 * Listens to the player that is shown, whichever that is.
 * @param {(change: Change) => void} listener
 * @returns {() => void} ends it
 */
export const onShown = (listener) => effect(() => front.value?.subscribe(listener));
