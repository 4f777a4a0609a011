// The lab page: a player, the drawings, and the elements around them, joined by the signals of state.js.
import { rangesOf, windowOf } from "../../../core/player/page_view.js";
import { byId } from "../../kit/element.js";
import { isObject, keep, kept } from "../../kit/kept.js";
import { act, classroom, here, refuse } from "../../store/api.js";
import { addressOf, diskPlace } from "../../store/address.js";
import { place } from "../../store/disk.js";
import { settlePartition } from "../../store/follow.js";
import { openPlayer } from "../../store/players.js";
import {
  attach, consoleOpen, effect, exercise, hovered, isOwn, moment, onShown, panels, partition, player, select, selection, shown, sideTab,
  split, SCREENS,
} from "../../store/state.js";
import { panned, showSight, view } from "../../store/view.js";
import { zkMessages } from "../../store/keys.js";
import { stage } from "./stage.js";

/** The number of lanes that fit in the space-time picture; how many more make it higher, and by how much each. */
const LANES_USUAL = 9;
const LANES_MORE = 5;
const LANE_PX = 14;
/** Where the browser keeps which panels are open. */
const PANELS = "highwater.panels";

/** @import { Target } from "../../../core/view/selectors.js" */

const lab = byId("lab");
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
// In narrow windows one panel at most is beside the picture (tablet), or would push it away (phone): the side panel opens when asked for.
const tablet = matchMedia("(min-width: 821px) and (max-width: 1279px)");
if (matchMedia("(max-width: 1279px)").matches) panels.value = { side: false, inspector: true };

const [ranges, window] = [rangesOf(query.get("off")), windowOf(query.get("win"))];
if (window || Object.keys(ranges).length) {
  showSight({ ...view(), ranges, window });
  if (Object.keys(ranges).length) panned.value++;
}

// --- the drawings and the selection --------------------------------------------------------------------------------

/** @param {string} what */
const partitionOf = (what) => {
  const [type, id] = split(what);
  if (type === "partition") return id;
  return type === "replica" || type === "record" ? id.slice(0, id.lastIndexOf("@")) : "";
};

/**
 * Follows an event of the drawings.
 * @template T
 * @param {string} name
 * @param {(detail: T) => void} follow
 */
const onStage = (name, follow) =>
  lab.addEventListener(name, (event) => follow(/** @type {CustomEvent<T>} */ (event).detail));

onStage("hw-select", (/** @type {Target | null} */ detail) => select(detail ? `${detail.type}:${detail.id}` : ""));
onStage("hw-command", (/** @type {{ line: string }} */ { line }) => void act(line));
onStage("hw-hover", (/** @type {Target | null} */ detail) => (hovered.value = detail ? detail.id : ""));
effect(() => void stage.value?.point(hovered.value ? { type: "record", id: hovered.value } : null));
addEventListener("hw-zoom", () => stage.peek()?.zoom());
effect(() => void stage.value?.showZooKeeper(zkMessages.value));

effect(() => {
  const [type, id] = split(selection.value);
  stage.value?.select(type ? { type: /** @type {Target["type"]} */ (type), id } : null);
  if (partitionOf(selection.value)) partition.value = partitionOf(selection.value);
});
effect(() => {
  const topic = partition.value.replace(/-\d+$/, "");
  if (topic && topic !== stage.value?.topic) stage.value?.setTopic(topic);
});
effect(() => {
  // Until one is chosen, the first partition of the topic that the strips show.
  const { partitions } = moment.value.view;
  const topic = stage.value?.topic;
  if (!(partition.peek() in partitions) && topic && `${topic}-0` in partitions) settlePartition(`${topic}-0`);
});

effect(() => {
  // The space-time picture keeps its lanes apart.
  const lanes = Object.keys(moment.value.view.nodes).length;
  lab.style.setProperty("--more-lanes", `${LANE_PX * Math.min(LANES_MORE, Math.max(0, lanes - LANES_USUAL))}px`);
});

effect(() => {
  // Beside a lesson the inspector is closed there until something is selected.
  if (selection.value && tablet.matches) panels.value = { ...panels.peek(), inspector: true };
});

tablet.addEventListener("change", () => {
  if (tablet.matches) panels.value = { ...panels.peek(), inspector: !panels.peek().side };
});

// --- what is open stays open ---------------------------------------------------------------------------------------

if (!matchMedia("(max-width: 1279px)").matches) {
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
    panels.value = { side: true, inspector: panels.peek().inspector && !tablet.matches };
  }
  inExercise = slug;
});

// The address names the instant while it is in the past, so that a reload stays there; at the head it follows the run.
let writing = 0;
/** The screen that the newest entry of the browser's history shows: to go to another one makes a new entry. */
let entered = shown.peek();
function writeAddress() {
  writing = 0;
  if (!isOwn.peek()) return;
  const goes = shown.peek() !== entered ? "pushState" : "replaceState";
  entered = shown.peek();
  const address = addressOf({ withInstant: player.isPast });
  const { pathname, search, hash } = location;
  if (address !== pathname + search + hash) history[goes](null, "", address); // it costs milliseconds, so not for nothing
}
addEventListener("popstate", () => (entered = shown.value = screenOf(new URLSearchParams(location.search))));
effect(() => {
  // Until the instant of the address is there, the address is what it was.
  if (!moment.value.seq) return;
  void [moment.value.isPast, partition.value, selection.value, shown.value, place.value, panned.value];
  writing ||= setTimeout(writeAddress, 300);
});

// The elements read the player as soon as they are defined, so they come last.
await import("./elements.js");
if (classroom) (await import("./classroom.js")).enterClass(classroom);
