// Ink of the presenter: strokes anchored to elements of the picture, shown on following pages until they are cleared.
import { pointOf } from "../../../draw/zoom.js";
import { followed } from "../../classroom/followed.js";
import { act, tree } from "../../classroom/store.js";
import { HwElement, byId, html } from "../../kit/element.js";
import { closest } from "../../kit/events.js";
import { t } from "../../kit/i18n.js";
import { thingName } from "../../kit/things.js";
import { notify } from "../../store/api.js";
import { isFollowing } from "../../store/follow.js";
import { speech } from "../../store/speech.js";
import { effect, signal } from "../../store/state.js";
import { besideStage } from "./beside.js";
import { addKey } from "./keys.js";
import { stage } from "./stage.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Point } from "../../../core/layout/ink.js" */

/** Whether the pointer draws. @type {Signal<boolean>} */
const isDrawing = signal(false);
/** Whether this page's person leads. @type {Signal<boolean>} */
const leads = signal(false);
/** The current stroke, in client pixels. @type {Point[]} */
let points = [];

const clear = () => act({ op: "clear_ink" });

/** @param {() => boolean} mayDraw */
export function draw(mayDraw) {
  effect(() => {
    leads.value = Boolean(tree.value.lead) && mayDraw();
    if (!leads.value) isDrawing.value = false;
  });
  effect(() => void byId("lab").classList.toggle("drawing", isDrawing.value));
  effect(() => stage.value?.setInk(leads.value || (isFollowing.value && !followed.value?.isStage) ? (tree.value.ink ?? {}) : {}));
  effect(() => besideStage.value?.setInk(followed.value?.isStage ? {} : (tree.value.ink ?? {})));
  addKey("i", () => leads.peek() && (isDrawing.value = !isDrawing.peek()));
  sayStrokes();
  for (const host of [byId("stage"), byId("timeline")]) listen(host);
}

/** Announces a stroke once to screen readers. */
function sayStrokes() {
  let last = 0;
  effect(() => {
    const newest = Math.max(0, ...Object.keys(tree.value.ink ?? {}).map(Number));
    const stroke = tree.value.ink?.[newest];
    if (newest > last && stroke && (isFollowing.peek() || besideStage.peek()) && !leads.peek() && !followed.peek()?.isStage) {
      speech.say("ink", t("ink.drew", { name: tree.peek().lead?.name, thing: thingName(stroke.anchor) }));
    }
    last = newest;
  });
}

/** @param {PointerEvent} event @returns {Point} */
const here = (event) => {
  const { x, y } = pointOf(event);
  return [x, y];
};

/** @param {HTMLElement} host */
function listen(host) {
  /** @param {PointerEvent} event */
  const begins = (event) => isDrawing.peek() && event.isPrimary && event.button === 0 && !closest(event, "button, a, input, select");
  host.addEventListener("pointerdown", (event) => {
    if (!begins(event)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    host.setPointerCapture(event.pointerId);
    points = [here(event)];
  }, { capture: true });
  host.addEventListener("pointermove", (event) => {
    if (!points.length) return;
    event.stopImmediatePropagation();
    points.push(here(event));
    stage.peek()?.sketch(points);
  }, { capture: true });
  host.addEventListener("pointerup", (event) => {
    if (!points.length) return;
    event.stopImmediatePropagation();
    void end();
  }, { capture: true });
  host.addEventListener("pointercancel", () => {
    points = [];
    stage.peek()?.sketch([]);
  }, { capture: true });
  // While drawing, nothing is selected and no menu opens.
  for (const name of ["click", "contextmenu", "dblclick"]) {
    host.addEventListener(name, (event) => {
      if (isDrawing.peek() && !closest(event, "button, a, input, select")) event.stopImmediatePropagation();
    }, { capture: true });
  }
}

/** Ends the stroke; it becomes ink if it is near an element of the picture. */
async function end() {
  const drawn = points;
  points = [];
  const stroke = stage.peek()?.strokeOf(drawn);
  if (!stroke) notify("warn", t("ink.nothing"), { todo: t("ink.nothing_todo") });
  else await act({ op: "draw", ...stroke });
  if (!points.length) stage.peek()?.sketch([]);
}

class HwInk extends HwElement {
  render() {
    if (!leads.value) return "";
    return html`<button class="chip ink" aria-pressed=${isDrawing.value} title="${t("ink.title")} ( I )"
      @click=${() => (isDrawing.value = !isDrawing.peek())}>${t("ink.draw")} <kbd>I</kbd></button>
      ${Object.keys(tree.value.ink ?? {}).length ? html`<button class="chip" @click=${clear}>${t("ink.clear")}</button>` : ""}`;
  }
}
customElements.define("hw-ink", HwInk);
