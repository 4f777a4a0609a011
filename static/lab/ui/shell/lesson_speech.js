// Announcements of the lesson in progress for screen readers: each step, check, question and outcome once. The panel itself has no
// live regions: it is drawn again with every frame.
import { t } from "../kit/i18n.js";
import { KEY_OF_A_CONTROL } from "../kit/keys.gen.js";
import { inProgress, openedSteps, textOf } from "../store/lesson.js";
import { speech } from "../store/speech.js";
import { effect, exercise } from "../store/state.js";
import { verdict } from "./questions.js";

/** @import { ExerciseFrame, StepFrame } from "../store/state.js" */

/** Interval of announcements of what a step still waits for, ms: while time runs, that changes with the figures in it. */
const CHECK_MS = 3_000;

/** A phone, which has no keys. */
const keyless = matchMedia("(hover: none) and (pointer: coarse)");
/** Markdown of the small kind as it is spoken. @param {string} markdown */
const plain = (markdown) => markdown.replace(KEY_OF_A_CONTROL, (key) => (keyless.matches ? "" : key))
  .replace(/^[-*] |[`*]/gm, "").replace(/\s+/g, " ").trim();
/** @param {string} markdown */
const opening = (markdown) => plain(markdown.split("\n\n")[0]);

/** What was answered, and what became of it. @param {StepFrame} step */
function questionOf(step) {
  const { kind, given, said, makes_step: makesStep } = step;
  if (kind === "goals" || !given) return "";
  if (kind === "prediction") return verdict(given, said, makesStep);
  if (!given.outcome) return given.choice ? step.why_not : "";
  return given.choice ? t("exercise.answer_right", { answer: given.choice }) : t("exercise.outcome", { outcome: given.outcome });
}

/** All announcements of a frame, by names that stay the same from frame to frame while they apply.
 * @param {ExerciseFrame} frame
 * @returns {Map<string, string>}
 */
function sentencesOf(frame) {
  /** @type {[string, string][]} */
  const found = [["restarted", frame.restarted ? t("exercise.restarted") : ""]];
  openedSteps().forEach((step, place) => {
    const { id, kind, state, checked, skipped, wrong, freeze } = step;
    const n = place + 1;
    const question = questionOf(step);
    found.push([`question ${id} ${question}`, question], [`wrong ${id} ${wrong}`, plain(wrong)]);
    if (freeze) found.push([`freeze ${id} ${freeze.seq}`, plain(freeze.text)]);
    if (state === "done" && skipped) found.push([`done ${id}`, t("exercise.said_skipped", { n })]);
    else if (state === "done" && kind === "goals")
      found.push([`done ${id}`, t("exercise.said_done", { n, detail: checked?.detail ?? "" })]);
    if (state === "active")
      found.push([`step ${id}`, t("exercise.said_step", { n, of: frame.steps.length, text: opening(textOf(step)) })]);
  });
  frame.hints.forEach((hint, place) => found.push([`hint ${place} ${hint}`, `${t("exercise.hint_n", { n: place + 1 })} ${plain(hint)}`]));
  const { choice = null, right = null } = frame.debrief?.transfer ?? {};
  found.push(["waits", frame.waits ? t("exercise.waits") : ""], ["finished", frame.finished ? t("exercise.said_finished") : ""]);
  if (choice !== null) found.push(["transfer", t(choice === right ? "exercise.transfer_right" : "exercise.transfer_wrong")]);
  return new Map(found.filter(([, sentence]) => sentence));
}

/** What an active step still waits for. */
const missing = () => openedSteps().find(({ state, kind, wrong }) => state === "active" && kind === "goals" && !wrong)?.why_not ?? "";

let slug = "";
/** @type {Map<string, string>} */
let before = new Map();
let missed = "";

function follow() {
  const frame = exercise.value;
  const now = frame && inProgress() ? sentencesOf(frame) : new Map();
  const isNew = frame?.slug !== slug;
  slug = frame?.slug ?? "";
  for (const [name, sentence] of now) {
    // Of a lesson that is opened only the current step is announced, not what was done before.
    if (isNew ? name.startsWith("step ") || name === "restarted" : !before.has(name))
      speech.say("lesson", sentence, { gather: (sentences) => sentences.join(" ") });
  }
  before = now;
  const waits = missing();
  if (waits === missed) return;
  missed = waits;
  if (waits) speech.say("check", waits, { every_ms: CHECK_MS });
  else speech.forget("check");
}

// A text that a region is created with is not announced: the frame may have arrived before the regions were drawn.
const regions = /** @type {import("../kit/element.js").HwElement | null} */ (document.querySelector("hw-messages"));
customElements.whenDefined("hw-messages").then(() => regions?.updateComplete).then(() => effect(follow));
