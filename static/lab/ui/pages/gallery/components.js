// Every element of the lab page, by group, with the state in which the gallery shows it. tests/project/test_gallery.py
// fails if an element of static/lab/ui is listed neither here nor in ELSEWHERE.
import { classTop } from "../../classroom/class_top.js";
import { html } from "../../kit/element.js";
import { TOPS } from "./class_state.js";

/**
 * @typedef {{ tag: string, frame?: string, body: () => unknown }} Shown
 *   `frame`: classes of the frame around it, narrow for panels, tall for screens
 * @typedef {{ screen: string, shown: Shown[] }} Group `screen`: the value of the signal `shown` (store/state.js) that
 * its elements need
 */

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
    screen: "picture",
    shown: [
      { tag: "hw-search", frame: "narrow", body: () => html`<hw-search></hw-search>` },
      { tag: "lesson-card", body: () => CARDS },
    ],
  },
  controls: {
    screen: "picture",
    shown: [
      { tag: "controls", frame: "row", body: () => FORMS },
      { tag: "messages", frame: "row", body: () => MESSAGES },
      { tag: "hw-messages", body: () => html`<hw-messages></hw-messages>` },
      { tag: "hw-rail", frame: "narrow", body: () => html`<nav class="rail"><hw-rail data-analytics="#"></hw-rail></nav>` },
      { tag: "hw-stage-bar", body: () => html`<hw-stage-bar></hw-stage-bar>` },
      { tag: "hw-branches", frame: "row", body: () => html`<hw-branches></hw-branches>` },
      { tag: "hw-connection", frame: "row", body: () => html`<hw-connection></hw-connection>` },
      { tag: "hw-share", frame: "row", body: () => html`<hw-share></hw-share>` },
      { tag: "hw-empty", body: () => html`<hw-empty data-loading=""></hw-empty>` },
      {
        tag: "hw-hex",
        frame: "narrow",
        body: () => html`<hw-hex .data=${RECORD_BATCH} .from=${0} .fields=${FIELDS} .focus=${[61, 96]} replica=""></hw-hex>`,
      },
    ],
  },
  act: {
    screen: "picture",
    shown: [
      { tag: "hw-side", frame: "narrow", body: () => html`<hw-side></hw-side>` },
      { tag: "hw-act", frame: "narrow", body: () => html`<hw-act></hw-act>` },
      { tag: "hw-produce", frame: "narrow", body: () => html`<hw-produce></hw-produce>` },
      { tag: "hw-consumer", frame: "narrow", body: () => html`<hw-consumer></hw-consumer>` },
      { tag: "hw-links", frame: "narrow", body: () => html`<hw-links></hw-links>` },
      { tag: "hw-connect", frame: "narrow", body: () => html`<hw-connect></hw-connect>` },
      { tag: "hw-own-assignor", frame: "narrow", body: () => html`<hw-own-assignor></hw-own-assignor>` },
      { tag: "hw-open-client", body: () => html`<hw-open-client kind="producer"></hw-open-client>` },
      { tag: "hw-exercise", frame: "narrow", body: () => html`<hw-exercise></hw-exercise>` },
    ],
  },
  inspect: {
    screen: "picture",
    shown: [
      { tag: "hw-inspector", frame: "narrow", body: () => html`<hw-inspector></hw-inspector>` },
      { tag: "hw-inspect", frame: "narrow", body: () => html`<hw-inspect></hw-inspect>` },
      { tag: "hw-record", frame: "narrow", body: () => html`<hw-record></hw-record>` },
      { tag: "hw-files", frame: "narrow", body: () => html`<hw-files></hw-files>` },
      { tag: "hw-changes", frame: "narrow", body: () => html`<hw-changes></hw-changes>` },
      { tag: "hw-why", frame: "narrow", body: () => html`<hw-why></hw-why>` },
      { tag: "hw-rpcs", frame: "narrow", body: () => html`<hw-rpcs></hw-rpcs>` },
      { tag: "hw-purgatory", frame: "narrow", body: () => html`<hw-purgatory></hw-purgatory>` },
      { tag: "hw-message-bytes", frame: "narrow", body: () => html`<hw-message-bytes rpc=""></hw-message-bytes>` },
      { tag: "hw-tree", frame: "narrow", body: () => html`<hw-tree></hw-tree>` },
      { tag: "hw-znode", frame: "narrow", body: () => html`<hw-znode></hw-znode>` },
      { tag: "hw-alarms", frame: "narrow", body: () => html`<hw-alarms></hw-alarms>` },
    ],
  },
  time: {
    screen: "picture",
    shown: [
      { tag: "hw-transport", body: () => html`<hw-transport></hw-transport>` },
      { tag: "hw-console", body: () => html`<hw-console></hw-console>` },
      { tag: "hw-overlays", body: () => html`<hw-overlays></hw-overlays>` },
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
};

GROUPS.classroom = {
  screen: "picture",
  shown: [
    { tag: "hw-class-top", frame: "row", body: () => html`<hw-class-top></hw-class-top>` },
    { tag: "class-top", body: () => TOPS.map((held) => html`<div class="row">${classTop(held())}</div>`) },
    { tag: "hw-wall-bar", body: () => html`<hw-wall-bar class="bar"></hw-wall-bar>` },
    { tag: "hw-wall", frame: "tall", body: () => html`<hw-wall></hw-wall>` },
    { tag: "hw-heat", body: () => html`<hw-heat></hw-heat>` },
    { tag: "hw-people", body: () => html`<hw-people></hw-people>` },
    { tag: "hw-class-lesson", body: () => html`<hw-class-lesson class="bar"></hw-class-lesson>` },
    { tag: "hw-class-bar", body: () => html`<hw-class-bar class="bar"></hw-class-bar>` },
    { tag: "hw-chapters", body: () => html`<hw-chapters></hw-chapters>` },
    { tag: "hw-poll-panel", frame: "narrow", body: () => html`<hw-poll-panel></hw-poll-panel>` },
    { tag: "hw-thing-field", frame: "narrow", body: () => html`<hw-thing-field label="Answer"
      value="record:orders-0@b2:45"></hw-thing-field><hw-thing-field label="Right answer" optional></hw-thing-field>` },
    { tag: "hw-class-panel", frame: "narrow", body: () => html`<hw-class-panel></hw-class-panel>` },
    { tag: "hw-mistakes", frame: "narrow", body: () => html`<hw-mistakes></hw-mistakes>` },
    { tag: "hw-hands", frame: "narrow", body: () => html`<hw-hands></hw-hands>` },
  ],
};

/** Elements that are tested on other pages: element -> page. */
export const ELSEWHERE = {
  "hw-about": "/api/runs/<run>/<branch>/page.html",
  "hw-switches": "/api/runs/<run>/<branch>/page.html",
  "hw-ink": "/r/<run>/<branch>",
  "hw-import": "/runs/",
  "hw-save-page": "/r/<run>/<branch>",
  "hw-differences": "/compare/",
  "hw-following": "/r/<run>/<branch>",
  "hw-unavailable": "/r/<run>/<branch>",
  "hw-beside": "/r/<run>/<branch>",
  "hw-compare-transport": "/compare/",
  "hw-board-tab": "/classes/<slug>/board/",
  "hw-class-end": "/classes/<slug>/board/",
  "hw-class-refusal": "/classes/<slug>/board/",
  "hw-class-speech": "/classes/<slug>/board/",
  "hw-projector": "/classes/<slug>/projector/",
  "hw-person": "/classes/<slug>/board/",
  "hw-recorder": "/classes/<slug>/board/",
  "hw-captions": "/classes/<slug>/board/",
  "hw-microphone": "/classes/<slug>/board/",
  "hw-shown-mark": "/r/<run>/<branch>",
  "hw-sound-mark": "/r/<run>/<branch>",
  "hw-looking": "/r/<run>/<branch>",
  "hw-live-captions": "/r/<run>/<branch>",
  "hw-chart": "/r/<run>/<branch>/analytics",
  "hw-study": "/studies/<slug>/",
  "hw-sql": "/tables/",
  "hw-measures": "/compare/measures/",
  "hw-analytics": "/r/<run>/<branch>/analytics",
  "hw-learning-analytics": "/classes/<slug>/analytics/",
  "hw-replay-actions": "/classes/<slug>/replay/",
  "hw-replay-bar": "/classes/<slug>/replay/",
  "hw-replay-charts": "/classes/<slug>/replay/",
  "hw-replay-caption": "/classes/<slug>/replay/",
  "hw-replay-transcript": "/classes/<slug>/replay/",
  "hw-replay-help": "/classes/<slug>/replay/",
  "hw-replay-empty": "/classes/<slug>/replay/",
  "hw-replay-lists": "/classes/<slug>/replay/",
  "hw-replay-poll": "/classes/<slug>/replay/",
  "hw-replay-progress": "/classes/<slug>/replay/",
  "hw-replay-save": "/classes/<slug>/replay/",
  "hw-replay-said": "/classes/<slug>/replay/",
  "hw-replay-stage-bar": "/classes/<slug>/replay/",
  "hw-replay-transport": "/classes/<slug>/replay/",
  "hw-own-files": "/inspect/",
  "hw-own-rows": "/inspect/",
  "hw-own-content": "/inspect/",
  "hw-own-batch": "/inspect/",
  "hw-own-hex": "/inspect/",
  "hw-own-map": "/inspect/",
};
