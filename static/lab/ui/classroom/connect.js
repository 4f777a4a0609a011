// The connection of a page with its class.
import { changed, classSlug, join } from "./store.js";
import { ownLab } from "./looked_at.js";
import { ClassRoom } from "../../core/classroom/class_room.js";

/** @typedef {ConstructorParameters<typeof ClassRoom>} Made */

/**
 * @param {string} slug of the class
 * @param {"lab" | "board" | "projector"} place
 * @param {(frame: any) => void} [frame] gets volatile frames
 */
export function connect(slug, place, frame) {
  classSlug.value = slug;
  const room = roomOf(slug, place, { changed, frame, lab: ownLab });
  join(room);
  return room;
}

/**
 * The class, without showing it on the page; it is left with the page.
 * @param {string} slug @param {Made[1]} place @param {Pick<Made[2], "changed" | "frame" | "lab" | "shown_us">} page
 */
export function roomOf(slug, place, page) {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const room = new ClassRoom(`${scheme}://${location.host}/ws/classes/${slug}/`, place, {
    ...page,
    isHidden: () => document.hidden,
    now_ms: () => performance.now(),
    WebSocketClass: WebSocket,
  });
  document.addEventListener("visibilitychange", () => room.pageChanged());
  addEventListener("pagehide", () => room.close());
  return room;
}
