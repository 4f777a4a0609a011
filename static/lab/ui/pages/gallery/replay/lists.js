// The lists beside the picture of a replay.
import "../../replay/lists.js";
import "../../replay/transcript.js";
import { show as showCaptions } from "../../../classroom/sound/caption_choice.js";
import { html } from "../../../kit/element.js";
import { found, list, notes, query, writes } from "../../replay/instants.js";
import { showReplay } from "./show.js";
import { AT_US, FOUND, NOTES } from "./state.js";

/** @import { Manifest } from "../../../../core/replay/manifest.d.ts" */
/** @import { List } from "../../replay/instants.js" */
/** @import { Group, Shown } from "../frame.js" */

/**
 * @param {string} state @param {List} to @param {() => void} [more] @param {Partial<Manifest>} [changes]
 * @returns {Shown}
 */
const listOf = (state, to, more = () => {}, changes = {}) => ({
  tag: "hw-replay-lists",
  state,
  frame: "narrow replay-side",
  set: () => {
    showReplay(changes);
    list.value = to;
    writes.value = null;
    query.value = "";
    more();
  },
  body: () => html`<hw-replay-lists class="block grows"></hw-replay-lists>`,
});

/** @param {string} state @param {Partial<Shown>} more @param {Partial<Manifest>} [changes] @returns {Shown} */
const transcript = (state, more, changes = {}) => ({
  tag: "hw-replay-transcript",
  state,
  frame: "narrow replay-side",
  set: () => {
    showReplay(changes);
    showCaptions("en");
  },
  body: () => html`<hw-replay-transcript class="block"></hw-replay-transcript>`,
  ...more,
});

/** @type {Group} */
export const LISTS = {
  shown: [
    listOf("of chapters", "chapters"),
    listOf("with a new chapter", "chapters", () => (writes.value = AT_US)),
    listOf("of notes", "notes", () => (notes.value = NOTES)),
    listOf("with a new note", "notes", () => (writes.value = AT_US)),
    listOf("of no notes", "notes", () => (notes.value = [])),
    listOf("of events", "events"),
    listOf("of questions", "questions"),
    listOf("of what was found", "found", () => {
      query.value = "21:40";
      found.value = FOUND;
    }),
    listOf("for learners", "questions", undefined, { can: {}, captions: [], questions: [] }),
    transcript("for staff", { until: ".instants" }),
    transcript("is corrected", {
      act: (frame) => /** @type {HTMLElement} */ (frame.querySelector(".remove")).click(),
      until: ".edited .write",
    }),
    transcript("for learners", { until: ".instants" }, { can: {} }),
  ],
};
