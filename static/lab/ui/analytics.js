// The page with the charts of a run: starts the job, shows how far it is, draws, and seeks the replay on a click.
import { ask, here, messages, refuse } from "./actions.js";
import { HwElement, html } from "./element.js";
import { has, t } from "./i18n.js";
import { signal } from "./state.js";
import "./messages.js";

const POLL_MS = 400;
const CHARTS = ["offsets", "isr", "latency", "rpcs"];
const ROLES = ["leader", "isr", "outisr", "produce", "control", "group"];

/** {state: "idle" | "queued" | "running" | "done" | "failed", progress, stage, figures, error} */
const job = signal({ state: "idle", progress: 0, stage: "" });

async function start() {
  job.value = { state: "queued", progress: 0, stage: "" };
  try {
    const { job: id } = await (await ask(`${here.api.replace("/api/runs", "/r")}/analytics/start`, {})).json();
    while (["queued", "running"].includes(job.value.state)) {
      job.value = await (await ask(`${here.api.replace("/api/runs", "/r")}/analytics/${id}.json`)).json();
      if (["queued", "running"].includes(job.value.state)) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  } catch (error) {
    job.value = { state: "failed", progress: 0, stage: "", error: error?.what ? error : null };
    if (!error?.what) refuse(error);
  }
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** What every chart shares: grounds, grid, type and hues of the theme. */
function themed(layout) {
  const axis = (own = {}) => ({
    ...own, gridcolor: colour("line"), linecolor: colour("line2"), zeroline: false,
    tickfont: { family: "JetBrains Mono, monospace", size: 10, color: colour("ink3") },
    title: typeof own.title === "string" ? { text: own.title, font: { size: 11 } } : own.title,
  });
  const axes = Object.fromEntries(Object.keys(layout).filter((key) => /^[xy]axis\d*$/.test(key)).map((key) => [key, axis(layout[key])]));
  return {
    ...layout, xaxis: axis(layout.xaxis), yaxis: axis(layout.yaxis), ...axes,
    title: undefined, autosize: true, margin: { l: 48, r: 10, t: 8, b: 36, ...layout.margin },
    paper_bgcolor: colour("panel"), plot_bgcolor: "rgba(0,0,0,0)", colorway: ROLES.map(colour),
    font: { family: "Inter, sans-serif", size: 11, color: colour("ink2") },
    hoverlabel: { bgcolor: colour("raise2"), bordercolor: colour("line2"), font: { color: colour("ink") } },
    legend: { orientation: "h", y: 1.12, x: 0, font: { size: 10.5 }, ...layout.legend },
  };
}

/** The simulated instant of a point in microseconds; null when a point has none. */
export function instantOf(point) {
  const own = Array.isArray(point.customdata) ? point.customdata[0] : point.customdata;
  if (typeof own === "number") return own;
  return point.data.meta === "no-time" || typeof point.x !== "number" ? null : point.x * 1e6;
}

class HwChart extends HwElement {
  static properties = { name: {}, figure: { attribute: false } };

  connectedCallback() {
    super.connectedCallback();
    addEventListener("themechange", () => this.updated());
  }

  updated() {
    const plot = this.querySelector(".plot");
    const { Plotly } = globalThis;
    const { data, layout = {} } = this.figure;
    Plotly.react(plot, structuredClone(data), themed(layout), {
      displaylogo: false, responsive: true, showSendToCloud: false, plotlyServerURL: "", modeBarButtons: [["toImage"]],
    });
    plot.removeAllListeners?.("plotly_click");
    plot.on("plotly_click", ({ points }) => {
      const at_us = instantOf(points[0]);
      if (at_us !== null) location.assign(`${here.page}?t=${(at_us / 1e6).toFixed(6)}`);
    });
  }

  render() {
    return html`<section class="chart card"><h2>${t(`analytics.${this.name}`)}<small>${t(`analytics.${this.name}_unit`)}</small></h2><div class="plot"></div></section>`;
  }
}
customElements.define("hw-chart", HwChart);

class HwAnalytics extends HwElement {
  connectedCallback() {
    super.connectedCallback();
    start();
  }

  render() {
    const { state, progress, stage, figures, error } = job.value;
    void messages.value;
    if (state === "done") {
      const names = CHARTS.filter((name) => figures[name]);
      return html`<div class="charts">${names.map((name) => html`<hw-chart name=${name} .figure=${figures[name]}></hw-chart>`)}</div>
        <p class="row"><span class="dim">${t("analytics.click")}</span><span class="spacer"></span><button class="btn small" @click=${start}>${t("analytics.again")}</button></p>`;
    }
    if (state === "failed")
      return html`<div class="message bad" role="alert"><b>${error?.what ?? t("analytics.failed")}</b><span>${error?.expected ?? ""}</span><span>${error?.todo ?? ""}</span><span class="row"><button class="btn small" @click=${start}>${t("analytics.again")}</button></span></div>`;
    const said = has(`analytics.stage.${stage}`) ? t(`analytics.stage.${stage}`) : stage || t("analytics.queued");
    return html`<div class="card job"><b>${t("analytics.working")}</b><progress max="1" value=${progress} aria-label=${t("analytics.working")}></progress><span class="dim" role="status">${said} · ${Math.round(progress * 100)} %</span></div>`;
  }
}
customElements.define("hw-analytics", HwAnalytics);
