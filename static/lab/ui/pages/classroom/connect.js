// Connects a page with the class that its element #class names.
import { byId } from "../../kit/element.js";
import { changed, join } from "../../classroom/store.js";
import { ClassRoom } from "../../../core/classroom/class_room.js";

/** @param {"board" | "projector"} place */
export function connect(place) {
  const { slug = "" } = byId("class").dataset;
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const room = new ClassRoom(`${scheme}://${location.host}/ws/classes/${slug}/`, place, {
    changed,
    isHidden: () => document.hidden,
    now_ms: () => performance.now(),
    WebSocketClass: WebSocket,
  });
  join(room);
  addEventListener("pagehide", () => room.close());
}
