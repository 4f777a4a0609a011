// What ends following, and what does not: the one list of it, with the rights that it takes. Where an interaction of the first
// kind is carried out, it asks `steer` before; no other module needs to know whether the page follows, or may act.

/** Ends following: what moves time, changes what is looked at, or acts on a branch. */
export const DETACHING = /** @type {const} */ ([
  "command", // a line of the shell: from a menu, a form or the console
  "bookmark",
  "fork",
  "answer", // to a question of a lesson, and its start, hints, reset and end
  "play", // play, pause, event-paced
  "speed",
  "live", // the lab's own time, even while its past is shown: what it pauses at, the next event on a lane
  "step", // by event, by message, on a lane
  "seek", // on the time line, in the space-time picture, by a link to an instant
  "screen",
  "partition",
  "selection",
  "pan", // the offsets in sight: wheel, drag, overview, small cells
  "follow", // the key F itself
]);

/** Goes on beside following: what only concerns the visitor. */
export const HARMLESS = /** @type {const} */ ([
  "hover",
  "tooltip",
  "help", // the list of keys, glossary, find
  "copy", // of a text, a table, bytes
  "share", // the address of what is shown
  "note",
  "vote", // in a poll
  "hand",
  "question",
  "theme",
  "density",
  "language",
  "panels", // which are open, and their sizes
  "tab", // of the inspector or the side panel
  "console", // open or closed
  "resize", // of the window; the browser's zoom
  "table", // reading and sorting it
  "scroll",
  "focus", // by keyboard or by a screen reader's cursor
]);

/** @typedef {typeof DETACHING[number] | typeof HARMLESS[number]} Interaction */

const detaching = new Set(/** @type {readonly string[]} */ (DETACHING));

/** @param {Interaction} interaction */
export const detaches = (interaction) => detaching.has(interaction);

/** @typedef {"act" | "time" | "fork"} Right one of those of lab/rights.py */

/**
 * What a control takes. `answer`: the right to act in the page's own lab, whichever is shown; `live`: the right to time, even
 * while the past is shown, which the page plays by itself; `mark` and `speed`: the same as `act` and `time`, but a paused class does
 * not end them. A paused class ends `act`, `time` and `live`.
 * @typedef {Right | "answer" | "live" | "mark" | "speed"} Taken
 */

/** What an interaction takes; the others take nothing. @type {Partial<Record<Interaction, Taken>>} */
export const TAKES = {
  command: "act", bookmark: "mark", answer: "act", fork: "fork", play: "time", speed: "speed", step: "time", live: "live",
};

/** @type {((interaction: Interaction) => boolean)[]} */
const judges = [];

/** Whether an interaction may be carried out. While the page follows, one that ends it returns the page to its own
 * branch and is not carried out: it was aimed at what was shown before. Nor is one that the lab would refuse.
 * @param {Interaction} interaction
 */
export const steer = (interaction) => judges.every((judge) => judge(interaction));

/**
 * Set by store/follow.js and store/rights.js.
 * @param {(interaction: Interaction) => boolean} judge
 * @returns {() => void} ends it
 */
export function onSteer(judge) {
  judges.push(judge);
  return () => void judges.splice(judges.indexOf(judge), 1);
}
