// What a page shows, as data: for its address, and for those who follow it. Not in it: theme, language, sizes, what is hovered.

/** @import { Mode } from "../live/clock.js" */

/**
 * @typedef {{ broker: string, path: string, mode: string, at: number, find: string }} DiskView
 * @typedef {{ branch: string, seq: number | null, at_us: number | null, mode: Mode, rate: number, screen: string, partition: string,
 *             selection: string, ranges: Record<string, [number, number]>, window: [number, number] | null, disk: DiskView | null,
 *             group: string, tab: string, console: boolean, overlay: string }} PageView
 *   `branch`: "run/branch". `seq`, `at_us`: the event and the instant that are shown, null at the newest. `ranges`: first and last
 *   offset in sight of each open partition. `window`: from and to of the space-time picture, microseconds; null while it follows
 *   the playhead. `disk`: the place on the disk screen; null where another screen is shown
 */

const OFFSETS = /^\d{1,15}$/;
/** A partition and its range; a topic may contain dots, hyphens and digits, but no colon or comma. */
const RANGE = /^([\w.-]+-\d+):(\d{1,15})-(\d{1,15})$/;

/** "orders-0:24-45,orders-1:0-21" @param {PageView["ranges"]} ranges */
export const rangesText = (ranges) => Object.entries(ranges).map(([id, [first, last]]) => `${id}:${first}-${last}`).join(",");

/** The same, read back; what is damaged is left out. @param {string | null} text @returns {PageView["ranges"]} */
export function rangesOf(text) {
  const found = (text ?? "").split(",").map((one) => RANGE.exec(one));
  return Object.fromEntries(found.flatMap((match) => {
    if (!match) return [];
    const [, id, first, last] = match;
    return Number(first) <= Number(last) ? [[id, [Number(first), Number(last)]]] : [];
  }));
}

/** "36400000-36420000" @param {PageView["window"]} window */
export const windowText = (window) => (window ? `${Math.max(0, Math.round(window[0]))}-${Math.round(window[1])}` : "");

/** The same, read back; null where there is none. @param {string | null} text @returns {PageView["window"]} */
export function windowOf(text) {
  const [from, to] = (text ?? "").split("-");
  if (!OFFSETS.test(from ?? "") || !OFFSETS.test(to ?? "") || Number(from) >= Number(to)) return null;
  return [Number(from), Number(to)];
}

/**
 * Whether two views differ in what is looked at: with one that only differs in time, nothing has to be brought into sight.
 * @param {PageView | null} a
 * @param {PageView} b
 */
export function sameSight(a, b) {
  return a !== null && JSON.stringify([a.ranges, a.window, a.partition]) === JSON.stringify([b.ranges, b.window, b.partition]);
}
