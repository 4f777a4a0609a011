// The lesson in progress: what is asked now, and what can be done with it.
import { withController } from "../../core/view/placeholders.js";
import { classroom, refuse } from "./api.js";
import { exercises } from "./exercises.js";
import { mayAnswer } from "./rights.js";
import { effect, exercise, isOwn, moment, own, SCREENS, shown, signal } from "./state.js";
import { stepRpc } from "./time.js";

/** @import { Signal } from "@preact/signals-core" */

/** @import { StepFrame } from "./state.js" */

/** @typedef {{ step: string, value: string, confidence: number }} Chosen `confidence` 0: not chosen yet */

/**
 * Who decides which lesson is next: in a class the instructor, for everyone.
 * @type {Signal<"alone" | "class" | "staff">}
 */
export const whoGoesOn = signal(classroom ? "class" : "alone");

const STOPS = [0.5, 0.7, 0.9, 0.99];
const UNDECIDED = { step: "", value: "", confidence: 0 };
/** What is chosen but not locked in yet. @type {Signal<Chosen>} */
export const chosen = signal(UNDECIDED);

/** How sure one can be with that many choices, from a guess on. @param {number} choices */
export const stopsOf = (choices) => [1 / choices, ...STOPS.filter((stop) => stop > 1 / choices + 1e-6)];

/** The lesson in progress, as a list shows it. */
export const inProgress = () => exercises.find(({ slug }) => slug === exercise.value?.slug);
/** The steps that have opened. @returns {StepFrame[]} */
export const openedSteps = () => exercise.value?.steps.flatMap((step) => (step.state === "open" ? [] : step)) ?? [];
/** Texts with placeholders, as they were shown last while their step was in progress. @type {Map<string, string>} */
const shownTexts = new Map();

/** The text of a step, its commands with the brokers that they are about. @param {StepFrame} step */
export function textOf({ id, state, text }) {
  const key = `${exercise.value?.slug}/${id}`;
  if (state === "active" || !shownTexts.has(key)) shownTexts.set(key, withController(text, moment.value.view));
  return shownTexts.get(key) ?? text;
}

/** The step whose prediction is asked now. */
const askedStep = () => openedSteps().find(({ state, kind, given }) => state === "active" && kind === "prediction" && !given);

/** Sends an operation on the lesson to the server.
 * @param {string} op
 * @param {object} more
 */
const ask = (op, more) => own.exercise(op, { exercise: exercise.value?.slug, ...more });

/** @param {string} op @param {object} [more] */
export const send = async (op, more = {}) => (mayAnswer() ? ask(op, more).catch(refuse) : undefined);

/** What is chosen in a step. @param {{ id: string }} step @returns {Chosen} */
export const chosenIn = ({ id }) => (chosen.value.step === id ? chosen.value : { ...UNDECIDED, step: id });

/** Whether an answer is chosen that could be locked in: then Enter does that before it steps. */
export const canLockIn = () =>
  Boolean(chosen.value.value) && chosen.value.confidence > 0 && askedStep()?.id === chosen.value.step;

export async function lockIn() {
  if (!mayAnswer()) return;
  const { step, value, confidence } = chosen.value;
  const makesStep = askedStep()?.makes_step;
  try {
    await ask("predict", { step, choice: value, confidence });
  } catch (error) {
    refuse(error); // Another tab may have been first: nothing is stepped then.
    return;
  }
  chosen.value = UNDECIDED;
  if (makesStep) await stepRpc();
}

/** Why the last answer to a step was not accepted: it is not a number, or what is asked about does not exist. */
export const refusedAnswer = signal({ step: "", said: "" });

/** Answers the question of a step. @param {string} step @param {string} value */
export async function answer(step, value) {
  if (!mayAnswer()) return;
  refusedAnswer.value = { step: "", said: "" };
  try {
    await ask("answer", { step, choice: value });
  } catch (error) {
    const { what, expected = "", todo = "" } = /** @type {{ what?: string, expected?: string, todo?: string }} */ (error ?? {});
    if (!what) {
      refuse(error);
      return;
    }
    refusedAnswer.value = { step, said: [what, expected, todo].filter(Boolean).join(" ") };
  }
  if (chosen.value.step === step) chosen.value = UNDECIDED;
}

/** The next hint, if there is one. */
export function nextHint() {
  const frame = exercise.value;
  if (frame && frame.hints.length < frame.hints_in_all) send("hint");
}

/** The event of the last freeze that was shown: a screen is opened once, not again after a reload. */
let frozenSeq = -1;
effect(() => {
  const frozen = openedSteps().flatMap(({ freeze }) => freeze ?? []).at(-1);
  const seq = frozen?.seq ?? 0;
  if (frozen && frozenSeq >= 0 && seq > frozenSeq && isOwn.value) shown.value = SCREENS.includes(frozen.screen) || frozen.screen === "table"
    ? frozen.screen : "picture";
  if (exercise.value) frozenSeq = Math.max(frozenSeq, seq);
});
