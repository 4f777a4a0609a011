// The charts of the lab that is shown, below its picture: they share the playhead, and a press on a mark goes there. For who may
// have the tables of the lab's run; a page that plays by itself has none.
import { isByTime, lineAt } from "../../parts/chart.js";
import { HwElement, byId, html, repeat } from "../../kit/element.js";
import { t } from "../../kit/i18n.js";
import { begin, jobCard, refused } from "../../parts/jobs.js";
import { request } from "../../store/api.js";
import { effect, signal } from "../../store/state.js";
import { lab, seekLab, shownEvent } from "./stage.js";
import * as replay from "./store.js";

/** @import { Json } from "../../parts/plots.js" */
/** @import { Figure } from "../../parts/chart.js" */
/** @import { Following, Job } from "../../parts/jobs.js" */
/** @import { Signal } from "@preact/signals-core" */
/** @typedef {{ made_to: number, last_seq: number, figures: Record<string, Figure> }} Stored */

const KEPT = "highwater.replay.charts";
/** Interval at which the charts get the instant while the class plays, ms. */
const TOLD_MS = 500;
/** Height of a chart in pixels: all are in one row. */
const HEIGHT = 205;

/** Whether charts are shown below the picture, in place of the messages. */
const open = signal(localStorage.getItem(KEPT) === "shown");
/** Whether the module that draws them is loaded. */
const ready = signal(false);
/** The lab whose charts are shown, `run/branch`. */
let of = "";
/** @type {Signal<Stored | null>} */
const stored = signal(null);
/** The work that makes the tables, or that has failed. @type {Signal<Job | null>} */
const job = signal(null);
/** @type {Following | null} */
let following = null;
/** The instant of the lab, seconds. */
const head_s = signal(0);

/** The lab that is shown, if the visitor may see its charts: `run/branch`; else empty. */
const address = () => {
  const shown = lab.value === null ? undefined : replay.manifest.value?.labs[lab.value];
  return shown?.charts ? shown.address : "";
};

let fetched = false;
/** The module that draws charts is large: it is fetched when they are first opened. */
function fetchPlots() {
  if (fetched) return;
  fetched = true;
  const given = /** @type {HTMLTemplateElement} */ (byId("plots")).content.querySelector("script");
  const script = document.createElement("script");
  for (const { name, value } of given?.attributes ?? []) script.setAttribute(name, value);
  script.onload = () => (ready.value = true);
  script.onerror = () => {
    fetched = false;
    job.value = refused({ what: t("replay.unreachable"), expected: t("replay.unreachable_expected"), todo: t("replay.unreachable_todo") });
  };
  document.head.append(script);
}

/** Draws the stored charts of the lab, and has its tables updated to the end of its recording. */
async function load() {
  const wanted = of;
  const tables = `/api/runs/${wanted}/analytics/tables`;
  job.value = null;
  const fresh = async () => {
    /** @type {Stored} */
    const found = await (await request(`${tables}.json`)).json();
    const low = Object.entries(found.figures).map(([name, one]) => [name, { ...one, layout: { ...one.layout, height: HEIGHT } }]);
    if (wanted === of) stored.value = { ...found, figures: Object.fromEntries(low) };
  };
  try {
    await fresh();
    if (wanted !== of || !stored.value || stored.value.made_to >= stored.value.last_seq) return;
    ({ job: following } = await begin(tables));
    await following?.end(async (now) => {
      if (now.published !== job.value?.published || now.state === "done") await fresh();
      if (wanted === of) job.value = now.state === "done" ? null : now;
    });
  } catch (error) {
    if (wanted === of) job.value = refused(error);
  }
}

effect(() => {
  const now = address();
  byId("timeline").hidden = Boolean(now) && open.value;
  if (!now || !open.value) return;
  fetchPlots();
  if (now === of) return;
  of = now;
  stored.value = null;
  void load();
});

let told_ms = 0;
effect(() => {
  const seconds = shownEvent.value.at_us / 1e6;
  if (replay.playing.value && performance.now() - told_ms < TOLD_MS) return;
  told_ms = performance.now();
  head_s.value = seconds;
});

/** Where the time of the run is the x axis, to where it was pressed; else to the instant of the mark. @param {string} name */
const followOf = (name) => (/** @type {Json} */ mark, /** @type {number | null} */ x) => {
  const at_us = isByTime(name) && x !== null ? x * 1e6 : Array.isArray(mark) ? mark[0] : mark;
  if (typeof at_us === "number" && Number.isFinite(at_us)) seekLab(Math.max(0, at_us));
};
/** Cached by chart, so that unchanged charts are not redrawn. @type {Map<string, ReturnType<typeof followOf>>} */
const follows = new Map();
/** @param {string} name */
function follow(name) {
  if (!follows.has(name)) follows.set(name, followOf(name));
  return follows.get(name);
}

class HwReplayCharts extends HwElement {
  #charts() {
    const found = stored.value;
    if (!found || !ready.value) return "";
    const files = `/api/runs/${of}/analytics/stored`;
    const line = lineAt(head_s.value);
    return html`<div class="charts" tabindex="0" role="region" aria-label=${t("replay.dock.charts")}>${repeat(Object.keys(found.figures),
      (name) => name, (name) => html`<hw-chart name=${name} .files=${files} .saved=${`${of.replace("/", "-")}-${name}`}
        .figure=${found.figures[name]} .playhead=${isByTime(name) ? line : null} .follow=${follow(name)}></hw-chart>`)}</div>`;
  }

  render() {
    if (!address()) return "";
    const tab = (/** @type {boolean} */ on, /** @type {string} */ text) => html`<button aria-pressed=${open.value === on} @click=${() => {
      open.value = on;
      localStorage.setItem(KEPT, on ? "shown" : "hidden");
    }}>${text}</button>`;
    return html`<div class="row dock-tabs"><div class="seg" role="group" aria-label=${t("replay.dock")}>${
        tab(false, t("replay.dock.messages"))}${tab(true, t("replay.dock.charts"))}</div></div>
      ${open.value ? html`${job.value ? jobCard(job.value, t("analytics.building"), () => void load(), () => void following?.cancel()) : ""}
        ${this.#charts()}` : ""}`;
  }
}
customElements.define("hw-replay-charts", HwReplayCharts);
