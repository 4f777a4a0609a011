// Every instant has an address: run, branch, time, selection, view, and what is in sight.
import { rangesText, windowText } from "../../core/player/page_view.js";
import { here } from "./api.js";
import { MODES, place } from "./disk.js";
import { partition, player, selection, shown } from "./state.js";
import { panned, view } from "./view.js";

/** @import { DiskPlace } from "./disk.js" */

/** The state of the disk screen in the address; defaults are left out. @param {DiskPlace} place */
function diskQuery({ broker, path, mode, at, find }) {
  const all = { broker, file: path, show: mode === "bytes" ? "" : mode, at: at ? String(at) : "", find };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value));
}

/** The same, read back. @param {URLSearchParams} query @returns {DiskPlace} */
export function diskPlace(query) {
  const mode = query.get("show") ?? "";
  const at = query.get("at") ?? "";
  const find = query.get("find") ?? "";
  return {
    broker: query.get("broker") ?? "",
    path: query.get("file") ?? "",
    mode: MODES.find((one) => one === mode) ?? "bytes",
    at: /^\d{1,12}$/.test(at) ? Number(at) : 0,
    find: /^t?\d{1,18}$/.test(find) ? find : "",
  };
}

/**
 * The address of what is shown, as a path. Offsets are in it once their axis was moved.
 * @param {{withInstant: boolean, withWindow?: boolean}} options `withInstant`: it opens at this instant, paused; else at the newest;
 *   `withWindow`: with the span of time in sight
 */
export function addressOf({ withInstant, withWindow = false }) {
  const query = new URLSearchParams();
  if (withInstant) query.set("t", (player.at_us / 1e6).toFixed(6));
  if (partition.value) query.set("p", partition.value);
  if (selection.value) query.set("sel", selection.value);
  if (shown.value !== "picture") query.set("view", shown.value);
  const { ranges, window } = view();
  if (panned.value) query.set("off", rangesText(ranges));
  if (withWindow && window) query.set("win", windowText(window));
  if (shown.value === "disk") for (const [name, value] of Object.entries(diskQuery(place.value))) query.set(name, value);
  const text = query.toString().replace(/%(3A|40|2F|7C|2C)/g, (code) => decodeURIComponent(code));
  // Several events may share an instant: then the number identifies the one.
  const exact = withInstant && player.event(player.seq)?.at_us === player.at_us;
  return here.page + (text && `?${text}`) + (exact ? `#seq=${player.seq}` : "");
}
