// What ends following, and what does not: the one list of it. Where an interaction of the first kind is carried out, it asks
// `steer` before; no other module needs to know whether the page follows.

/** Ends following: what moves time, changes what is looked at, or acts on a branch. */
export const DETACHING = /** @type {const} */ ([
  "command", // a line of the shell: from a menu, a form or the console; a bookmark
  "fork",
  "answer", // to a question of a lesson, and its start, hints, reset and end
  "play", // play, pause, event-paced
  "speed",
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

/** @type {(interaction: Interaction) => boolean} */
let answer = () => true;

/** Whether an interaction may be carried out. While the page follows, one that ends it returns the page to its own
 * branch and is not carried out: it was aimed at what was shown before.
 * @param {Interaction} interaction
 */
export const steer = (interaction) => answer(interaction);

/** Set by store/follow.js. @param {(interaction: Interaction) => boolean} how */
export const onSteer = (how) => void (answer = how);
