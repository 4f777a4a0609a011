// The microphone and the captions of a class, and the page on which a lesson is recorded.
import { connection } from "../../../classroom/store.js";
import { byId, html } from "../../../kit/element.js";
import { NOW_US, classTree, showClass } from "./state.js";

/** @import { ClassTree } from "../../../../core/classroom/class.d.ts" */
/** @import { Group, Shown } from "../frame.js" */

/** @param {string} p whose microphone is on @param {number} [lost_us] @returns {NonNullable<ClassTree["audio"]>} */
const audio = (p, lost_us = 0) => ({ p, name: p && "Swift Heron", arrived_us: p ? NOW_US - 4e6 : 0, lost_us });

/** Nobody's page: one that is somebody's begins to record. @param {string} state @param {ClassTree} changes @param {number} [minutes] */
const microphone = (state, changes, minutes = 90) => /** @type {Shown} */ ({
  tag: "hw-microphone",
  state,
  set: () => {
    byId("class").dataset.soundMinutes = String(minutes);
    showClass({ mine: undefined, ...changes });
  },
  body: () => html`<hw-microphone class="bar"></hw-microphone>`,
});

/** @param {string} state @param {ClassTree} changes @param {"open" | "lost"} [to] */
const recorder = (state, changes, to = "open") => /** @type {Shown} */ ({
  tag: "hw-recorder",
  state,
  set: () => {
    connection.value = { state: to, closed: "", why: "", outdated: false };
    showClass(changes);
  },
  body: () => html`<hw-recorder class="bar"></hw-recorder>`,
});

/** @param {string} state @param {ClassTree} changes */
const captions = (state, changes) => /** @type {Shown} */ ({
  tag: "hw-captions", state, set: () => showClass(changes), body: () => html`<hw-captions class="bar"></hw-captions>`,
});

const nobody = () => ({ mine: { .../** @type {NonNullable<ClassTree["mine"]>} */ (classTree().mine), lab: "" } });

/** @type {Group} */
export const SOUND = {
  shown: [
    microphone("is offered", { audio: audio("") }),
    microphone("has no room", { audio: audio("") }, 0),
    microphone("of another", { audio: audio("p2") }),
    microphone("records", { audio: audio("p1", 12e6) }),
    microphone("off the record", { audio: audio("p1"), recording: false }),
    captions("on the record", {}),
    captions("off the record", { recording: false }),
    recorder("shown", {}),
    recorder("hidden", { lead: undefined }),
    recorder("without a lab", { lead: undefined, ...nobody() }),
    recorder("off the record, lost", { recording: false }, "lost"),
  ],
};
