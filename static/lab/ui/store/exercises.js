// The exercises that this lab offers.

/**
 * @typedef {{ en: string, zh: string }} Texts
 * @typedef {{ value: string, note?: Texts }} Choice
 * @typedef {{ choices: Choice[], steps: boolean }} Prediction `steps`: locking it in makes a step
 * @typedef {{ id: string, text: Texts, prediction: Prediction | null }} StepTexts
 * @typedef {{ slug: string, number: string, minutes: number, era: string, is_once: boolean, partition: string, title: Texts, brief: Texts,
 *             concept: Texts | null, debrief: Texts, hints: Texts[], steps: StepTexts[] }} Exercise
 */

/** The exercises of this lab, with their texts: see templates/lab/lab.html. @type {Exercise[]} */
export const exercises = JSON.parse(document.getElementById("exercises")?.textContent ?? "[]");
