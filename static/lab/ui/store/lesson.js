// The lesson in progress: its texts, what is asked now, and what can be done with it.
import { refuse } from "./api.js";
import { loadTexts, withTexts } from "./exercises.js";
import { effect, exercise, player, SCREENS, shown, signal } from "./state.js";
import { stepRpc } from "./time.js";

/** @import { Signal } from "@preact/signals-core" */

/** @typedef {{ step: string, value: string, confidence: number }} Chosen `confidence` 0: not said yet */

const STOPS = [0.5, 0.7, 0.9, 0.99];
const UNDECIDED = { step: "", value: "", confidence: 0 };
/** What is chosen but not locked in yet. @type {Signal<Chosen>} */
export const chosen = signal(UNDECIDED);

/** How sure one can be with that many choices, from a guess on. @param {number} choices */
export const stopsOf = (choices) => [1 / choices, ...STOPS.filter((stop) => stop > 1 / choices + 1e-6)];

/** The texts of the lesson in progress. */
export const content = () => withTexts(exercise.value?.slug ?? "");
effect(() => void (exercise.value?.slug && loadTexts(exercise.value.slug)));
/** The texts of a step of it. @param {{ id: string }} step */
export const contentOf = (step) => content()?.steps.find(({ id }) => id === step.id);
/** The place of the first prediction that is not locked in, -1 if none is left. The steps after it would reveal the answer. */
export const firstQuestion = () =>
  exercise.value?.steps.findIndex((step) => contentOf(step)?.prediction && !step.prediction) ?? -1;
/** The step whose prediction is asked now. */
const askedStep = () =>
  exercise.value?.steps.find((step) => step.state === "active" && !step.prediction && contentOf(step)?.prediction);

/** @param {string} op @param {object} [more] */
export const send = (op, more = {}) => player.exercise(op, { exercise: exercise.value?.slug, ...more }).catch(refuse);

/** What is chosen in a step. @param {{ id: string }} step @returns {Chosen} */
export const chosenIn = ({ id }) => (chosen.value.step === id ? chosen.value : { ...UNDECIDED, step: id });

/** Is an answer chosen that could be locked in? Then Enter does that before it steps. */
export const canLockIn = () =>
  Boolean(chosen.value.value) && chosen.value.confidence > 0 && askedStep()?.id === chosen.value.step;

export async function lockIn() {
  const { step, value, confidence } = chosen.value;
  const steps = contentOf({ id: step })?.prediction?.steps;
  try {
    await player.exercise("predict", { exercise: exercise.value?.slug, step, choice: value, confidence });
  } catch (error) {
    refuse(error); // Another tab may have been first: nothing is stepped then.
    return;
  }
  chosen.value = UNDECIDED;
  if (steps) await stepRpc();
}

/** Answers the question of a step. @param {string} step @param {string} value */
export async function answer(step, value) {
  await send("answer", { step, choice: value });
  if (chosen.value.step === step) chosen.value = UNDECIDED;
}

/** The next hint, if there is one. */
export function nextHint() {
  const [texts, frame] = [content(), exercise.value];
  if (texts && frame && frame.hints_shown < texts.hints.length) send("hint");
}

/** The event of the last freeze that was shown: a screen is opened once, not again after a reload. */
let frozenSeq = -1;
effect(() => {
  const frozen = exercise.value?.steps.flatMap(({ freeze }) => freeze ?? []).at(-1);
  const seq = frozen?.seq ?? 0;
  if (frozen && frozenSeq >= 0 && seq > frozenSeq) shown.value = SCREENS.includes(frozen.screen) || frozen.screen === "table"
    ? frozen.screen : "picture";
  if (exercise.value) frozenSeq = Math.max(frozenSeq, seq);
});
