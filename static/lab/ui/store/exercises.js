// The exercises that this lab offers.
/**
 * @typedef {{ en: string, zh: string }} Texts
 * @typedef {{ slug: string, number: string, minutes: number, era: string, is_once: boolean, has_own_cluster: boolean, has_terms: boolean,
 *             partition: string, title: Texts, next: string, is_finished: boolean }} Exercise
 *   `next`: the slug of the lesson that follows, or empty
 */

/** The exercises of this lab: see templates/lab/lab.html. @type {Exercise[]} */
export const exercises = JSON.parse(document.getElementById("exercises")?.textContent ?? "[]");
