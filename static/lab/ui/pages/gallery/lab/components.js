// Every element of the lab page, by group, in fixed states. tests/project/test_gallery.py fails if an element of static/lab/ui is
// not on a page of the gallery.
import { html } from "../../../kit/element.js";
import { DIALOGS } from "./dialogs.js";
import { FOLLOWING } from "./following.js";
import { LESSON } from "./lesson.js";
import { STATES } from "./states.js";

/** @import { Group } from "../frame.js" */

const RECORD_BATCH = Uint8Array.from({ length: 96 }, (_, at) => (at * 37) % 256);
const FIELDS = [
  { name: "baseOffset", from: 0, to: 8, hue: "plain", record: null },
  { name: "batchLength", from: 8, to: 12, hue: "plain", record: null },
  { name: "value", from: 61, to: 96, hue: "control", record: 0 },
];

const FORMS = html`
  <button class="btn pri">Primary</button><button class="btn">Default</button><button class="btn danger">Danger</button>
  <button class="btn" disabled>Disabled</button><span class="chip">chip</span><button class="chip" aria-pressed="true">pressed</button>
  <span class="tag">tag</span><span class="tag warn">warning</span><span class="tag bad">error</span>
  <span class="role leader">leader</span><span class="role isr">in sync</span><span class="role outisr">out of sync</span>
  <span class="role offline">offline</span>
  <label class="field">Label<input type="text" value="value" /></label>
  <label class="field">Choice<select><option>all</option></select></label>
  <label class="check"><input type="checkbox" checked /> checked</label>
  <span class="seg"><button aria-pressed="true">one</button><button>two</button></span>`;

const MESSAGES = ["ok", "warn", "bad"].map((tone) => html`<div class="message ${tone}" role="status">
  <div><b>${tone}</b><p>What happened.</p></div></div>`);

/**
 * A lesson in a list, as templates/course/card.html draws it.
 * @param {string} look @param {string} title @param {string[]} dots @param {unknown} [more]
 */
const card = (look, title, dots, more = "") => html`<li class="lesson-card ${look}"><a href="#"><b>${title}</b><span class="marks">
  <span>4.2</span><span>10′</span>${more}<span class="dots">${dots.map((dot) => html`<i class=${dot}></i>`)}</span></span></a></li>`;
const CARDS = html`<ol class="cards">${card("new", "Not started", ["open", "open"])}
  ${card("current", "To go on with", ["right", "open"])}${card("done", "Finished", ["right", "wrong"])}
  ${card("due", "Review due", ["right"])}${card("new", "Of another era", [], html`<span class="era-tag">0.10</span>`)}
  ${card("new", "A challenge", [], html`<span class="era-tag attack">attack</span>`)}</ol>`;

