// What the elements share: the instant that is shown, what is selected, and the few switches of the page.
import { computed, effect, signal } from "@preact/signals-core";
import { EMPTY_VIEW } from "../../core/view/empty.gen.js";

export { computed, effect, signal };

/** The player of core/player.js; set once by lab.js. */
export let player = null;

/** Facts of the instant shown. The object is new at each change; its `view` is the player's own, patched in place. */
export const moment = signal({
  view: EMPTY_VIEW, seq: 0, at_us: 0, live_seq: 0, live_at_us: 0, mode: "pause", rate: 1, isPast: false,
  connection: "connecting",
});

/** What is selected, as type and id of a Target of core/selectors.js: "replica:orders-0@b1", "znode:/controller", ... or "". */
export const selection = signal("");
/** The record that the pointer is over, in the picture or in its bytes: "orders-0@b1:42" or "". */
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
/** Frame `exercise` of the socket, null while none is in progress. */
export const exercise = signal(null);
/** Frame `welcome` of the socket. */
export const welcome = signal(null);
/** The index of the recording: branches, marks. Null until it has come. */
export const index = signal(null);
export const masked = computed(() => Boolean(exercise.value?.masked));

/** ["replica", "orders-0@b1"] of a selection. */
export function split(selected) {
  const colon = selected.indexOf(":");
  return colon < 0 ? ["", ""] : [selected.slice(0, colon), selected.slice(colon + 1)];
}

/** What stands for a node in the selection. */
export const nodeTarget = (name) => (/^b\d+$/.test(name) ? `broker:${name}` : name === "zk" ? "znode:/" : `client:${name}`);

/** Selects something and shows it in the inspector. */
export function select(what) {
  selection.value = what;
  if (what) tab.value = what.startsWith("znode:") ? "znodes" : "inspect";
}

const FASTEST_MS = 200;
let timer = 0;
let published = 0;

function publish() {
  clearTimeout(timer);
  timer = 0;
  published = performance.now();
  const { view, seq, at_us, live_seq, live_at_us, mode, rate, isPast, connection } = player;
  moment.value = { view: view ?? EMPTY_VIEW, seq, at_us, live_seq, live_at_us, mode, rate, isPast, connection };
}

/** Between two frames, where the browser can tell when that is: panels must not make what was just drawn come late. */
const between = globalThis.requestIdleCallback ? (todo) => requestIdleCallback(todo, { timeout: FASTEST_MS }) : setTimeout;

/** Follows a player. While time runs the panels are redrawn five times a second, else with every change. */
export function attach(to) {
  player = to;
  player.subscribe(({ what }) => {
    if (what.has("exercise")) exercise.value = player.exercise_state?.slug ? player.exercise_state : null;
    if (what.has("index") && player.index) index.value = { ...player.index };
    if (what.has("connection")) welcome.value = player.welcome;
    if (player.mode === "pause" || what.has("mode") || what.has("connection")) publish();
    else timer ||= setTimeout(between, FASTEST_MS - (performance.now() - published), publish);
  });
  publish();
}
