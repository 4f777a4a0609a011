// Shows a recorded class in a fixed state.
import { lines } from "../../replay/lines.js";
import { lab, shownEvent } from "../../replay/stage.js";
import * as replay from "../../replay/store.js";
import { showClass } from "../classroom/state.js";
import { AT_US, LINES, MANIFEST } from "./state.js";

/** @import { ClassTree } from "../../../../core/classroom/class.d.ts" */
/** @import { Manifest } from "../../../../core/replay/manifest.d.ts" */

/** The recording at its instant, with the lab that was shown. @param {Partial<Manifest>} [changes] @param {ClassTree} [tree] */
export function showReplay(changes = {}, tree = {}) {
  showClass(tree);
  lab.value = 0;
  lines.value = LINES;
  replay.manifest.value = { ...MANIFEST, ...changes };
  replay.at_us.value = AT_US;
  replay.problem.value = "";
  replay.waits.value = false;
  replay.stepped.value = false;
  replay.behind_us.value = 0;
  replay.unplayed.value = [];
  replay.loop.value = null;
  shownEvent.value = { seq: 840, at_us: 17_302_000, last: 900, said: LINES[2].text, alarms: 0, lost: 0 };
}
