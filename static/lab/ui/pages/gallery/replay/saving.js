// The dialog that saves a recorded class as a page.
import { nothing, render } from "lit";
import { html } from "../../../kit/element.js";
import { saveButton } from "../../replay/save.js";
import { REFUSAL, answer, leaveOpen } from "../answers.js";
import { showReplay } from "./show.js";

/** @import { Group, Shown } from "../frame.js" */

const WEIGHT = "/api/classes/gallery/recording/page.json";

/** Opens the dialog as its button in the transport does. */
function open() {
  const host = document.createElement("div");
  showReplay();
  render(saveButton(), host);
  /** @type {HTMLElement} */ (host.querySelector("button")).click();
  render(nothing, host);
}

/** @param {string} state @param {() => void} weight @param {Partial<Shown>} [more] @returns {Shown} */
const saving = (state, weight, more = {}) => ({
  tag: "hw-replay-save",
  state,
  set: () => {
    weight();
    open();
  },
  body: () => html`<hw-replay-save></hw-replay-save>`,
  ...more,
});

/** @type {Group} */
export const SAVING = {
  shown: [
    saving("is weighed", () => leaveOpen(WEIGHT), { until: "dialog" }),
    saving("a passage", () => leaveOpen(WEIGHT), {
      act: (frame) => /** @type {HTMLElement} */ (frame.querySelector("label:last-of-type input")).click(),
      until: ".fields",
    }),
    saving("is refused", () => answer(WEIGHT, REFUSAL, 400), { until: ".message.bad" }),
  ],
};
