// Which captions are shown, in a class and in its replay: chosen once for both, kept in the browser.
import { signal } from "@preact/signals-core";
import { language } from "../../kit/i18n.js";

/** @import { Signal } from "@preact/signals-core" */
/** @typedef {"en" | "zh-CN"} Language */
/** @typedef {Language | "both" | "off"} Choice */

const STORED = "highwater.replay.captions";
/** @type {Language[]} */
export const LANGUAGES = ["en", "zh-CN"];

/** A language, `both` or `off`. @type {Signal<Choice>} */
export const shown = signal(/** @type {Choice} */ (localStorage.getItem(STORED) ?? language));

/** @param {Choice} to */
export function show(to) {
  shown.value = to;
  localStorage.setItem(STORED, to);
}

let before = shown.peek() === "off" ? language : shown.peek();
/** Off, or as it was before. */
export function toggleCaptions() {
  const now = shown.peek();
  if (now !== "off") before = now;
  show(now === "off" ? before : "off");
}

/** Those of some languages that are shown: one that was chosen and is not there gives way to the other. @param {Language[]} there */
export function displayed(there) {
  if (shown.value === "off" || shown.value === "both") return shown.value === "off" ? [] : there;
  return there.includes(shown.value) ? [shown.value] : there.slice(0, 1);
}

/** What can be chosen where there are captions in some languages. @param {Language[]} there @returns {Choice[]} */
export const choicesOf = (there) => ["off", ...there, ...(there.length > 1 ? [/** @type {"both"} */ ("both")] : [])];
