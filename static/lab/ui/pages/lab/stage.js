// The drawings of the lab page, recreated when another player is shown.
import { createStage } from "../../../draw/stage.js";
import { byId } from "../../kit/element.js";
import { t, texts } from "../../kit/i18n.js";
import { setRemember } from "../../store/follow.js";
import { steer } from "../../store/interactions.js";
import { effect, front, partition, signal } from "../../store/state.js";
import { goLive, seek, seekSeq } from "../../store/time.js";
import { panned, setPicture, sighted } from "../../store/view.js";
import { scrolls } from "./scrolls.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Stage } from "../../../draw/stage.js" */

/** The drawings; null before there is a player. @type {Signal<Stage | null>} */
export const stage = signal(null);

function mayPan() {
  if (!steer("pan")) return false;
  panned.value++;
  return true;
}

effect(() => {
  const player = front.value;
  if (!player) return;
  stage.peek()?.destroy();
  const topic = partition.peek() ? partition.peek().replace(/-\d+$/, "") : undefined;
  const made = createStage({ stage: byId("stage"), timeline: byId("timeline") }, player,
    { t, texts, topic, time: { goLive, seek, seekSeq }, mayPan, inSight: () => sighted.value++ });
  setPicture(made);
  stage.value = made;
});

setRemember(() => {
  const cameras = stage.peek()?.cameras;
  const putBack = scrolls(byId("lab"));
  return () => {
    const now = stage.peek();
    if (now && cameras) now.cameras = cameras;
    putBack();
  };
});
