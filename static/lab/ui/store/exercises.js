// The exercises that this lab offers.
import { signal } from "@preact/signals-core";

/**
 * @typedef {{ en: string, zh: string }} Texts
 * @typedef {{ value: string, note?: Texts }} Choice
 * @typedef {{ choices: Choice[], steps: boolean }} Prediction `steps`: locking it in makes a step
 * @typedef {{ choices: Choice[] }} Question no choices: a number is typed
 * @typedef {{ id: string, text: Texts, prediction: Prediction | null, answer: Question | null }} StepTexts
 * @typedef {{ text: Texts, choices: Texts[] }} Transfer
 * @typedef {{ step: string, minutes: number, title: Texts }} Part
 * @typedef {{ slug: string, number: string, minutes: number, era: string, is_once: boolean, has_own_cluster: boolean,
 *             partition: string, title: Texts, brief: Texts,
 *             concept: Texts | null, debrief: Texts, hints: Texts[], steps: StepTexts[],
 *             against: { quote: string, source: string, text: Texts } | null, parts: Part[], chain: Texts | null,
 *             transfer: Transfer | null }} Exercise
 */

/**
 * The exercises of this lab: see templates/lab/lab.html. `steps` and the texts of those that are not in progress are absent until they
 * are loaded. @type {Exercise[]}
 */
export const exercises = JSON.parse(document.getElementById("exercises")?.textContent ?? "[]");

/** How many have been loaded: what is shown of one changes with it. */
export const loaded = signal(0);

/** An exercise with all its texts; undefined where it is not loaded. @param {string} slug */
export function withTexts(slug) {
  void loaded.value;
  const found = exercises.find((one) => one.slug === slug);
  return found && "steps" in found ? found : undefined;
}

/** Loads the texts of an exercise, if they are not here. @param {string} slug */
export async function loadTexts(slug) {
  const found = exercises.find((one) => one.slug === slug);
  if (!found || "steps" in found) return;
  const response = await fetch(`/api/lessons/${slug}.json`, { credentials: "same-origin" });
  if (!response.ok) return;
  Object.assign(found, await response.json());
  loaded.value++;
}
