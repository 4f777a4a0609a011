// Numbers, sets and values as the page writes them. Instants and speeds are in core/timemap.js.

import { secondsText } from "../../core/player/timemap.js";

const THIN = "\u202f";

/** 18237 -> "18 237" @param {number | bigint | string} number */
export const spaced = (number) => String(number).replace(/\B(?=(\d{3})+(?!\d))/g, THIN);

/** 36413100 -> "36.4131 s" @param {number} us @param {number} [digits] */
export const instant = (us, digits = 4) => `${secondsText(us, digits)} s`;

/** 1690 -> "1 690 B" @param {number} count */
export const bytes = (count) => `${spaced(count)} B`;

/** [1, 2] -> "{1,2}" @param {readonly (number | string)[]} ids */
export const set = (ids) => `{${ids.join(",")}}`;

/** A value of the view in a few characters. @param {unknown} value @param {number} [most] */
export function brief(value, most = 48) {
  if (value === undefined) return "—";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/**
 * A timestamp of a record (wall clock, milliseconds) in the reader's time zone, with milliseconds.
 * @param {number} ms
 * @param {string} language
 */
export function wall(ms, language) {
  if (ms < 0) return "—";
  const date = new Date(ms);
  return `${date.toLocaleTimeString(language, { hour12: false })}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}
