// The page with the charts of a run: starts the job, shows how far it is, draws what is there, and seeks the replay on a click.
import { onNewColours, readColours } from "../../draw/palette.js";
import { request, here } from "../store/api.js";
import { HwElement, html, repeat } from "../kit/element.js";
import { has, t } from "../kit/i18n.js";
import { signal } from "../store/state.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Refusal } from "../../core/live/socket.js" */

/**
 * @typedef {{ state: "queued" | "running" | "done" | "failed", progress: number, stage: string, error: Partial<Refusal> | null,
 *   id?: string,
 *             internal?: number }} Job `internal`: the number of partitions of Kafka's own topics
 * @typedef {{ [key: string]: Json } | Json[] | string | number | boolean | null} Json
 * @typedef {{ [key: string]: Json }} JsonObject
 * @typedef {{ data: Json, layout: JsonObject & { height?: number } }} Figure as Plotly has it, but for colours, which are names
 *   of the theme's
 * @typedef {{ react: (host: Element, data: Json, layout: JsonObject, config: JsonObject) => void }} PlotlyApi
 * @typedef {HTMLElement & { on: (event: "plotly_click", follow: (click: { points: { customdata: number | number[] }[] }) =>
 *   void) => void }} Plot
 */

const POLL_MS = 400;
/** Of a figure that does not say its own. */
const PLOT_HEIGHT = 300;
const CHARTS = ["offsets", "isr", "latency", "rpcs"];

/** @type {Job} */
const QUEUED = { state: "queued", progress: 0, stage: "", error: null };
const job = signal(QUEUED);
/** Are the partitions of Kafka's own topics drawn, too? */
const withInternal = signal(false);
/** The figures that are ready, by name. @type {Signal<Record<string, Figure>>} */
const figures = signal({});

const isOpen = () => ["queued", "running"].includes(job.value.state);

/** @param {string} id @param {string} have */
const jobAddress = (id, have) => `${here.api}/analytics/${id}.json?have=${have}${withInternal.value ? "&internal=1" : ""}`;

/** Shows why the job failed, if that is known. @param {unknown} error */
function fail(error) {
  if (!(error instanceof Object && "what" in error)) throw error;
  job.value = { ...QUEUED, state: "failed", error: /** @type {Partial<Refusal>} */ (error) };
}

/** Draws the results of the job with or without Kafka's own topics. */
async function toggleInternal() {
  withInternal.value = !withInternal.value;
  try {
    figures.value = (await (await request(jobAddress(job.value.id ?? "", ""))).json()).figures;
  } catch (error) {
    fail(error);
  }
}

async function start() {
  job.value = QUEUED;
  figures.value = {};
  try {
    const { job: id } = await (await request(`${here.api}/analytics/start`, {})).json();
    while (isOpen()) {
      const have = Object.keys(figures.value).join(",");
      const answer = await (await request(jobAddress(id, have))).json();
      if (answer.figures) figures.value = { ...figures.value, ...answer.figures };
      job.value = { ...answer, id };
      if (isOpen()) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  } catch (error) {
    fail(error);
  }
}

/** @param {string} name */
const colour = (name) => readColours(document.body, [name.slice(2)])[name.slice(2)];

/** A copy of a figure's part in which names of colours ("--leader") are those of the theme. @param {Json} part @returns {Json} */
function inked(part) {
  if (typeof part === "string") return part.startsWith("--") ? colour(part) : part;
  if (Array.isArray(part)) return part.map(inked);
  if (part === null || typeof part !== "object") return part;
  return inkedObject(part);
}

/** @param {JsonObject} part @returns {JsonObject} */
function inkedObject(part) {
  return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, inked(value)]));
}

/**
 * What every chart shares: backgrounds, grid and fonts of the theme.
 * @param {JsonObject} layout
 * @param {JsonObject | null} playhead
 * @returns {JsonObject}
 */
