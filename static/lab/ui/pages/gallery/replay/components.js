// Every element of the replay of a class, by group, in fixed states.
import "../../../classroom/heat.js";
import "../../replay/bar.js";
import "../../replay/charts.js";
import "../../replay/side.js";
import "../../replay/transport.js";
import { show as showCaptions } from "../../../classroom/sound/caption_choice.js";
import { html } from "../../../kit/element.js";
import { refuse } from "../../replay/actions.js";
import { helpShown } from "../../replay/help.js";
import { lines } from "../../replay/lines.js";
import { lab, shownEvent } from "../../replay/stage.js";
import * as replay from "../../replay/store.js";
import { REFUSAL } from "../answers.js";
import { LISTS } from "./lists.js";
import { SAVING } from "./saving.js";
import { showReplay } from "./show.js";
import { MANIFEST } from "./state.js";

/** @import { Manifest } from "../../../../core/replay/manifest.d.ts" */
/** @import { Group, Shown } from "../frame.js" */

/** @param {string} state @param {() => void} set @returns {Shown} */
const empty = (state, set) =>
  ({ tag: "hw-replay-empty", state, frame: "over", set, body: () => html`<hw-replay-empty></hw-replay-empty>` });

/** @type {Group} */
const PICTURE = {
  shown: [
    {
      tag: "hw-replay-stage-bar",
      frame: "replay-canvas",
      set: () => showReplay(),
      body: () => html`<hw-replay-stage-bar class="bar"></hw-replay-stage-bar>`,
    },
    {
      tag: "hw-replay-stage-bar",
      state: "stepped, with alarms",
      frame: "replay-canvas",
      set: () => {
        showReplay({}, { view: { screen: "disk" } });
        shownEvent.value = { ...shownEvent.value, alarms: 2, lost: 3 };
        replay.stepped.value = true;
        replay.camera.value = "free";
      },
      body: () => html`<hw-replay-stage-bar class="bar"></hw-replay-stage-bar>`,
    },
    empty("no lab at the instant", () => {
      showReplay();
      replay.camera.value = "led";
      lab.value = null;
    }),
    empty("no lab at all", () => (replay.manifest.value = { ...MANIFEST, labs: [] })),
    empty("is loaded", () => (replay.waits.value = true)),
    empty("cannot be loaded", () => (replay.problem.value = replay.sentences(/** @type {Error} */ (/** @type {unknown} */ (REFUSAL))))),
    {
      tag: "hw-replay-caption",
      frame: "over",
      set: () => {
        showReplay();
        showCaptions("both");
      },
      until: "[lang='zh-CN']",
      body: () => html`<hw-replay-caption></hw-replay-caption>`,
    },
    { tag: "hw-replay-actions", frame: "row", set: () => showReplay(), body: () => html`<hw-replay-actions></hw-replay-actions>` },
    {
      tag: "hw-replay-actions",
      state: "without a lab",
      frame: "row",
      set: () => (lab.value = null),
      body: () => html`<hw-replay-actions></hw-replay-actions>`,
    },
    {
      tag: "hw-replay-said",
      frame: "padded",
      set: () => refuse(/** @type {Error} */ (/** @type {unknown} */ (REFUSAL))),
      body: () => html`<hw-replay-said></hw-replay-said>`,
    },
  ],
};

const repeat = () => void (replay.loop.value = [MANIFEST.chapters[2].at_us, MANIFEST.chapters[3].at_us]);

/** @param {string} state @param {Partial<Manifest>} changes @param {() => void} [more] @returns {Shown} */
const transport = (state, changes, more = () => {}) => ({
  tag: "hw-replay-transport",
  state,
  frame: "replay-dock",
  set: () => {
    showReplay(changes);
    more();
  },
  body: () => html`<hw-replay-transport></hw-replay-transport>`,
});

/** @param {string} state @param {Partial<Manifest>} changes @param {() => void} [more] @returns {Shown} */
const bar = (state, changes, more) =>
  ({ ...transport(state, changes, more), tag: "hw-replay-bar", body: () => html`<hw-replay-bar></hw-replay-bar>` });

/** @type {Group} */
const DOCK = {
  shown: [
    transport("for staff", {}),
    transport("plays", { captions: [], can: {} }, () => {
      replay.playing.value = true;
      replay.speed.value = 1.5;
      repeat();
    }),
    transport("of a live class, without sound", { live: true, captions: [], audio: { ...MANIFEST.audio, pieces: [] } }, () => {
      replay.playing.value = false;
      replay.speed.value = 1;
      replay.behind_us.value = 312e6;
    }),
    transport("cannot play a part", {}, () => (replay.unplayed.value = [[26 * 60e6, 27 * 60e6]])),
    bar("of a class", {}),
    bar("repeats a passage", {}, repeat),
    bar("without chapters", { chapters: [], questions: [], polls: [], off_record: [], quiet: [] }, () => (lines.value = [])),
    {
      tag: "hw-replay-charts",
      frame: "replay-dock",
      set: () => showReplay(),
      until: ".main-svg",
      body: () => html`<hw-replay-charts></hw-replay-charts>`,
    },
  ],
};

/** @type {Group} */
const CLASS = {
  shown: [
    {
      tag: "hw-replay-progress",
      frame: "narrow replay-side",
      set: () => showReplay(),
      body: () => html`<hw-replay-progress class="block"></hw-replay-progress>`,
    },
    {
      tag: "hw-replay-poll",
      frame: "narrow replay-side",
      set: () => showReplay(),
      body: () => html`<hw-replay-poll class="block"></hw-replay-poll>`,
    },
    {
      tag: "hw-replay-help",
      set: () => (helpShown.value = true),
      until: "dialog",
      body: () => html`<hw-replay-help></hw-replay-help>`,
    },
  ],
};

/** @type {Record<string, Group>} */
export const GROUPS = { picture: PICTURE, dock: DOCK, class: CLASS, lists: LISTS, saving: SAVING };
