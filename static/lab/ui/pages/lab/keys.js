// The keyboard. Single letters are off while a field has the focus, and can be switched off altogether (WCAG 2.1.4).
import { byId } from "../../kit/element.js";
import { closest } from "../../kit/events.js";
import { act, dismiss, fork, here, messages, overlay } from "../../store/api.js";
import { produceOne } from "../../act/produce.js";
import { openTab, share, toggleSide } from "../../shell/bars.js";
import { toggleFollow } from "../../store/follow.js";
import { toggleConsole } from "../../store/console.js";
import { canLockIn, lockIn, nextHint } from "../../store/lesson.js";
import { whyOfSelection } from "../../inspect/index.js";
import { choicesFor, openMenuOf } from "../../parts/menus.js";
import { keysOn, SCREEN_KEYS, zkMessages } from "../../store/keys.js";
import { moment, nodeTarget, panels, player, select, selection, sheetOpen, shown, split } from "../../store/state.js";
import { goLive, notch, seek, seekSeq, step, stepRpc, togglePaced, togglePlay } from "../../store/time.js";

const MAX_LANE = 5000;
const LANE_STEPS = 100;

/** The node that the selection belongs to, "" when there is none. @param {string} selected */
function laneOf(selected) {
  const [kind, name] = split(selected);
  if (kind === "broker" || kind === "client") return name;
  if (kind === "replica" || kind === "record") return name.split("@")[1]?.split(":")[0] ?? "";
  return "";
}

let walks = 0;

/** The next event of the selected node; without a selection the next event. An earlier search ends. @param {1 | -1} direction */
async function stepLane(direction) {
  const walk = ++walks;
  const lane = laneOf(selection.value);
  if (!lane) return step(direction);
  for (let seq = player.seq + direction; Math.abs(seq - player.seq) < MAX_LANE && seq >= 1 && seq <= player.live_seq; seq += direction) {
    const event = player.event(seq);
    if (!event) break;
    if (event.node === lane) return seekSeq(seq);
  }
  if (direction < 0) return undefined;
  if (player.isPast) goLive();
  for (let steps = 0; steps < LANE_STEPS; steps++) {
    const before = player.live_seq;
    await step(1);
    if (walk !== walks) return undefined;
    for (let seq = before + 1; seq <= player.live_seq; seq++) if (player.event(seq)?.node === lane) return undefined;
  }
  return undefined;
}

/** The menu of what is selected, else of the controller's broker, in the middle of the picture. */
function menuOfSelection() {
  const { left, top, width, height } = byId("main").getBoundingClientRect();
  const lane = laneOf(selection.value);
  const what = selection.value.startsWith("link:") ? selection.value : lane
    ? nodeTarget(lane) : `broker:b${moment.value.view.controller.broker}`;
  openMenuOf(what, left + width / 2 - 95, top + height / 3);
}

function cutSelected() {
  if (!selection.value.startsWith("link:")) return menuOfSelection();
  const [choice] = choicesFor(moment.value.view, selection.value);
  return choice && act(choice.line);
}

function collapse() {
  const { side, inspector } = panels.value;
  panels.value = side || inspector ? { side: false, inspector: false } : { side: true, inspector: true };
}

function escape() {
  // The other messages go by themselves.
  const refused = messages.value.findLast(({ tone }) => tone === "bad");
  if (overlay.value) overlay.value = null;
  else if (refused) dismiss(refused.id);
  else if (sheetOpen.value && matchMedia("(max-width: 820px)").matches) sheetOpen.value = false;
  else if (selection.value) select("");
}

/** Shows a screen, or the picture when it is shown already. @param {string} name */
const toggleScreen = (name) => (shown.value = shown.value === name ? "picture" : name);

