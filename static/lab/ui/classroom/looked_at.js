// The instant that this page looks at, which hands and questions carry. The page of a lab sets it.

const { run = "", branch = "" } = document.getElementById("lab")?.dataset ?? {};
/** The lab of this page, whichever is shown; empty on a page without one. */
export const ownLab = run && `${run}/${branch}`;

/** @typedef {{ lab: string, seq: number, at_us: number, selection: string, screen: string }} At */

/** @type {() => At | null} */
let now = () => null;

/** @param {() => At | null} how */
export const setLookedAt = (how) => void (now = how);

/** The instant that is looked at; null on a page without a lab. */
export const lookedAt = () => now();
