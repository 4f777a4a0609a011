// A lesson at several of its steps.
import { html } from "../../../kit/element.js";
import { exercises } from "../../../store/exercises.js";
import { chosen } from "../../../store/lesson.js";
import { exercise } from "../../../store/state.js";

/** @import { Debrief, ExerciseFrame, StepFrame } from "../../../store/state.js" */
/** @import { Group, Shown } from "../frame.js" */

const AT = { at_us: 2_400_000, seq: 120 };

/** @param {Partial<StepFrame>} changes @returns {StepFrame} */
const step = (changes) => ({
  id: "s1", state: "active", kind: "goals", part: null, text: "", choices: [], makes_step: false, checked: null, skipped: false,
  why_not: "", wrong: "", given: null, said: {}, reasons: {}, freeze: null, ...changes,
});

const PRODUCE = step({
  id: "produce", state: "done", part: { number: 1, minutes: 4, title: "A record that only the leader has" },
  text: "Send a record that **only the leader** has:\n\n`producer send p1 orders-0 anna:10`",
  checked: { ...AT, detail: "orders-0@b1 ends at offset 9" },
});
const PREDICTION = step({
  id: "where", kind: "prediction", text: "Broker 1 crashes. Where does the log of broker 3 end after it follows broker 2?",
  choices: [{ value: "46", note: "where it did" }, { value: "45", note: "at its high watermark" }, { value: "0", note: "" }],
  makes_step: true,
});
const SETTLED = step({
  ...PREDICTION, state: "done", given: { choice: "46", confidence: 0.9, outcome: "45" },
  reasons: { 46: "The record at offset 45 was not committed.", 45: "The follower truncates to the end of the leader's epoch." },
  freeze: { ...AT, screen: "picture", text: "The simulation is paused **right after the truncation**." },
});
const NUMBER = step({
  id: "epoch", kind: "answer", text: "Which leader epoch do new batches have?", given: { choice: "4", confidence: null, outcome: null },
  why_not: "4 is the epoch of the controller.", wrong: "The epoch of the *controller* is that of all brokers; a partition has its own.",
});

/** @type {Debrief} */
const DEBRIEF = {
  text: "A record is committed once **all in-sync replicas** have it. Broker 3 had it, and broker 2, which leads now, had not.",
  concept: "High watermark: the offset up to which all in-sync replicas have the log.",
  against: {
    quote: "在同步副本集里，日志末端就相同。", english: "In-sync replicas have the same log end.",
    text: "They may lag by `replica.lag.time.max.ms`.",
  },
  chain: 0, via: 0, chain_title: "",
  transfer: {
    text: "`min.insync.replicas` is 2, and one follower is out of sync. What does a producer with `acks=all` get?",
    choices: [{ place: 0, text: "`NOT_ENOUGH_REPLICAS`" }, { place: 1, text: "An acknowledgement, as before" }], choice: 0, right: 1,
    reasons: ["Two replicas are still in sync: the leader and the other follower."],
  },
};

/** @param {string} state @param {Partial<ExerciseFrame>} changes @param {() => void} [more] @returns {Shown} */
const lesson = (state, changes, more = () => {}) => ({
  tag: "hw-exercise",
  state,
  frame: "narrow",
  set: () => {
    exercise.value = {
      slug: exercises[0].slug, brief: "A leader crashes, and a record is gone that **a follower still has**.", steps: [], hints: [],
      hints_in_all: 2, masked: false, finished: false, restarted: false, waits: false, debrief: null, ...changes,
    };
    more();
  },
  body: () => html`<hw-exercise></hw-exercise>`,
});

const OPEN = /** @type {const} */ ({ state: "open" });

/** @type {Group} */
export const LESSON = {
  after: () => {
    exercise.value = null;
    chosen.value = { step: "", value: "", confidence: 0 };
  },
  shown: [
    {
      tag: "hw-exercise",
      state: "of the list",
      frame: "narrow tall",
      set: () => (exercise.value = null),
      body: () => html`<hw-exercise></hw-exercise>`,
    },
    lesson("asks for a prediction", { steps: [PRODUCE, PREDICTION, OPEN, OPEN] },
      () => (chosen.value = { step: "where", value: "45", confidence: 0.7 })),
    lesson("refuses an answer", {
      steps: [PRODUCE, SETTLED, NUMBER, OPEN], hints: ["Look at the batches of orders-0 on broker 2."], restarted: true,
    }),
    lesson("is finished", { steps: [PRODUCE, SETTLED], finished: true, debrief: DEBRIEF }),
  ],
};
