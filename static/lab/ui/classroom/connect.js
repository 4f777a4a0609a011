// The connection of a page with its class.
import { changed, classSlug, join } from "./store.js";
import { ownLab } from "./looked_at.js";
import { ClassRoom } from "../../core/classroom/class_room.js";

/**
 * @param {string} slug of the class
 * @param {"lab" | "board" | "projector"} place
 * @param {(frame: any) => void} [frame] gets volatile frames
 */
export function connect(slug, place, frame) {
  classSlug.value = slug;
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const room = new ClassRoom(`${scheme}://${location.host}/ws/classes/${slug}/`, place, {
    changed,
    frame,
    isHidden: () => document.hidden,
    lab: ownLab,
    now_ms: () => performance.now(),
    WebSocketClass: WebSocket,
  });
  join(room);
  addEventListener("pagehide", () => room.close());
  return room;
}
