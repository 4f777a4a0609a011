// The lab page: a player, the drawings, and the elements around them, connected by the signals of state.js.
import { rangesOf, windowOf } from "../../../core/player/page_view.js";
import { isObject, keep, kept } from "../../kit/kept.js";
import { act, classroom, here, overlay, refuse } from "../../store/api.js";
import { addressOf, diskPlace } from "../../store/address.js";
import { place } from "../../store/disk.js";
import { openPlayer } from "../../store/players.js";
import {
  attach, consoleOpen, effect, exercise, isOwn, moment, onShown, panels, partition, player, select, selection, shown, sideTab, SCREENS,
  untracked,
} from "../../store/state.js";
import { isNarrow, isTablet } from "../../store/room.js";
import { panned, showSight, sighted, view } from "../../store/view.js";
import { loadLater } from "../../kit/ahead.js";
import { firstPicture } from "./first_picture.js";
import { onStage } from "./joined.js";

/** The key of localStorage for the open panels. */
const PANELS = "highwater.panels";

const query = new URLSearchParams(location.search);
/** @param {string | null} text */
const number = (text) => (text && /^\d+(\.\d+)?$/.test(text) ? Number(text) : null);
const seconds = number(query.get("t"));
const seq = number(new URLSearchParams(location.hash.slice(1)).get("seq") ?? query.get("seq"));

partition.value = query.get("p") ?? "";
attach(openPlayer({ run: here.run, branch: here.branch, at: seconds === null ? null : Math.round(seconds * 1e6), seq }));
/** @param {URLSearchParams} query */
const screenOf = (query) => [...SCREENS, "table"].find((name) => name === query.get("view")) ?? "picture";
shown.value = screenOf(query);
place.value = { ...diskPlace(query), from: null };
select(query.get("sel") ?? "");
// Narrow windows show at most one panel next to the picture (tablet) or in its place (phone), so the side panel opens
// only on request.
if (isNarrow.peek()) panels.value = { side: false, inspector: true };

const [ranges, window] = [rangesOf(query.get("off")), windowOf(query.get("win"))];
if (window || Object.keys(ranges).length) {
  showSight({ ...view(), ranges, window });
  if (Object.keys(ranges).length) panned.value++;
}

onStage("hw-command", (/** @type {{ line: string }} */ { line }) => void act(line));
if (query.get("dialog") === "page") overlay.value = { kind: "page" };

effect(() => {
  // Next to a lesson the inspector is closed there until something is selected.
  if (selection.value && isTablet.peek()) panels.value = { ...panels.peek(), inspector: true };
});

let wasTablet = isTablet.peek();
effect(() => {
  if (isTablet.value && !wasTablet) panels.value = { ...panels.peek(), inspector: !panels.peek().side };
  wasTablet = isTablet.value;
});

// --- open panels are kept ---------------------------------------------------------------------------------------

if (!isNarrow.peek()) {
  const before = kept(PANELS, isObject, {});
  if (isObject(before.panels)) panels.value = { side: before.panels.side !== false, inspector: before.panels.inspector !== false };
  consoleOpen.value = Boolean(before.console);
  effect(() => keep(PANELS, { panels: panels.value, console: consoleOpen.value }));
}

// --- refusals, exercise, address -----------------------------------------------------------------------------------

onShown(({ what }) => what.has("refused") && refuse(player.refusal));

let inExercise = "";
effect(() => {
  const slug = exercise.value?.slug ?? "";
  if (slug && slug !== inExercise) {
    sideTab.value = "exercise";
    panels.value = { side: true, inspector: panels.peek().inspector && !isTablet.peek() };
  }
  inExercise = slug;
});

// The address contains the instant while it is in the past, so that a reload stays there; at the head it follows the
// run.
const WRITE_EVERY_MS = 300;
const AT_ONCE = 20;
let writing = 0;
/** How many choices may be written at once now: browsers limit how often an address changes. */
let left = AT_ONCE;
let chosen_ms = 0;
/** The screen of the newest entry in the browser's history; switching to another one adds an entry. */
let entered = shown.peek();
function writeAddress() {
  clearTimeout(writing);
  writing = 0;
  if (!isOwn.peek()) return;
  const goes = shown.peek() !== entered ? "pushState" : "replaceState";
  entered = shown.peek();
  const address = addressOf({ withInstant: player.isPast });
  const { pathname, search, hash } = location;
  if (address !== pathname + search + hash) history[goes](null, "", address); // skipped if nothing changed, because it takes milliseconds
}
function writeLater() {
  writing ||= setTimeout(writeAddress, WRITE_EVERY_MS);
}
addEventListener("popstate", () => {
  // In this order: the address follows the screen at once.
  entered = screenOf(new URLSearchParams(location.search));
  shown.value = entered;
});
// The address is not changed until its instant has been reached.
effect(() => {
  void [place.value, panned.value && sighted.value];
  if (moment.value.seq) writeLater();
});
effect(() => {
  void [partition.value, selection.value, shown.value];
  if (!moment.peek().seq) return;
  // What was chosen is in the address at once, for a reload that follows.
  const now_ms = performance.now();
  left = Math.min(AT_ONCE, left + (now_ms - chosen_ms) / WRITE_EVERY_MS);
  chosen_ms = now_ms;
  if (left >= 1) {
    left--;
    untracked(writeAddress);
  } else writeLater();
});

// The elements read the player when they are defined, and the picture is what people wait for, so they come last.
await firstPicture();
loadLater();
await import("./elements.js");
if (classroom) (await import("./classroom.js")).enterClass(classroom);
