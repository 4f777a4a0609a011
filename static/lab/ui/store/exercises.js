// The exercises that this lab offers.
/**
 * @typedef {{ en: string, zh: string }} Texts
 * @typedef {{ slug: string, number: string, minutes: number, era: string, is_once: boolean, has_own_cluster: boolean,
 *             partition: string, title: Texts }} Exercise
 */

/** The exercises of this lab: see templates/lab/lab.html. @type {Exercise[]} */
export const exercises = JSON.parse(document.getElementById("exercises")?.textContent ?? "[]");
