// The keys of the lab page: those of every page with a picture, and those that act in the lab.
import { boxOf } from "../../../draw/zoom.js";
import { byId } from "../../kit/element.js";
import { closest } from "../../kit/events.js";
import { act, overlay } from "../../store/api.js";
import { produceOne } from "../../act/produce.js";
import { share, toggleSide } from "../../shell/bars.js";
import { toggleFollow } from "../../store/follow.js";
import { toggleConsole } from "../../store/console.js";
import { canLockIn, lockIn, nextHint } from "../../store/lesson.js";
import { choicesFor, openMenuOf } from "../../parts/menus.js";
import { SCREEN_KEYS } from "../../store/keys.js";
import { moment, nodeTarget, selection } from "../../store/state.js";
import { stepRpc } from "../../store/time.js";
import { addKey, addScreenKey, laneOf, onTaken } from "./keyboard.js";

export { addKey };

/** The menu of the selected element, or of the controller's broker, in the middle of the picture. */
function menuOfSelection() {
  const { x, y, w, h } = boxOf(byId("main"));
  const lane = laneOf(selection.value);
  const what = selection.value.startsWith("link:") ? selection.value : lane
    ? nodeTarget(lane) : `broker:b${moment.value.view.controller.broker}`;
  openMenuOf(what, x + w / 2 - 95, y + h / 3);
}

function cutSelected() {
  if (!selection.value.startsWith("link:")) return menuOfSelection();
  const [choice] = choicesFor(moment.value.view, selection.value);
  return choice && act(choice.line);
}

/** @type {Record<string, () => unknown>} */
const ACTS = {
  enter: () => (canLockIn() ? lockIn() : stepRpc()),
  e: () => toggleSide("exercise"),
  a: () => toggleSide("act"),
  c: toggleConsole,
  b: () => (overlay.value = { kind: "fork" }),
  f: toggleFollow,
  m: () => (overlay.value = { kind: "bookmark" }),
  u: () => (overlay.value = { kind: "pause" }),
  s: share,
  p: produceOne,
  k: menuOfSelection,
  x: cutSelected,
  h: nextHint,
};
for (const [key, run] of Object.entries(ACTS)) addKey(key, run);
for (const name of /** @type {(keyof typeof SCREEN_KEYS)[]} */ (Object.keys(SCREEN_KEYS))) addScreenKey(name);

// Enter on the selected choice locks in the answer.
onTaken((event) => {
  if (event.key !== "Enter" || !closest(event, "[role=radio][aria-checked=true]") || !canLockIn()) return false;
  event.preventDefault();
  lockIn();
  return true;
});
