// The choice of captions, one for classes and replays, stored in the browser.
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
/** Turns captions off, or back to the last choice. */
export function toggleCaptions() {
  const now = shown.peek();
  if (now !== "off") before = now;
  show(now === "off" ? before : "off");
}

/** The languages of `there` that are shown. If the chosen one is not there, the first one is shown. @param {Language[]} there */
export function displayed(there) {
  if (shown.value === "off" || shown.value === "both") return shown.value === "off" ? [] : there;
  return there.includes(shown.value) ? [shown.value] : there.slice(0, 1);
}

/** The choices where there are captions in the languages `there`. @param {Language[]} there @returns {Choice[]} */
export const choicesOf = (there) => ["off", ...there, ...(there.length > 1 ? [/** @type {"both"} */ ("both")] : [])];
