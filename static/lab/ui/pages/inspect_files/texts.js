// Numbers, instants and sentences of the page /inspect/.
import { spaced } from "../../kit/format.js";
import { t } from "../../kit/i18n.js";

const UNITS = ["B", "KiB", "MiB", "GiB"];

/** 1536 -> "1.5 KiB" @param {number} count */
export function size(count) {
  let amount = count;
  let unit = 0;
  for (; amount >= 1024 && unit < UNITS.length - 1; unit++) amount /= 1024;
  return `${unit && amount < 100 ? amount.toFixed(1) : spaced(Math.round(amount))} ${UNITS[unit]}`;
}

const LATEST_MS = 8.64e15;
/** @param {number} number */
const two = (number) => String(number).padStart(2, "0");

/**
 * A timestamp in the reader's time zone: "2026-11-21 20:01:05.123"; the number itself if it is not a valid timestamp.
 * @param {number | bigint} ms
 */
export function stamp(ms) {
  const number = Number(ms);
  if (number < 0) return "—";
  if (number > LATEST_MS) return String(ms);
  const at = new Date(number);
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}

/** @param {number} number */
export const hex8 = (number) => number.toString(16).padStart(8, "0");
/** @typedef {number | bigint} Offset */

/** @param {Offset} first @param {Offset} last */
export const span = (first, last) => (first === last ? String(first) : `${first}–${last}`);

const LONG_SPAN = 14;
/** "54423124–54423130" -> "54423124–…130", for narrow columns. @param {Offset} first @param {Offset} last */
export const shortSpan = (first, last) => (span(first, last).length > LONG_SPAN && first !== last ? `${first}–…${String(last).slice(-3)}`
  : span(first, last));
/** "00000000000000005377.log" -> "…5377.log": what differs. @param {string} name */
export const shortName = (name) => name.replace(/^0{12,19}(?=\d)/, "…");

/**
 * A value of a sentence: checksums in hexadecimal, instants as such, big numbers with thin spaces.
 * @param {string} name
 * @param {unknown} value
 */
function shown(name, value) {
  if (typeof value !== "number" && typeof value !== "bigint") return value;
  if (name === "stored" || name === "computed") return hex8(Number(value));
  if (name === "time" || (name === "most" && value > 1e11) || (name === "before" && value > 1e11)) return stamp(value);
  return spaced(value);
}

/** @typedef {{ rule: string, values: Record<string, unknown> }} Fault a broken rule */

/** The sentence of a broken rule. @param {Fault} fault */
export const sentence = ({ rule, values }) =>
  t(`own.rule.${rule}`, Object.fromEntries(Object.entries(values).map(([name, value]) => [name, shown(name, value)])));

/** Its short name. @param {string} rule */
export const ruleName = (rule) => t(`own.name.${rule}`);
