// What the lab page of a class has besides: whom it follows, who looks at it, and why the visitor may not act.
import { Player } from "../../../../core/player/player.js";
import { draw } from "../../lab/drawing.js";
import "../../lab/looking.js";
import "../../../classroom/shown_mark.js";
import "../../../classroom/sound/sound_mark.js";
import { classSlug, join, tree } from "../../../classroom/store.js";
import { byId, html } from "../../../kit/element.js";
import { t } from "../../../kit/i18n.js";
import { here } from "../../../store/api.js";
import { isBeside, theirs } from "../../../store/beside.js";
import { isFollowing, isHeld, ledView, setLead } from "../../../store/follow.js";
import { tellReason } from "../../../store/rights.js";
import { moment, welcome } from "../../../store/state.js";
import { LEARNER, ROOM, classTree } from "../classroom/state.js";

/** @import { ClassTree, Mine, Person } from "../../../../core/classroom/class.d.ts" */
/** @import { PageView } from "../../../../core/player/page_view.js" */
/** @import { Reason } from "../../../store/rights.js" */
/** @import { Welcome } from "../../../store/state.js" */
/** @import { Group } from "../frame.js" */

const NAME = "Swift Heron";
/** @type {Welcome} */
const WELCOME = {
  run: "", branch: "", boot: "", schema: "", core: "", name: "", zookeeper: "", bootstrap: "", user: "", rights: [], names: {},
};
const lab = () => `${here.run}/${here.branch}`;

/** Shows the class with some of its sections changed. @param {ClassTree} [changes] */
const showTree = (changes = {}) => void (tree.value = { ...classTree(), ...changes });

/** The visitor of the page. @param {Partial<Mine>} changes @returns {ClassTree} */
const mine = (changes) => ({ mine: { .../** @type {Mine} */ (classTree().mine), on_stage: false, looked_by: [], ...changes } });

/** Staff who look into the lab of a learner. @param {string} theirLab */
function lookInto(theirLab) {
  join(ROOM);
  classSlug.value = "gallery";
  /** @type {Person} */
  const person = { .../** @type {Person} */ (classTree().people?.[LEARNER]), lab: theirLab, looked_by: ["p1"] };
  showTree({ ...mine({ role: "instructor" }), people: { ...classTree().people, [LEARNER]: person } });
}

/** Rights of the visitor, and why there are no more. @param {string[] | null} rights @param {Reason | null} [why] */
function allow(rights, why = null) {
  welcome.value = rights && { ...WELCOME, rights };
  tellReason(() => why);
}

/** What the presenter looks at: an instant of this lab, on another screen. @returns {PageView} */
const led = () => ({
  branch: lab(), seq: moment.peek().seq, at_us: moment.peek().at_us, mode: "pause", rate: 1, screen: "disk", partition: "orders-0",
  selection: "", ranges: {}, window: null, disk: null, group: "", tab: "inspect", console: false, overlay: "",
});

let draws = false;
/** The presenter's page, which can draw. */
function present() {
  if (!draws) draw(() => true);
  draws = true;
}

/** @type {Group} */
export const FOLLOWING = {
  after: () => {
    allow(null);
    isHeld.value = false;
    isFollowing.value = false;
    setLead(null);
    tree.value = {};
  },
  shown: [
    {
      tag: "hw-unavailable",
      set: () => allow([]),
      until: ".unavailable",
      body: () => html`<hw-unavailable></hw-unavailable>`,
    },
    {
      tag: "hw-unavailable",
      state: "with ways",
      set: () => allow([], {
        text: t("watch.shown", { name: NAME }),
        ways: [{ label: t("watch.own_lab"), href: "#" }, { label: t("replay.take_over"), title: t("replay.take_over_title") }],
      }),
      until: ".unavailable",
      body: () => html`<hw-unavailable></hw-unavailable>`,
    },
    {
      tag: "hw-following",
      state: "offered",
      frame: "row",
      set: () => {
        allow(null);
        setLead({ name: NAME, term: 1 });
      },
      body: () => html`<hw-following></hw-following>`,
    },
    {
      tag: "hw-following",
      state: "follows",
      frame: "row",
      set: () => (isFollowing.value = true),
      body: () => html`<hw-following></hw-following>`,
    },
    {
      tag: "hw-following",
      state: "held",
      frame: "row",
      set: () => (isHeld.value = true),
      body: () => html`<hw-following></hw-following>`,
    },
    {
      tag: "hw-looking",
      state: "at the board",
      frame: "row",
      set: () => lookInto("k0/main"),
      body: () => html`<hw-looking></hw-looking>`,
    },
    {
      tag: "hw-looking",
      state: "into a lab",
      frame: "row",
      set: () => lookInto(`${here.run}/main-2`),
      body: () => html`<hw-looking></hw-looking>`,
    },
    {
      tag: "hw-shown-mark",
      state: "on stage",
      frame: "row",
      set: () => showTree(mine({ on_stage: true })),
      body: () => html`<hw-shown-mark></hw-shown-mark>`,
    },
    {
      tag: "hw-shown-mark",
      state: "leads",
      frame: "row",
      set: () => showTree({ ...mine({}), lead: { term: 2, p: "p1", name: NAME, lab: lab(), presence: "here" } }),
      body: () => html`<hw-shown-mark></hw-shown-mark>`,
    },
    {
      tag: "hw-shown-mark",
      state: "looked at",
      frame: "row",
      set: () => showTree(mine({ looked_by: ["p1"] })),
      body: () => html`<hw-shown-mark></hw-shown-mark>`,
    },
    {
      tag: "hw-sound-mark",
      frame: "row",
      set: () => showTree({ audio: { p: "p1", name: NAME, arrived_us: 4e6, lost_us: 0 } }),
      body: () => html`<hw-sound-mark></hw-sound-mark>`,
    },
    {
      tag: "hw-ink",
      frame: "row",
      set: () => {
        present();
        showTree();
      },
      body: () => html`<hw-ink></hw-ink>`,
    },
    {
      tag: "hw-ink",
      state: "drawn",
      frame: "row",
      set: () => showTree({ ink: { 1: { anchor: "broker:b2", points: [[0, 0], [4096, 4096]] } } }),
      act: (frame) => /** @type {HTMLElement} */ (frame.querySelector(".ink")).click(),
      body: () => html`<hw-ink></hw-ink>`,
    },
    {
      // The last one: its drawings stay until another group is shown.
      tag: "hw-beside",
      frame: "tall beside",
      set: () => {
        tree.value = {};
        isHeld.value = false;
        isFollowing.value = false;
      },
      act: async (frame) => {
        theirs.value = new Player({ url: location.origin, run: here.run, branch: here.branch, seq: moment.peek().seq, WebSocket: null });
        isBeside.value = true;
        ledView.value = led();
        const lanes = (/** @type {ParentNode} */ host) => host.querySelectorAll(".hw-lane").length;
        const isShown = () => /[1-9]/.test(frame.querySelector("header .mono")?.textContent ?? "") && lanes(frame) >= lanes(byId("stage"));
        while (!isShown()) await new Promise(requestAnimationFrame);
      },
      until: ".beside-picture .hw-node",
      body: () => html`<div class="app beside"><hw-beside></hw-beside></div>`,
    },
  ],
};
