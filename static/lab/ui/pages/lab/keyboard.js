// The keyboard of every page with a picture: keys for time and for the view. Single letters are off while a field has
// the focus, and can
// be switched off altogether (WCAG 2.1.4).
import { closest } from "../../kit/events.js";
import { dismiss, here, messages, overlay } from "../../store/api.js";
import { openTab } from "../../shell/bars.js";
import { whyOfSelection } from "../../inspect/index.js";
import { steer } from "../../store/interactions.js";
import { keysOn, SCREEN_KEYS, zkMessages } from "../../store/keys.js";
import { moment, panels, player, select, selection, sheetOpen, shown, split } from "../../store/state.js";
import { goHome, goLive, notch, seekPart, seekSeq, step, stepRpc, togglePaced, togglePlay } from "../../store/time.js";

const MAX_LANE = 5000;
const LANE_STEPS = 100;

/** The node that the selection belongs to, or "". @param {string} selected */
export function laneOf(selected) {
  const [kind, name] = split(selected);
  if (kind === "broker" || kind === "client") return name;
  if (kind === "replica" || kind === "record") return name.split("@")[1]?.split(":")[0] ?? "";
  return "";
}

let walks = 0;

/**
 * The next event of the selected node; without a selection the next event. Cancels an earlier search.
 * @param {1 | -1} direction
 */
async function stepLane(direction) {
  const walk = ++walks;
  const lane = laneOf(selection.value);
  if (!lane) return step(direction);
  const { first_seq: oldest, live_seq: newest } = player;
  for (let seq = player.seq + direction; Math.abs(seq - player.seq) < MAX_LANE && seq >= oldest && seq <= newest; seq += direction) {
    const event = player.event(seq);
    if (!event) break;
    if (event.node === lane) return seekSeq(seq);
  }
  if (direction < 0 || !steer("live")) return undefined;
  if (player.isPast) goLive();
  for (let steps = 0; steps < LANE_STEPS; steps++) {
    const before = player.live_seq;
    if (!await step(1) || walk !== walks) return undefined;
    for (let seq = before + 1; seq <= player.live_seq; seq++) if (player.event(seq)?.node === lane) return undefined;
  }
  return undefined;
}

function collapse() {
  const { side, inspector } = panels.value;
  panels.value = side || inspector ? { side: false, inspector: false } : { side: true, inspector: true };
}

function escape() {
  // Other messages disappear automatically.
  const refused = messages.value.findLast(({ tone }) => tone === "bad");
  if (overlay.value) overlay.value = null;
  else if (refused) dismiss(refused.id);
  else if (sheetOpen.value && matchMedia("(max-width: 820px)").matches) sheetOpen.value = false;
  else if (selection.value) select("");
}

/** What each key does, by `KeyboardEvent.key` in lower case. @type {Map<string, () => unknown>} */
const handlers = new Map(Object.entries({
  " ": togglePlay,
  enter: stepRpc,
  ".": () => step(1),
  ",": () => step(-1),
  ">": () => stepLane(1),
  "<": () => stepLane(-1),
  "[": () => notch(-1),
  "]": () => notch(1),
  t: togglePaced,
  home: goHome,
  end: goLive,
  "/": () => (overlay.value = { kind: "find" }),
  z: () => dispatchEvent(new Event("hw-zoom")),
  q: () => (zkMessages.value = !zkMessages.value),
  "\\": collapse,
  w: () => (openTab("inspect"), whyOfSelection()),
  "?": () => (overlay.value = { kind: "help" }),
  escape,
}));

/**
 * A key of a screen: shows the screen, or the picture if it is already shown.
 * @param {keyof typeof SCREEN_KEYS} name
 */
export const addScreenKey = (name) => addKey(SCREEN_KEYS[name].toLowerCase(), () =>
  void (shown.value = shown.value === name ? "picture" : name));

/** A key that only some pages have. @param {string} key in lower case @param {() => unknown} run */
export const addKey = (key, run) => void handlers.set(key, run);

/** @param {KeyboardEvent} event */
function handlerOf(event) {
  if (event.ctrlKey || event.metaKey) return null;
  if (event.altKey) {
    const broker = /^Digit([1-7])$/.exec(event.code)?.[1];
    return broker && `b${broker}` in moment.value.view.nodes ? () => select(`broker:b${broker}`) : null;
  }
  if (/^[0-9]$/.test(event.key)) return () => seekPart(Number(event.key) / 10);
  return handlers.get(event.key.toLowerCase()) ?? null;
}

/** Interval at which a held key acts on the lab, ms: the lab accepts ten acts per second on average. */
const REPEAT_MS = 110;
let acted = 0;

/** Whether an element has handled a key. @type {(event: KeyboardEvent) => boolean} */
let isTaken = () => false;
/** @param {(event: KeyboardEvent) => boolean} how */
export const onTaken = (how) => void (isTaken = how);

/** Escape leaves a field. @param {KeyboardEvent} event @param {boolean} inDialog */
function leavesField({ key, target }, inDialog) {
  if (key !== "Escape" || inDialog || !(target instanceof HTMLElement) || !target.matches("input, textarea, select")) return false;
  target.blur();
  return true;
}

addEventListener("keydown", (event) => {
  const typing = closest(event, "input:not([type=range], [type=checkbox]), textarea, select");
  const inDialog = closest(event, "dialog");
  if (event.defaultPrevented || leavesField(event, Boolean(inDialog)) || isTaken(event)) return;
  if (typing || (inDialog && event.key !== "Escape")) return;
  // A focused button keeps the keys that press it; a slider those that move it. The picture has already handled its
  // keys.
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

// A button pressed with the pointer, and a command of a lesson, give up the focus, so that Enter and Space are keys of
// the transport again.
addEventListener("click", (event) =>
  closest(event, event.detail > 0 ? "button:not([role]), summary, [role=tab], [role=radio]" : ".code-line")?.blur());
