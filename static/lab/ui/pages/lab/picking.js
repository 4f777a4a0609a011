// Answers that are things of the picture: the next one that is pressed, by pointer or by key, is the answer instead of the selection.
import { thingsOf } from "../../../core/classroom/things.js";
import { anchorText } from "../../../core/layout/ink.js";
import { linksOf } from "../../../core/layout/topology.js";
import { nodesByKind } from "../../../core/view/selectors.js";
import { setPicture } from "../../classroom/thing_field.js";
import { byId } from "../../kit/element.js";
import { closest } from "../../kit/events.js";
import { t } from "../../kit/i18n.js";
import { setClientName } from "../../kit/things.js";
import { isNarrow, isTablet } from "../../store/room.js";
import { speech } from "../../store/speech.js";
import { effect, moment, partition, shown } from "../../store/state.js";

/** @import { Target } from "../../../core/view/selectors.js" */

/** Ends the pick that is in progress. */
let end = () => {};

/** @param {(anchor: string) => void} take @param {() => void} ended @returns {() => void} ends it */
function pick(take, ended) {
  end(); // Two fields would take the same element.
  const ends = new AbortController();
  const { signal } = ends;
  const stop = end = () => {
    if (signal.aborted) return;
    byId("lab").classList.remove("picking");
    ends.abort();
    ended();
  };
  byId("lab").classList.add("picking");
  speech.say("pick", t("thing.picking"));
  if (isNarrow.peek() && !isTablet.peek()) byId("stage").scrollIntoView({ block: "nearest" });
  // Before the page, which would select it and so stop following.
  addEventListener("hw-select", (event) => {
    event.stopImmediatePropagation();
    const target = /** @type {CustomEvent<Target | null>} */ (event).detail;
    if (!target) return;
    stop();
    take(anchorText(target));
    if (isNarrow.peek() && !isTablet.peek()) byId("side").scrollIntoView({ block: "nearest" });
  }, { signal, capture: true });
  // Before the page, which would clear the selection.
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || closest(event, "dialog")) return;
    event.preventDefault();
    stop();
  }, { signal, capture: true });
  // On another screen there is neither a picture to press in nor a button that ends it.
  signal.addEventListener("abort", effect(() => {
    if (shown.value !== "picture") stop();
  }));
  return stop;
}

/** The things of this page's picture, for the list. */
function things() {
  const { view } = moment.peek();
  return thingsOf(view, partition.peek(), linksOf(view, nodesByKind(view)).map(({ id }) => id));
}

/** Lets polls ask for things of this page's picture. */
export function letPick() {
  setClientName((id) => moment.peek().view.nodes[id]?.settings?.["client.id"] || id);
  setPicture({ things, isShown: () => shown.value === "picture", pick });
}
