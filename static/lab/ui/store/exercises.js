// The exercises that this lab offers.

/** The exercises of this lab, with their texts: see templates/lab/lab.html. */
export const exercises = JSON.parse(document.getElementById("exercises")?.textContent ?? "[]");
