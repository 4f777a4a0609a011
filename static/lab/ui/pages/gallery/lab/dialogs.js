// The dialogs of the lab page.
import { html } from "../../../kit/element.js";
import { here, overlay, pastLine } from "../../../store/api.js";
import { REFUSAL, answer } from "../answers.js";

/** @import { Overlay } from "../../../store/api.js" */
/** @import { Group, Shown } from "../frame.js" */

const LINE = "kafka-configs.sh --alter --add-config retention.ms=604800000 --entity-type topics --entity-name orders";

/** @param {HTMLElement} frame @param {string} text */
function find(frame, text) {
  const field = /** @type {HTMLInputElement} */ (frame.querySelector("input"));
  field.value = text;
  field.dispatchEvent(new Event("input"));
}

const body = () => html`<hw-overlays></hw-overlays>`;

/** @param {Overlay["kind"]} kind @param {Partial<Shown>} [more] @returns {Shown} */
const dialog = (kind, more = {}) =>
  ({ tag: "hw-overlays", state: kind, set: () => (overlay.value = { kind }), until: "dialog", body, ...more });

/** @param {HTMLElement} frame */
const submit = (frame) => /** @type {HTMLFormElement} */ (frame.querySelector("form")).requestSubmit();

/** @type {Group} */
export const DIALOGS = {
  after: () => {
    overlay.value = null;
    pastLine.value = null;
  },
  shown: [
    dialog("help"),
    dialog("topic"),
    dialog("bookmark"),
    dialog("fork"),
    dialog("pause"),
    dialog("find", { act: (frame) => find(frame, "orders") }),
    dialog("find", { state: "find nothing", act: (frame) => find(frame, "no-such-topic"), until: "p.dim" }),
    dialog("producer"),
    dialog("member"),
    dialog("assignor"),
    dialog("connect"),
    dialog("page", { until: "hw-save-page form" }),
    {
      tag: "hw-overlays",
      state: "past",
      set: () => (pastLine.value = { line: LINE, resolve: () => {} }),
      until: "dialog",
      body,
    },
    {
      tag: "hw-save-page",
      state: "refused",
      frame: "narrow padded",
      set: () => answer(`${here.api}/page.html`, REFUSAL, 400),
      act: (frame) => {
        /** @type {HTMLInputElement} */ (frame.querySelector("label:last-of-type input")).click();
        submit(frame);
      },
      until: ".message.bad",
      body: () => html`<hw-save-page></hw-save-page>`,
    },
  ],
};