/** What each key does, by `KeyboardEvent.key` in lower case. @type {Map<string, () => unknown>} */
const handlers = new Map(Object.entries({
  " ": togglePlay,
  enter: () => (canLockIn() ? lockIn() : stepRpc()),
  ".": () => step(1),
  ",": () => step(-1),
  ">": () => stepLane(1),
  "<": () => stepLane(-1),
  "[": () => notch(-1),
  "]": () => notch(1),
  t: togglePaced,
  home: () => seekSeq(1),
  end: goLive,
  "/": () => (overlay.value = { kind: "find" }),
  z: () => dispatchEvent(new Event("hw-zoom")),
  q: () => (zkMessages.value = !zkMessages.value),
  "\\": collapse,
  e: () => toggleSide("exercise"),
  a: () => toggleSide("act"),
  c: toggleConsole,
  b: () => fork(),
  f: toggleFollow,
  m: () => (overlay.value = { kind: "bookmark" }),
  u: () => (overlay.value = { kind: "pause" }),
  s: share,
  p: produceOne,
  k: menuOfSelection,
  x: cutSelected,
  w: () => (openTab("inspect"), whyOfSelection()),
  h: nextHint,
  "?": () => (overlay.value = { kind: "help" }),
  escape,
  ...Object.fromEntries(Object.entries(SCREEN_KEYS).map(([name, key]) => [key.toLowerCase(), () => toggleScreen(name)])),
}));

/** A key that only some pages have. @param {string} key in lower case @param {() => unknown} run */
export const addKey = (key, run) => void handlers.set(key, run);

/** @param {KeyboardEvent} event */
function handlerOf(event) {
  if (event.ctrlKey || event.metaKey) return null;
  if (event.altKey) {
    const broker = /^Digit([1-7])$/.exec(event.code)?.[1];
    return broker && `b${broker}` in moment.value.view.nodes ? () => select(`broker:b${broker}`) : null;
  }
  if (/^[0-9]$/.test(event.key)) return () => seek((player.live_at_us * Number(event.key)) / 10);
  return handlers.get(event.key.toLowerCase()) ?? null;
}

/** A key that is held acts on the lab at this interval, ms: the lab accepts ten acts a second in the long run. */
const REPEAT_MS = 110;
let acted = 0;

/** Escape leaves a field; Enter on the choice that is taken locks the answer in. @param {KeyboardEvent} event @param {boolean} inDialog */
function takenByElement(event, inDialog) {
  const { key, target } = event;
  if (key === "Escape" && !inDialog && target instanceof HTMLElement && target.matches("input, textarea, select")) {
    target.blur();
    return true;
  }
  if (key !== "Enter" || !closest(event, "[role=radio][aria-checked=true]") || !canLockIn()) return false;
  event.preventDefault();
  lockIn();
  return true;
}

addEventListener("keydown", (event) => {
  const typing = closest(event, "input:not([type=range], [type=checkbox]), textarea, select");
  const inDialog = closest(event, "dialog");
  if (event.defaultPrevented || takenByElement(event, Boolean(inDialog)) || typing || (inDialog && event.key !== "Escape")) return;
  // A button that has the focus keeps the keys that press it; a slider those that move it. The picture has had its turn.
  if (["Enter", " "].includes(event.key) && closest(event, "button, a, summary, [role=radio]")) return;
  if (closest(event, "[type=range], [role=slider]") && /^(Arrow|Home|End|Page)/.test(event.key)) return;
  if (!keysOn.value && event.key.length === 1 && event.key !== " ") return;
  const run = handlerOf(event);
  if (!run || !here.run) return;
  event.preventDefault();
  if (event.repeat && !player.isPast && performance.now() - acted < REPEAT_MS) return;
  acted = performance.now();
  run();
});

// A button pressed with the pointer, and a command of a lesson, gives the focus back: Enter and Space are keys of the transport again.
addEventListener("click", (event) =>
  closest(event, event.detail > 0 ? "button:not([role]), summary, [role=tab], [role=radio]" : ".code-line")?.blur());
