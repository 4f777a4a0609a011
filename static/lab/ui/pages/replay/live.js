// The replay of a class that goes on: the class is told which instant it shows.
import { effect } from "@preact/signals-core";
import { roomOf } from "../../classroom/connect.js";
import { byId } from "../../kit/element.js";
import { t } from "../../kit/i18n.js";
import * as replay from "./store.js";

/** @import { ClassRoom } from "../../../core/classroom/class_room.js" */

/** Interval at which the class is told another instant, ms. */
const TOLD_MS = 5000;

/** @type {ClassRoom | null} */
let room = null;
let told_us = 0;

/** Tells the class what this page shows, if that has changed. */
function tell() {
  if (replay.atNow() === told_us) return;
  told_us = replay.atNow();
  room?.pageChanged();
}

/** Shows why to a participant who was removed from the class or has lost the right to it. @param {string} what @param {ClassRoom} from */
function changed(what, from) {
  if (what !== "connection" || !from.closed) return;
  replay.play(false);
  replay.problem.value = t("board.closed", { why: from.closed });
}

const isLive = () => replay.manifest.value?.live;
effect(() => {
  if (isLive() === undefined || isLive() === (room !== null)) return;
  room?.close();
  room = isLive() ? roomOf(byId("replay").dataset.slug ?? "", "replay", { changed, shown_us: () => Math.round(replay.atNow()) }) : null;
});
setInterval(tell, TOLD_MS);
