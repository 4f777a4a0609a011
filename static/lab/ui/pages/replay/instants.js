// Marked instants of a recorded class: notes, chapters set by staff, and search results.
import { batch, signal } from "@preact/signals-core";
import { refuse } from "./actions.js";
import * as replay from "./store.js";

/** @import { Signal } from "@preact/signals-core" */
/** @typedef {"chapters" | "notes" | "events" | "questions" | "transcript" | "found"} List */
/** @typedef {{ id: string, at_us: number, text: string, shared: boolean }} Note */
/** @typedef {{ at_us: number, kind: string, text: string, language: string }} Found */

/** How long a search waits for the next keystroke, ms. */
const SEARCH_AFTER_MS = 250;

/** Which list is shown. @type {Signal<List>} */
export const list = signal("chapters");
/** Notes by time; null before they are loaded. @type {Signal<Note[] | null>} */
export const notes = signal(null);
/** The instant of the note or chapter being written, or null. @type {Signal<number | null>} */
export const writes = signal(null);
/** The search text. */
export const query = signal("");
/** The search results; null while searching. @type {Signal<Found[] | null>} */
export const found = signal(null);

/** @param {List} to */
export function showList(to) {
  batch(() => {
    list.value = to;
    writes.value = null;
  });
  if (to === "notes" && !notes.peek()) void loadNotes();
}

/** Runs an action that the server may refuse; returns whether it succeeded. @param {() => Promise<void>} act */
async function tried(act) {
  try {
    await act();
    return true;
  } catch (error) {
    refuse(/** @type {Error} */ (error));
    return false;
  }
}

const loadNotes = () => tried(async () => void (notes.value = await replay.ask("notes")));

/** Starts a note, or with `chapters` a chapter, at the instant shown. @param {"notes" | "chapters"} where */
export function write(where) {
  const can = replay.manifest.peek()?.can;
  if (where === "notes" ? !can?.note : !can?.correct) return;
  replay.play(false);
  showList(where);
  writes.value = replay.atNow();
}

/** @param {string} text @param {boolean} shared for the class */
export const addNote = (text, shared) => tried(async () => {
  await replay.send("notes", { at_us: Math.round(writes.peek() ?? replay.atNow()), text, shared });
  notes.value = await replay.ask("notes");
  writes.value = null;
});

/** @param {string} id */
export const removeNote = (id) => tried(async () => void (notes.value = await replay.send(`notes/${id}`, undefined, "DELETE")));

/** @param {string} title */
export const addChapter = (title) => tried(async () => {
  setChapters(await replay.send("chapters", { at_us: Math.round(writes.peek() ?? replay.atNow()), title }));
  writes.value = null;
});

/** @param {number} chapter */
export const removeChapter = (chapter) => tried(async () => setChapters(await replay.send(`chapters/${chapter}`, undefined, "DELETE")));

/** @param {import("../../../core/replay/manifest.d.ts").ReplayChapter[]} chapters */
function setChapters(chapters) {
  const now = replay.manifest.peek();
  if (now) replay.manifest.value = { ...now, chapters };
}

let timer = 0;

/** Searches when typing has paused. An empty text returns to the chapters. @param {string} text */
export function search(text) {
  clearTimeout(timer);
  batch(() => {
    query.value = text;
    found.value = null;
    writes.value = null;
    list.value = text.trim() ? "found" : "chapters";
  });
  if (!text.trim()) return;
  timer = setTimeout(() => void tried(async () => {
    const rows = await replay.ask(`search?q=${encodeURIComponent(text)}`);
    if (query.peek() === text) found.value = rows;
  }), SEARCH_AFTER_MS);
}