/** @type {Record<string, Group>} */
export const GROUPS = {
  course: {
    shown: [
      { tag: "hw-search", frame: "narrow", body: () => html`<hw-search></hw-search>` },
      { tag: "lesson-card", body: () => CARDS },
    ],
  },
  controls: {
    shown: [
      { tag: "controls", frame: "row", body: () => FORMS },
      { tag: "messages", frame: "row", body: () => MESSAGES },
      { tag: "hw-rail", frame: "narrow", body: () => html`<nav class="rail"><hw-rail data-analytics="#"></hw-rail></nav>` },
      { tag: "hw-stage-bar", body: () => html`<hw-stage-bar></hw-stage-bar>` },
      { tag: "hw-branches", frame: "row", body: () => html`<hw-branches></hw-branches>` },
      { tag: "hw-share", frame: "row", body: () => html`<hw-share></hw-share>` },
      {
        tag: "hw-hex",
        frame: "narrow",
        body: () => html`<hw-hex .data=${RECORD_BATCH} .from=${0} .fields=${FIELDS} .focus=${[61, 96]} replica=""></hw-hex>`,
      },
    ],
  },
  act: {
    shown: [
      { tag: "hw-side", frame: "narrow", body: () => html`<hw-side></hw-side>` },
      { tag: "hw-act", frame: "narrow", body: () => html`<hw-act></hw-act>` },
      { tag: "hw-produce", frame: "narrow", body: () => html`<hw-produce></hw-produce>` },
      { tag: "hw-consumer", frame: "narrow", body: () => html`<hw-consumer></hw-consumer>` },
      { tag: "hw-links", frame: "narrow", body: () => html`<hw-links></hw-links>` },
      { tag: "hw-connect", frame: "narrow", body: () => html`<hw-connect></hw-connect>` },
      { tag: "hw-own-assignor", frame: "narrow", body: () => html`<hw-own-assignor></hw-own-assignor>` },
      { tag: "hw-open-client", body: () => html`<hw-open-client kind="producer"></hw-open-client>` },
    ],
  },
  inspect: {
    shown: [
      { tag: "hw-inspector", frame: "narrow", body: () => html`<hw-inspector></hw-inspector>` },
      { tag: "hw-inspect", frame: "narrow", body: () => html`<hw-inspect></hw-inspect>` },
      { tag: "hw-record", frame: "narrow", body: () => html`<hw-record></hw-record>` },
      { tag: "hw-files", frame: "narrow", body: () => html`<hw-files></hw-files>` },
      { tag: "hw-changes", frame: "narrow", body: () => html`<hw-changes></hw-changes>` },
      { tag: "hw-rpcs", frame: "narrow", body: () => html`<hw-rpcs></hw-rpcs>` },
      { tag: "hw-purgatory", frame: "narrow", body: () => html`<hw-purgatory></hw-purgatory>` },
      { tag: "hw-message-bytes", frame: "narrow", body: () => html`<hw-message-bytes rpc=""></hw-message-bytes>` },
      { tag: "hw-tree", frame: "narrow", body: () => html`<hw-tree></hw-tree>` },
      { tag: "hw-alarms", frame: "narrow", body: () => html`<hw-alarms></hw-alarms>` },
    ],
  },
  time: {
    shown: [
      { tag: "hw-transport", body: () => html`<hw-transport></hw-transport>` },
    ],
  },
  table: { screen: "table", shown: [{ tag: "hw-table", frame: "tall", body: () => html`<hw-table></hw-table>` }] },
  disk: {
    screen: "disk",
    shown: [
      { tag: "hw-disk", frame: "tall", body: () => html`<hw-disk></hw-disk>` },
      { tag: "hw-disk-tree", frame: "narrow tall", body: () => html`<hw-disk-tree></hw-disk-tree>` },
      { tag: "hw-disk-bytes", frame: "tall", body: () => html`<hw-disk-bytes></hw-disk-bytes>` },
      { tag: "hw-disk-find", frame: "tall", body: () => html`<hw-disk-find></hw-disk-find>` },
      { tag: "hw-disk-loss", frame: "tall", body: () => html`<hw-disk-loss></hw-disk-loss>` },
      { tag: "hw-disk-past", frame: "tall", body: () => html`<hw-disk-past></hw-disk-past>` },
      { tag: "hw-disk-copy", frame: "tall", body: () => html`<hw-disk-copy></hw-disk-copy>` },
    ],
  },
  zookeeper: {
    screen: "zookeeper",
    shown: [
      { tag: "hw-zookeeper", frame: "tall", body: () => html`<hw-zookeeper></hw-zookeeper>` },
      { tag: "hw-controller", body: () => html`<hw-controller></hw-controller>` },
    ],
  },
  groups: {
    screen: "groups",
    shown: [
      { tag: "hw-groups", frame: "tall", body: () => html`<hw-groups></hw-groups>` },
      { tag: "hw-group-preview", body: () => html`<hw-group-preview></hw-group-preview>` },
    ],
  },
  producers: { screen: "producers", shown: [{ tag: "hw-producers", frame: "tall", body: () => html`<hw-producers></hw-producers>` }] },
  transactions: {
    screen: "transactions",
    shown: [{ tag: "hw-transactions", frame: "tall", body: () => html`<hw-transactions></hw-transactions>` }],
  },
  alarms: { screen: "alarms", shown: [{ tag: "hw-alarm-screen", frame: "tall", body: () => html`<hw-alarm-screen></hw-alarm-screen>` }] },
  states: STATES,
  lesson: LESSON,
  dialogs: DIALOGS,
  following: FOLLOWING,
};
