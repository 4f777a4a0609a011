// The exercises that this lab offers.

/**
 * @typedef {{ en: string, zh: string }} Texts
 * @typedef {{ value: string, note?: Texts }} Choice
 * @typedef {{ choices: Choice[], steps: boolean }} Prediction `steps`: locking it in makes a step
 * @typedef {{ choices: Choice[] }} Question no choices: a number is typed
 * @typedef {{ id: string, text: Texts, prediction: Prediction | null, answer: Question | null }} StepTexts
 * @typedef {{ text: Texts, choices: Texts[] }} Transfer
 * @typedef {{ step: string, minutes: number, title: Texts }} Part
 * @typedef {{ slug: string, number: string, minutes: number, era: string, is_once: boolean, partition: string, title: Texts, brief: Texts,
 *             concept: Texts | null, debrief: Texts, hints: Texts[], steps: StepTexts[],
 *             against: { quote: string, source: string, text: Texts } | null, parts: Part[], chain: Texts | null,
 *             transfer: Transfer | null }} Exercise
 */

/** The exercises of this lab, with their texts: see templates/lab/lab.html. @type {Exercise[]} */
export const exercises = JSON.parse(document.getElementById("exercises")?.textContent ?? "[]");