function themed(layout, playhead) {
  /** @param {JsonObject} [own] @returns {JsonObject} */
  const axis = (own = {}) => ({
    gridcolor: colour("--line"), linecolor: colour("--line2"), zeroline: false, ...own,
    tickfont: { family: "JetBrains Mono, monospace", size: 10, color: colour("--ink3") },
    title: { text: own.title ?? "", font: { size: 10.5, color: colour("--ink3") } },
  });
  const axes = Object.keys(layout).filter((key) => /^[xy]axis\d*$/.test(key));
  const notes = /** @type {JsonObject[]} */ (layout.annotations ?? []);
  const annotations = notes.map((note) => ({ ...note, font: { color: colour("--ink3"), .../** @type {JsonObject} */ (note.font) } }));
  return {
    ...inkedObject(layout), shapes: playhead ? [playhead] : [],
      ...Object.fromEntries(axes.map((key) => [key, axis(/** @type {JsonObject} */ (layout[key]))])), annotations,
    // A click anywhere means the nearest point.
    hoverdistance: -1, autosize: true, margin: { l: 46, r: 8, t: 8, b: 38, .../** @type {JsonObject} */ (layout.margin) },
    paper_bgcolor: colour("--panel"), plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "Inter, sans-serif", size: 11, color: colour("--ink2") },
    hoverlabel: { bgcolor: colour("--raise2"), font: { color: colour("--ink"), size: 11 } },
    legend: { orientation: "h", y: 1, yanchor: "bottom", x: 0, font: { size: 10.5 }, .../** @type {JsonObject} */ (layout.legend) },
  };
}

/** A line at the instant that the lab showed when the page was opened from it; null without one. @returns {JsonObject | null} */
function playhead() {
  const t = Number.parseFloat(new URLSearchParams(location.search).get("t") ?? "");
  return Number.isNaN(t) ? null
    : { type: "line", xref: "x", x0: t, x1: t, yref: "paper", y0: 0, y1: 1, line: { color: colour("--select"), width: 1.2 } };
}

class HwChart extends HwElement {
  static properties = { name: {}, figure: { attribute: false } };

  #listens = false;

  constructor() {
    super();
    this.name = "";
    /** @type {Figure} */
    this.figure = { data: [], layout: {} };
  }

  connectedCallback() {
    super.connectedCallback();
    onNewColours(() => this.requestUpdate());
  }

  updated() {
    const plot = /** @type {Plot} */ (this.querySelector(".plot"));
    const { data, layout } = this.figure;
    // When the window's size changes Plotly takes the height of what it is in.
    plot.style.height = `${layout.height ?? PLOT_HEIGHT}px`;
    const { Plotly } = /** @type {{ Plotly: PlotlyApi }} */ (/** @type {unknown} */ (globalThis));
    Plotly.react(plot, inked(data), themed(layout, this.name === "latency" ? null : playhead()), {
      displaylogo: false, responsive: true, showSendToCloud: false, plotlyServerURL: "", modeBarButtons: [["toImage", "resetScale2d"]],
    });
    if (this.#listens) return;
    this.#listens = true;
    plot.on("plotly_click", ({ points: [{ customdata }] }) => {
      const at_us = Array.isArray(customdata) ? customdata[0] : customdata;
      if (Number.isFinite(at_us)) location.assign(`${here.page}?t=${(at_us / 1e6).toFixed(6)}`);
    });
  }

  render() {
    return html`<section class="chart card">
      <h2>${t(`analytics.${this.name}`)}<small>${t(`analytics.${this.name}_unit`)}</small></h2><div class="plot"></div>
    </section>`;
  }
}
customElements.define("hw-chart", HwChart);

class HwAnalytics extends HwElement {
  connectedCallback() {
    super.connectedCallback();
    start();
  }

  /** @param {Job} job */
  #internal({ internal }) {
    if (!internal) return "";
    return html`<label class="row"><input type="checkbox" .checked=${withInternal.value} @change=${toggleInternal}>
      <span>${t("analytics.internal", { n: internal })}</span></label>`;
  }

  /** @param {Job} job */
  #state({ state, progress, stage, error }) {
    const again = html`<button class="btn small" @click=${start}>${t("analytics.again")}</button>`;
    if (state === "failed")
      return html`<div class="message bad" role="alert">
        <b>${error?.what ?? t("analytics.failed")}</b><span>${error?.expected}</span><span>${error?.todo}</span>
        <span class="row">${again}</span>
      </div>`;
    if (state === "done") return html`<p class="row"><span class="dim">${t("analytics.click")}</span><span
      class="spacer"></span>${this.#internal(job.value)}${again}</p>`;
    const said = has(`analytics.stage.${stage}`) ? t(`analytics.stage.${stage}`) : t("analytics.queued");
    return html`<div class="card job">
      <b>${t("analytics.working")}</b>
      <progress max="1" value=${progress} aria-label=${t("analytics.working")}></progress>
      <span class="dim" role="status">${said} · ${Math.round(progress * 100)} %</span>
    </div>`;
  }

  render() {
    const there = CHARTS.filter((name) => name in figures.value);
    return html`${this.#state(job.value)}
      <div class="charts">${repeat(there, (name) => name,
        (name) => html`<hw-chart .name=${name} .figure=${figures.value[name]}></hw-chart>`)}</div>`;
  }
}
customElements.define("hw-analytics", HwAnalytics);
