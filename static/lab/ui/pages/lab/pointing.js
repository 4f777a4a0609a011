// The presenter's pointer: while the key Y is held, it is shown on following pages, at the same element.
import { anchorOf, anchorText } from "../../../core/layout/ink.js";
import { pointOf } from "../../../draw/zoom.js";
import { closest } from "../../kit/events.js";
import { stage } from "./stage.js";

/** @import { Stage } from "../../../draw/stage.js" */
/** @import { ClassRoom } from "../../../core/classroom/class_room.js" */

/** The server forwards ten per second; more would queue up. */
const SENT_MS = 60;
const PARTS = 1000;

/** Sends the pointer's position while Y is held. @param {ClassRoom} room @param {() => boolean} mayPoint */
export function point(room, mayPoint) {
  let isHeld = false;
  let sent_ms = 0;
  addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "y" || event.repeat || event.ctrlKey || event.metaKey || !mayPoint()) return;
    if (!closest(event, "input, textarea, select, dialog")) isHeld = true;
  });
  const release = () => {
    if (isHeld) room.send({ k: "point", anchor: "none:", u: 0, v: 0, down: false });
    isHeld = false;
  };
  addEventListener("keyup", (event) => event.key.toLowerCase() === "y" && release());
  addEventListener("blur", release);
  addEventListener("pointermove", (event) => {
    if (!isHeld || event.timeStamp - sent_ms < SENT_MS) return;
    const { x, y } = pointOf(event);
    const spot = stage.peek()?.spotAt(x, y);
    if (!spot) return;
    sent_ms = event.timeStamp;
    room.send({ k: "point", anchor: anchorText(spot.anchor), u: Math.round(spot.u * PARTS), v: Math.round(spot.v * PARTS) });
  });
}

/**
 * Shows the presenter's pointer.
 * @param {Stage | null} drawings of the lab in which they point
 * @param {string} name
 * @param {{ anchor: string, u: number, v: number, down: boolean }} frame
 */
export function showPointer(drawings, name, { anchor, u, v, down }) {
  const at = down ? anchorOf(anchor) : null;
  drawings?.setPointer(name, at && { anchor: at, u: u / PARTS, v: v / PARTS });
}
