// The page with the charts of a run: starts the job, shows how far it is, draws what is there, and seeks the replay on a click.
import { onNewColours, readColours } from "../../draw/palette.js";
import { ask, here } from "../store/api.js";
import { HwElement, html, repeat } from "../kit/element.js";
import { has, t } from "../kit/i18n.js";
import { signal } from "../store/state.js";

const POLL_MS = 400;
/** Of a figure that does not say its own. */
const PLOT_HEIGHT = 300;
const CHARTS = ["offsets", "isr", "latency", "rpcs"];

/** {state: "queued" | "running" | "done" | "failed", progress, stage, error} */
const job = signal({ state: "queued", progress: 0, stage: "", error: null });
/** Are the partitions of Kafka's own topics drawn, too? */
const withInternal = signal(false);
/** Figures that have come, by name. */
const figures = signal({});

const isOpen = () => ["queued", "running"].includes(job.value.state);

const jobAddress = (id, have) => `${here.api}/analytics/${id}.json?have=${have}${withInternal.value ? "&internal=1" : ""}`;

/** Draws with or without Kafka's own topics what the job has found. */
async function toggleInternal() {
  withInternal.value = !withInternal.value;
  try {
    figures.value = (await (await ask(jobAddress(job.value.id, ""))).json()).figures;
  } catch (error) {
    if (!error?.what) throw error;
    job.value = { state: "failed", progress: 0, stage: "", error };
  }
}

async function start() {
  job.value = { state: "queued", progress: 0, stage: "", error: null };
  figures.value = {};
  try {
    const { job: id } = await (await ask(`${here.api}/analytics/start`, {})).json();
    while (isOpen()) {
      const have = Object.keys(figures.value).join(",");
      const answer = await (await ask(jobAddress(id, have))).json();
      if (answer.figures) figures.value = { ...figures.value, ...answer.figures };
      job.value = { ...answer, id };
      if (isOpen()) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  } catch (error) {
    if (!error?.what) throw error;
    job.value = { state: "failed", progress: 0, stage: "", error };
  }
}

const colour = (name) => readColours(document.body, [name.slice(2)])[name.slice(2)];

/** A copy of a figure's part in which names of colours ("--leader") are those of the theme. */
function inked(part) {
  if (typeof part === "string") return part.startsWith("--") ? colour(part) : part;
  if (Array.isArray(part)) return part.map(inked);
  if (part === null || typeof part !== "object") return part;
  return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, inked(value)]));
}

/** What every chart shares: grounds, grid, type of the theme. */
function themed(layout, playhead) {
  const axis = (own = {}) => ({
    gridcolor: colour("--line"), linecolor: colour("--line2"), zeroline: false, ...own,
    tickfont: { family: "JetBrains Mono, monospace", size: 10, color: colour("--ink3") },
    title: { text: own.title ?? "", font: { size: 10.5, color: colour("--ink3") } },
  });
  const axes = Object.keys(layout).filter((key) => /^[xy]axis\d*$/.test(key));
  const annotations = (layout.annotations ?? []).map((note) => ({ ...note, font: { color: colour("--ink3"), ...note.font } }));
  return {
    ...inked(layout), shapes: playhead ? [playhead] : [], ...Object.fromEntries(axes.map((key) => [key, axis(layout[key])])), annotations,
    // A click anywhere means the nearest point.
    hoverdistance: -1, autosize: true, margin: { l: 46, r: 8, t: 8, b: 38, ...layout.margin },
    paper_bgcolor: colour("--panel"), plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "Inter, sans-serif", size: 11, color: colour("--ink2") },
    hoverlabel: { bgcolor: colour("--raise2"), font: { color: colour("--ink"), size: 11 } },
    legend: { orientation: "h", y: 1, yanchor: "bottom", x: 0, font: { size: 10.5 }, ...layout.legend },
  };
}

/** A line at the instant that the lab showed when the page was opened from it; null without one. */
function playhead() {
  const t = Number.parseFloat(new URLSearchParams(location.search).get("t"));
  return Number.isNaN(t) ? null
    : { type: "line", xref: "x", x0: t, x1: t, yref: "paper", y0: 0, y1: 1, line: { color: colour("--select"), width: 1.2 } };
}

class HwChart extends HwElement {
  static properties = { name: {}, figure: { attribute: false } };

  connectedCallback() {
    super.connectedCallback();
    onNewColours(() => this.requestUpdate());
  }

  updated() {
    const plot = this.querySelector(".plot");
    const { data, layout } = this.figure;
    // When the window's size changes Plotly takes the height of what it is in.
    plot.style.height = `${layout.height ?? PLOT_HEIGHT}px`;
    globalThis.Plotly.react(plot, inked(data), themed(layout, this.name === "latency" ? null : playhead()), {
      displaylogo: false, responsive: true, showSendToCloud: false, plotlyServerURL: "", modeBarButtons: [["toImage", "resetScale2d"]],
    });
    if (this.listens) return;
    this.listens = true;
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

  #internal({ internal }) {
    if (!internal) return "";
    return html`<label class="row"><input type="checkbox" .checked=${withInternal.value} @change=${toggleInternal}>
      <span>${t("analytics.internal", { n: internal })}</span></label>`;
  }

  #state({ state, progress, stage, error }) {
    const again = html`<button class="btn small" @click=${start}>${t("analytics.again")}</button>`;
    if (state === "failed")
      return html`<div class="message bad" role="alert">
        <b>${error?.what ?? t("analytics.failed")}</b><span>${error?.expected}</span><span>${error?.todo}</span>
        <span class="row">${again}</span>
      </div>`;
    if (state === "done") return html`<p class="row"><span class="dim">${t("analytics.click")}</span><span class="spacer"></span>${this.#internal(job.value)}${again}</p>`;
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
      <div class="charts">${repeat(there, (name) => name, (name) => html`<hw-chart .name=${name} .figure=${figures.value[name]}></hw-chart>`)}</div>`;
  }
}
customElements.define("hw-analytics", HwAnalytics);
