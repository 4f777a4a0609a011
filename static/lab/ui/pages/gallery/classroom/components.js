// Every element of a class, by group, in fixed states.
import { show } from "../../../classroom/board_state.js";
import { classTop } from "../../../classroom/class_top.js";
import { opened, refused } from "../../../classroom/store.js";
import { html } from "../../../kit/element.js";
import { REFUSAL } from "../answers.js";
import { PROJECTOR } from "./projector.js";
import { SOUND } from "./sound.js";
import { LEARNER, NOW_US, classTree, showClass, tops } from "./state.js";

/** @import { ClassTree, Mine, Person } from "../../../../core/classroom/class.d.ts" */
/** @import { BoardState } from "../../../classroom/board_state.js" */
/** @import { Group, Shown } from "../frame.js" */

/** The class with a participant changed. @param {string} p @param {Partial<Person>} changes @returns {ClassTree} */
function person(p, changes) {
  const { people = {} } = classTree();
  return { people: { ...people, [p]: { ...people[p], ...changes } } };
}

/** @param {ClassTree} [changes] */
const set = (changes) => () => showClass(changes);

/** @param {BoardState["tab"]} tab @returns {Shown} */
const boardTab = (tab) =>
  ({ tag: "hw-board-tab", state: tab, frame: "tall", set: () => show({ tab }), body: () => html`<hw-board-tab></hw-board-tab>` });

/** @param {string} state @param {ClassTree} changes @returns {Shown} */
const classBar = (state, changes) =>
  ({ tag: "hw-class-bar", state, set: set(changes), body: () => html`<hw-class-bar class="bar"></hw-class-bar>` });

const instructor = () => ({ mine: { .../** @type {Mine} */ (classTree().mine), role: /** @type {const} */ ("instructor") } });

/** @type {Group} */
const BOARD = {
  shown: [
    { tag: "hw-class-top", frame: "row", set: set(), body: () => html`<hw-class-top></hw-class-top>` },
    { tag: "class-top", body: () => tops().map((held) => html`<div class="row">${classTop(held)}</div>`) },
    { tag: "hw-wall-bar", set: set(), body: () => html`<hw-wall-bar class="bar"></hw-wall-bar>` },
    { tag: "hw-wall", frame: "tall", set: set(), body: () => html`<hw-wall></hw-wall>` },
    { tag: "hw-wall", state: "of nobody", set: set({ people: {} }), body: () => html`<hw-wall></hw-wall>` },
    { tag: "hw-heat", set: set(), body: () => html`<hw-heat></hw-heat>` },
    { tag: "hw-people", set: set(), body: () => html`<hw-people></hw-people>` },
    { tag: "hw-people", state: "with a claim", set: set(person("p30", { claims: "p3" })), body: () => html`<hw-people></hw-people>` },
    boardTab("labs"),
    boardTab("heat"),
    boardTab("people"),
    { tag: "hw-class-lesson", set: set(), body: () => html`<hw-class-lesson class="bar"></hw-class-lesson>` },
    classBar("leads", { hold: NOW_US + 120e6, paused: true, handouts: { 1: { seq: 840, at_us: 17_302_000, lab: "k0/main" } } }),
    classBar("another leads", { lead: { term: 3, p: "p2", name: "A co-instructor with a long name", lab: "k0/main", presence: "here" },
      timer: { from_us: NOW_US - 75e6, seconds: 180 } }),
    classBar("nobody leads", { lead: undefined,
      stage: { lab: "k4/main", shown: false, until_us: NOW_US + 30e6, p: "p7", name: "Swift Heron" } }),
    classBar("ended", { class: { .../** @type {NonNullable<ClassTree["class"]>} */ (classTree().class), ended: "act" } }),
    {
      tag: "hw-class-end",
      frame: "over board-dock",
      set: set(instructor()),
      act: (frame) => /** @type {HTMLElement} */ (frame.querySelector("summary")).click(),
      body: () => html`<hw-class-end></hw-class-end>`,
    },
    { tag: "hw-chapters", set: set(), body: () => html`<hw-chapters></hw-chapters>` },
  ],
};

/** @type {Group} */
const SIDE = {
  shown: [
    { tag: "hw-poll-panel", frame: "narrow padded", set: set(), body: () => html`<hw-poll-panel></hw-poll-panel>` },
    {
      tag: "hw-poll-panel",
      state: "none",
      frame: "narrow padded",
      set: set({ polls: {} }),
      body: () => html`<hw-poll-panel></hw-poll-panel>`,
    },
    { tag: "hw-mistakes", frame: "narrow padded", set: set(), body: () => html`<hw-mistakes></hw-mistakes>` },
    {
      tag: "hw-mistakes",
      state: "none",
      frame: "narrow padded",
      set: set({ mistakes: { shown: false, fewest: 2, rows: [] } }),
      body: () => html`<hw-mistakes></hw-mistakes>`,
    },
    { tag: "hw-hands", frame: "narrow padded", set: set(), body: () => html`<hw-hands></hw-hands>` },
    {
      tag: "hw-hands",
      state: "none",
      frame: "narrow padded",
      set: set({ people: {}, questions: {} }),
      body: () => html`<hw-hands></hw-hands>`,
    },
    { tag: "hw-class-panel", frame: "narrow", set: set(), body: () => html`<hw-class-panel></hw-class-panel>` },
    {
      tag: "hw-thing-field",
      frame: "narrow padded",
      body: () => html`<hw-thing-field label="Answer" value="record:orders-0@b2:45"></hw-thing-field>
        <hw-thing-field label="Right answer" optional></hw-thing-field>`,
    },
    {
      tag: "hw-class-refusal",
      frame: "padded",
      set: () => (refused.value = REFUSAL),
      body: () => html`<div class="board-messages"><hw-class-refusal></hw-class-refusal></div>`,
    },
  ],
};

/** @param {string} state @param {() => void} before @returns {Shown} */
const dialog = (state, before) => ({
  tag: "hw-person", state, frame: "board", set: () => {
    refused.value = null;
    before();
  }, until: "dialog", body: () => html`<hw-person></hw-person>`,
});

/** @type {Group} */
const PERSON = {
  shown: [
    dialog("works", () => {
      showClass();
      opened.value = LEARNER;
    }),
    dialog("is stuck", () => {
      showClass();
      opened.value = "p3";
    }),
    dialog("asks and was told", () => {
      showClass({ notes: {
        1: { from: "p1", to: "p8", text: "Look at the leader epoch cache of broker 3, and compare it with that of broker 2.", lang: "en",
          sent_us: NOW_US - 30e6 },
        2: { from: "p8", to: "p1", text: "现在看到了。", lang: "zh-CN", sent_us: NOW_US - 10e6 },
      } });
      opened.value = "p8";
    }),
    dialog("is helped", () => {
      showClass(person(LEARNER, {
        looked_by: ["p1"], help: { by: "p1", lab: "k6/main", seq: 840, wheel: "", until_us: 0 }, stage_refusals: 2, may_be_asked: false,
        time_percent: 150,
      }));
      opened.value = LEARNER;
    }),
    dialog("has no lab, after a refusal", () => {
      showClass(person(LEARNER, { lab: "", lab_refused: "disk" }));
      refused.value = REFUSAL;
      opened.value = LEARNER;
    }),
  ],
};

/** @type {Record<string, Group>} */
export const GROUPS = { board: BOARD, side: SIDE, person: PERSON, sound: SOUND, projector: PROJECTOR };
