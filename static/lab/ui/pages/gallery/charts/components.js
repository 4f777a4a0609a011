// Every element of the pages with charts, tables and imports, by group, in fixed states.
import "../../analytics.js";
import "../../learning_analytics.js";
import "../../measures.js";
import "../../study.js";
import { html } from "../../../kit/element.js";
import { lineAt } from "../../../parts/chart.js";
import { here } from "../../../store/api.js";
import { REFUSAL, answer, answerOnce } from "../answers.js";
import { CHARTS, figures } from "../figures.js";
import { IMPORTS } from "./imports.js";
import { SQL } from "./sql.js";

/** @import { Group, Shown } from "../frame.js" */

const MEASURES = "/api/compare/measures.json";
const CLASS = "/api/classes/gallery/analytics";
/** 2026-01-01 12:00 UTC */
const AS_OF_MS = 1_767_268_800_000;

/** @param {string} state @param {() => void} set @param {string} until @returns {Shown} */
const measures = (state, set, until) =>
  ({ tag: "hw-measures", state, frame: "padded measures", set, until, body: () => html`<hw-measures data-query="left=a"></hw-measures>` });

/** @type {Group} */
const STUDIES = {
  shown: [
    {
      tag: "hw-study",
      frame: "padded studies",
      set: () => answer("/api/studies/gallery.json", { charts: CHARTS }),
      until: ".chart ~ .chart .main-svg",
      body: () => html`<hw-study data-slug="gallery"></hw-study>`,
    },
    {
      tag: "hw-study",
      state: "is not there",
      frame: "padded studies",
      set: () => answer("/api/studies/gallery.json", REFUSAL, 404),
      until: ".message.bad",
      body: () => html`<hw-study data-slug="gallery"></hw-study>`,
    },
    measures("differ", () => answer(MEASURES, { charts: CHARTS.slice(0, 1), missing: [], behind: [], is_paired: true }), ".main-svg"),
    measures("without tables", () => answer(MEASURES, { charts: [], missing: ["k0/main", "k1/main"], behind: ["k2/main-2"],
      is_paired: false }), ".message.warn"),
    measures("are the same", () => answer(MEASURES, { charts: [], missing: [], behind: [], is_paired: true }), "p[role=status]"),
    measures("are refused", () => answer(MEASURES, REFUSAL, 400), ".message.bad"),
  ],
};

const TABLES = `${here.api}/analytics/tables`;
const STORED = {
  made_to: 900, last_seq: 900, internal: 50, faults: 5, damage: [], figures: figures("offsets", "latency", "isr"),
  bands: [
    { said: "Broker 1 is down.", tone: "down", from_us: 6e6, to_us: 9e6, is_open: false, seq: 310 },
    { said: "The link between brokers 2 and 3 is cut.", tone: "links", from_us: 12e6, to_us: 24e6, is_open: true, seq: 611 },
  ],
};

/** @param {string} state @param {() => void} set @param {string} until @returns {Shown} */
const analytics = (state, set, until) =>
  ({ tag: "hw-analytics", state, frame: "padded analytics", set, until, body: () => html`<hw-analytics></hw-analytics>` });

/** When a broker was down. */
const SHADES = [
  { type: "rect", xref: "x", x0: 6, x1: 9, yref: "paper", y0: 0, y1: 1, layer: "below", fillcolor: "--danger", opacity: 0.16 },
];

/** @type {Group} */
const RUN = {
  shown: [
    {
      tag: "hw-chart",
      frame: "padded analytics",
      set: () => {},
      act: (frame) => /** @type {HTMLElement} */ (frame.querySelector("summary")).click(),
      until: ".main-svg",
      body: () => html`<hw-chart name="offsets" files="#" saved="offsets" .playhead=${lineAt(12)} .shades=${SHADES}
        .figure=${{ ...figures("offsets").offsets, note: "Three of five brokers." }}></hw-chart>`,
    },
    analytics("of a run", () => answer(`${TABLES}.json`, STORED), "hw-chart ~ hw-chart .main-svg"),
    analytics("is built", () => {
      answer(`${TABLES}.json`, { ...STORED, made_to: 400, figures: {}, damage: [{ from_seq: 200, to_seq: 260, reason: "vocabulary" }] });
      answer(`${TABLES}/start`, { job: "j1", wait_s: 0 });
      answerOnce(`${TABLES}/j1.json`, { state: "running", progress: 0.42, stage: "", error: null, published: 0 });
    }, "progress[value='0.42']"),
    analytics("is cancelled", () => {
      answer(`${TABLES}/start`, { job: "j2", wait_s: 0 });
      answerOnce(`${TABLES}/j2.json`, { state: "cancelled", progress: 0.42, stage: "", error: null, published: 0 });
    }, ".message:not(.warn)"),
    analytics("is refused", () => answer(`${TABLES}.json`, REFUSAL, 400), ".message.bad"),
  ],
};

/** @param {string} state @param {string} kind @param {() => void} set @param {string} until @returns {Shown} */
const learning = (state, kind, set, until) => ({
  tag: "hw-learning-analytics", state, frame: "padded analytics", set, until,
  body: () => html`<hw-learning-analytics data-kind=${kind} data-api=${CLASS} data-saved="gallery" data-back="#"></hw-learning-analytics>`,
});

/** @param {object} [changes] */
function showLearning(changes = {}) {
  answer(`${CLASS}/tables/start`, { job: null, wait_s: 0 });
  answer(`${CLASS}/tables.json`, { figures: {}, as_of_ms: AS_OF_MS, now_ms: AS_OF_MS, live: false, people: 12, ...changes });
}

/** @type {Group} */
const LEARNING = {
  shown: [
    learning("of a class", "class", () => showLearning({ figures: figures("class_progress", "class_items") }),
      "hw-chart ~ hw-chart .main-svg"),
    learning("of too few learners", "lesson", () => showLearning({ figures: figures("own_steps"), withheld: true }), ".message"),
    learning("of nobody", "class", () => showLearning({ people: 0 }), ".message"),
    learning("is built", "class", () => {
      showLearning();
      answer(`${CLASS}/tables/start`, { job: "j1", wait_s: 0 });
      answerOnce(`${CLASS}/tables/j1.json`, { state: "running", progress: 0.42, stage: "", error: null, published: 0 });
    }, "progress[value='0.42']"),
    learning("is refused", "lesson", () => answer(`${CLASS}/tables.json`, REFUSAL, 400), ".message.bad"),
  ],
};

/** @type {Record<string, Group>} */
export const GROUPS = { studies: STUDIES, run: RUN, learning: LEARNING, sql: SQL, imports: IMPORTS };
