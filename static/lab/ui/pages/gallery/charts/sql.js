// The editor of the tables' page.
import "../../tables.js";
import { html } from "../../../kit/element.js";
import { REFUSAL, answer, leaveOpen } from "../answers.js";

/** @import { Group, Shown } from "../frame.js" */

const QUESTIONS = [["Which lessons take longest?", "select * from gold.lesson_times"],
  ["Which learners answered a prediction as most others did, and changed their answer in the discussion?", "select 1"]];
const QUERY = "select topic, partition, max(end_offset) as end_offset\nfrom silver.log_ends\ngroup by topic, partition";

/** @param {HTMLElement} frame */
function ask(frame) {
  /** @type {HTMLTextAreaElement} */ (frame.querySelector("textarea")).value = QUERY;
  /** @type {HTMLElement} */ (frame.querySelector("button[value=ask]")).click();
}

/** @param {string} state @param {Partial<Shown>} more @returns {Shown} */
const sql = (state, more) => ({
  tag: "hw-sql",
  state,
  frame: "padded tables-page",
  set: () => {},
  body: () => html`<hw-sql data-questions=${JSON.stringify(QUESTIONS)}></hw-sql>`,
  ...more,
});

const ANSWER = {
  columns: ["topic", "partition", "end_offset"],
  rows: [["orders", 0, 46], ["orders", 1, 12], ["a-topic-with-a-name-that-is-as-long-as-its-owner-could-make-it", 0, null]],
  is_cut: true, took_ms: 430, build: 7,
};

/** @type {Group} */
export const SQL = {
  shown: [
    sql("asks nothing", {}),
    sql("is answered", { set: () => answer("/api/sql", ANSWER), act: ask, until: ".answer" }),
    sql("is refused", { set: () => answer("/api/sql", { ...REFUSAL, line: "2" }, 400), act: ask, until: ".message.bad" }),
    sql("waits", { set: () => leaveOpen("/api/sql"), act: ask, until: ".row [role=status]" }),
  ],
};
