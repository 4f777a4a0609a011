// The keyboard. Single letters are off while a field has the focus, and can be switched off altogether (WCAG 2.1.4).
import { act, fork, here, overlay } from "../../store/api.js";
import { produceOne } from "../../act/produce.js";
import { openTab, share, toggleSide } from "../../shell/bars.js";
import { canLockIn, lockIn, nextHint } from "../../shell/exercise.js";
import { whyOfSelection } from "../../inspect/index.js";
import { sheetOpen } from "../../shell/inspector.js";
import { choicesFor, openMenuOf } from "../../parts/menus.js";
import { consoleOpen, effect, moment, nodeTarget, panels, player, select, selection, shown, signal, split } from "../../store/state.js";
import { goLive, notch, seek, seekSeq, step, stepRpc, togglePaced, togglePlay } from "../../shell/transport.js";

const STORED = "highwater.keys";
const LANE_MOST = 5000;
const LANE_STEPS = 100;

export const keysOn = signal(localStorage.getItem(STORED) !== "off");
effect(() => localStorage.setItem(STORED, keysOn.value ? "on" : "off"));

/** The node that the selection lies on, "" when there is none. */
function laneOf(selected) {
  const [kind, name] = split(selected);
  if (kind === "broker" || kind === "client") return name;
  if (kind === "replica" || kind === "record") return name.split("@")[1]?.split(":")[0] ?? "";
  return "";
}

let walks = 0;

/** The next event of the selected node; without a selection the next event. A walk that still looks for one ends. */
async function stepLane(direction) {
  const walk = ++walks;
  const lane = laneOf(selection.value);
  if (!lane) return step(direction);
  for (let seq = player.seq + direction; Math.abs(seq - player.seq) < LANE_MOST && seq >= 1 && seq <= player.live_seq; seq += direction) {
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
  const { left, top, width, height } = document.getElementById("main").getBoundingClientRect();
  const lane = laneOf(selection.value);
  const what = selection.value.startsWith("link:") ? selection.value : lane ? nodeTarget(lane) : `broker:b${moment.value.view.controller.broker}`;
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
  if (overlay.value) overlay.value = null;
  else if (sheetOpen.value && matchMedia("(max-width: 820px)").matches) sheetOpen.value = false;
  else if (selection.value) select("");
}

/** Every key: what it is called in the list of keys (texts `key.<name>`), and what it does. `test` stands in for `key`. */
export const KEYS = [
  { key: "Space", name: "play", test: " ", run: togglePlay },
  { key: "Enter", name: "rpc", run: () => (canLockIn() ? lockIn() : stepRpc()) },
  { key: ".", name: "forward", run: () => step(1) },
  { key: ",", name: "back", run: () => step(-1) },
  { key: "Shift+. Shift+,", name: "lane", test: "none" },
  { test: ">", run: () => stepLane(1) },
  { test: "<", run: () => stepLane(-1) },
  { key: "[ ]", name: "speed", test: "none" },
  { test: "[", run: () => notch(-1) },
  { test: "]", run: () => notch(1) },
  { key: "T", name: "paced", run: togglePaced },
  { key: "Home", name: "home", run: () => seekSeq(1) },
  { key: "End", name: "end", run: goLive },
  { key: "0…9", name: "tenths", test: "none" },
  { key: "Alt+1…7", name: "broker", test: "none" },
  { key: "/", name: "find", run: () => (overlay.value = { kind: "find" }) },
  { key: "Z", name: "zoom", run: () => dispatchEvent(new Event("hw-zoom")) },
  { key: "D", name: "disk", run: () => (shown.value = shown.value === "disk" ? "picture" : "disk") },
  { key: "N", name: "zookeeper", run: () => (shown.value = shown.value === "zookeeper" ? "picture" : "zookeeper") },
  { key: "G", name: "groups", run: () => (shown.value = shown.value === "groups" ? "picture" : "groups") },
  { key: "O", name: "producers", run: () => (shown.value = shown.value === "producers" ? "picture" : "producers") },
  { key: "R", name: "transactions", run: () => (shown.value = shown.value === "transactions" ? "picture" : "transactions") },
  { key: "L", name: "alarms", run: () => (shown.value = shown.value === "alarms" ? "picture" : "alarms") },
  { key: "V", name: "table", run: () => (shown.value = shown.value === "table" ? "picture" : "table") },
  { key: "\\", name: "panels", run: collapse },
  { key: "E", name: "exercise", run: () => toggleSide("exercise") },
  { key: "A", name: "act", run: () => toggleSide("act") },
  { key: "C", name: "console", run: () => (consoleOpen.value = !consoleOpen.value) },
  { key: "B", name: "fork", run: () => fork() },
  { key: "M", name: "bookmark", run: () => (overlay.value = { kind: "bookmark" }) },
  { key: "S", name: "share", run: share },
  { key: "P", name: "produce", run: produceOne },
  { key: "K", name: "fault", run: menuOfSelection },
  { key: "X", name: "cut", run: cutSelected },
  { key: "W", name: "why", run: () => (openTab("inspect"), whyOfSelection()) },
  { key: "H", name: "hint", run: nextHint },
  { key: "?", name: "help", run: () => (overlay.value = { kind: "help" }) },
  { key: "Esc", name: "escape", test: "Escape", run: escape },
];

const handlers = new Map(KEYS.filter(({ run }) => run).map(({ key, test, run }) => [(test ?? key).toLowerCase(), run]));

function handlerOf(event) {
  if (event.ctrlKey || event.metaKey) return null;
  if (event.altKey) {
    const broker = /^Digit([1-7])$/.exec(event.code)?.[1];
    return broker && `b${broker}` in moment.value.view.nodes ? () => select(`broker:b${broker}`) : null;
  }
  if (/^[0-9]$/.test(event.key)) return () => seek((player.live_at_us * Number(event.key)) / 10);
  return handlers.get(event.key.toLowerCase()) ?? null;
}

addEventListener("keydown", (event) => {
  const { target } = event;
  const typing = target.closest?.("input:not([type=range], [type=checkbox]), textarea, select");
  const inDialog = target.closest?.("dialog");
  if (event.defaultPrevented || typing || (inDialog && event.key !== "Escape")) return;
  // A button that has the focus keeps the keys that press it; a slider those that move it. The picture has had its turn.
  if (["Enter", " "].includes(event.key) && target.closest?.("button, a, summary, [role=radio]")) return;
  if (target.closest?.("[type=range], [role=slider]") && /^(Arrow|Home|End|Page)/.test(event.key)) return;
  if (!keysOn.value && event.key.length === 1 && event.key !== " ") return;
  const run = handlerOf(event);
  if (!run || !here.run) return;
  event.preventDefault();
  run();
});


// A button pressed with the pointer gives the focus back: Enter and Space are keys of the transport again.
addEventListener("click", (event) => event.detail > 0 && event.target.closest?.("button:not([role]), summary")?.blur());
