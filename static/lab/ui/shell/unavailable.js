// Why the visitor may not act in the lab that is shown, in one sentence with what they can do instead; and the mark of all controls
// that take a right which the visitor does not have. Such a control, or a form of them, names the right in `data-takes`.
import { closeMenu } from "../../draw/menu.js";
import { HwElement, html, repeat } from "../kit/element.js";
import { closest } from "../kit/events.js";
import { steer } from "../store/interactions.js";
import { explain, reason, unavailable } from "../store/rights.js";
import { effect, front, isOwn } from "../store/state.js";

/** @import { Way } from "../store/rights.js" */

/** The sentence's id: what describes each control that is not available. */
const SENTENCE = "unavailable";
const CONTROLS = "button, input, select, textarea";

/** @typedef {HTMLButtonElement | HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} Control */

/** Types of fields that can be read-only. */
const TEXT = /^(text|search|url|tel|email|password|number|textarea)$/;

/** @param {Control} control @returns {control is HTMLInputElement | HTMLTextAreaElement} */
const isText = (control) => TEXT.test(control.type);

/** Whether a control can be marked: a field works while the page follows. What is sent from it ends that, as each act does, and
 * stays in the field.
 * @param {Control} control
 */
const canMark = (control) =>
  control instanceof HTMLButtonElement || (isOwn.peek() && (!control.disabled || "unavailable" in control.dataset));

/** @param {Control} control */
function mark(control) {
  // A button and a text keep the focus: a press says why, and what is typed is not taken for keys of the page.
  if (isText(control)) control.readOnly = true;
  if (isText(control) || control instanceof HTMLButtonElement) control.ariaDisabled = "true";
  else control.disabled = true;
  control.setAttribute("aria-describedby", SENTENCE);
  control.dataset.unavailable = "";
}

/** @param {Control} control */
function clear(control) {
  if (isText(control)) control.readOnly = false;
  if (isText(control) || control instanceof HTMLButtonElement) control.ariaDisabled = null;
  else control.disabled = false;
  control.removeAttribute("aria-describedby");
  delete control.dataset.unavailable;
}

/** @param {Element} scope @returns {Iterable<Control>} */
const controlsOf = (scope) => (scope.matches(CONTROLS) ? [/** @type {Control} */ (scope)] : scope.querySelectorAll(CONTROLS));

/** Marks what is not available, and nothing else. @param {Set<string>} taken */
function markAll(taken) {
  /** @type {Set<Element>} */
  const marked = new Set();
  for (const scope of document.querySelectorAll("[data-takes]")) {
    if (!taken.has(/** @type {HTMLElement} */ (scope).dataset.takes ?? "")) continue;
    for (const control of controlsOf(scope)) {
      if (!canMark(control)) continue;
      mark(control);
      marked.add(control);
    }
  }
  for (const control of document.querySelectorAll("[data-unavailable]")) if (!marked.has(control)) clear(/** @type {Control} */ (control));
}

// Elements are redrawn at any time; while everything is available nothing has to be looked for.
const redrawn = new MutationObserver(() => markAll(unavailable()));
effect(() => {
  void isOwn.value; // Whether fields are marked depends on it.
  const taken = unavailable();
  redrawn.disconnect();
  markAll(taken);
  if (taken.size) redrawn.observe(document.body, { childList: true, subtree: true, attributeFilter: ["data-takes"] });
});

// A menu is about the lab that was shown when it was opened.
effect(() => {
  void front.value;
  closeMenu();
});

addEventListener("click", (event) => {
  if (!closest(event, "button[data-unavailable]")) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  // A page that follows returns to its own lab, as with every act.
  if (isOwn.peek()) explain();
  else steer("command");
}, { capture: true });

class HwUnavailable extends HwElement {
  #isBusy = false;
  /** Its height depends on how its sentence wraps; the dock is higher by it. */
  #heights = new ResizeObserver(([{ target }]) => {
    document.documentElement.style.setProperty("--strip", `${/** @type {HTMLElement} */ (target).offsetHeight}px`);
  });

  /** The next way may take the place of the one that is pressed: a double click must not press both.
   * @param {MouseEvent} event @param {Way["run"]} run
   */
  async #press({ detail }, run) {
    if (detail > 1 || this.#isBusy) return;
    this.#isBusy = true;
    this.focusOn(`#${SENTENCE}`); // The button may be removed.
    try {
      await run?.();
    } finally {
      this.#isBusy = false;
    }
  }

  /** @param {Way} way */
  way({ label, title = "", run, href }) {
    if (href) return html`<a class="btn small" href=${href} title=${title}>${label}</a>`;
    return html`<button class="btn small" title=${title}
      @click=${(/** @type {MouseEvent} */ event) => this.#press(event, run)}>${label}</button>`;
  }

  updated() {
    this.#heights.disconnect();
    const strip = this.querySelector(".unavailable");
    if (strip) this.#heights.observe(strip);
    else document.documentElement.style.removeProperty("--strip");
  }

  render() {
    const why = reason.value;
    if (!why) return "";
    return html`<div class="unavailable"><span class="sign" aria-hidden="true">◉</span>
      <p id=${SENTENCE} role="status" tabindex="-1">${why.text}</p>${
        repeat(why.ways ?? [], ({ label }) => label, (way) => this.way(way))}</div>`;
  }
}
customElements.define("hw-unavailable", HwUnavailable);
