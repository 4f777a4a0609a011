// The page with the charts of a run: draws stored data, requests an update of the tables, and seeks the replay on a
// click.
import { request, here } from "../store/api.js";
import { HwElement, html, repeat } from "../kit/element.js";
import { has, t } from "../kit/i18n.js";
import { signal } from "../store/state.js";
import "../parts/chart.js";
import { QUEUED, begin, jobCard, refused } from "../parts/jobs.js";
import { isByTime, lineAt } from "../parts/chart.js";

/** @import { Json, JsonObject } from "../parts/plots.js" */
/** @import { Figure } from "../parts/chart.js" */
/** @import { Following, Job } from "../parts/jobs.js" */
/** @import { Signal } from "@preact/signals-core" */

/**
 * @typedef {{ said: string, tone: "down" | "links" | "disk", from_us: number, to_us: number, is_open: boolean, seq: number }} Band a fault
 *   that lasts
 * @typedef {{ made_to: number, last_seq: number, figures: Record<string, Figure>, internal: number,
 *             bands: Band[], faults: number, damage: { from_seq: number, to_seq: number, reason: string }[] }} Stored
 *   `internal`: the number of partitions of internal topics
 */

/** Colours of bands. */
const BAND_COLOURS = { down: "--danger", links: "--leader", disk: "--group" };
/** @type {JsonObject[]} */
const NOTHING = [];
const TABLES = `${here.api}/analytics/tables`;

/** Whether the partitions of internal topics are included. */
const withInternal = signal(false);
/** The charts; null until they are loaded. @type {Signal<Stored | null>} */
const stored = signal(null);
/** The job that updates the tables from the run; null before the first one. @type {Signal<Job | null>} */
const job = signal(null);

/** Draws the charts with or without internal topics. */
async function toggleInternal() {
  withInternal.value = !withInternal.value;
  try {
    await load();
  } catch (error) {
    job.value = refused(error);
  }
}

/** Draws stored data at once, however old, and requests an update if the run has new events. */
async function start() {
  job.value = null;
  try {
    await load();
    if (stored.value && stored.value.made_to < stored.value.last_seq) await buildTables();
  } catch (error) {
    job.value = refused(error);
  }
}

async function load() {
  stored.value = await (await request(`${TABLES}.json${withInternal.value ? "?internal=1" : ""}`)).json();
}

/** The job in progress. @type {Following | null} */
let building = null;

/** Cancels the job; what it has published is kept. */
const cancel = () => void building?.cancel();

/** Follows the job and draws what it publishes. */
async function buildTables() {
  job.value = QUEUED;
  ({ job: building } = await begin(TABLES));
  await building?.end(async (now) => {
    if (now.published !== job.value?.published || now.state === "done") await load();
    job.value = now;
  });
}

/** Faults behind the marks. @returns {JsonObject[]} */
const shades = () => (stored.value?.bands ?? []).map((band) => ({
  type: "rect", xref: "x", x0: band.from_us / 1e6, x1: band.to_us / 1e6, yref: "paper", y0: 0, y1: 1, layer: "below",
  fillcolor: BAND_COLOURS[band.tone], opacity: 0.16, line: { width: 0 },
}));

/**
 * A line at the instant that the lab showed when this page was opened from it; null without one.
 * @returns {JsonObject | null}
 */
function playhead() {
  const t = Number.parseFloat(new URLSearchParams(location.search).get("t") ?? "");
  return Number.isNaN(t) ? null : lineAt(t);
}

/** Opens the lab at the event of a mark. @param {Json} mark */
function seek(mark) {
  const [at_us, seq] = Array.isArray(mark) ? mark : [];
  if (typeof at_us !== "number") return;
  // Many events have one instant: the number identifies one.
  location.assign(`${here.page}?t=${(at_us / 1e6).toFixed(6)}${typeof seq === "number" ? `&seq=${seq}` : ""}`);
}

class HwAnalytics extends HwElement {
  connectedCallback() {
    super.connectedCallback();
    start();
  }

  #internal() {
    const internal = stored.value?.internal;
    if (!internal) return "";
    return html`<label class="row"><input type="checkbox" .checked=${withInternal.value} @change=${toggleInternal}>
      <span>${t("analytics.internal", { n: internal })}</span></label>`;
  }

  /** The faults that the charts have as bands, each with a way to it. */
  #bands() {
    const { bands, faults } = /** @type {Stored} */ (stored.value);
    if (!bands.length) return "";
    /** @param {Band} band */
    const when = ({ is_open: isOpen, from_us: from, to_us: to }) => {
      const at = { from: (from / 1e6).toFixed(3), to: (to / 1e6).toFixed(3) };
      return isOpen ? t("analytics.band_open", at) : t("analytics.band_span", at);
    };
    const more = faults - bands.length;
    return html`<div class="bands"><span class="dim">${t("analytics.bands")}</span>
      <ul>${bands.map((band) => html`<li><button class="link" @click=${() => seek([band.from_us, band.seq])}><span
        class="swatch ${band.tone}"></span>${band.said}</button> <span class="dim mono">${when(band)}</span></li>`)}
      </ul>${more ? html`<span class="dim">${t("analytics.bands_more", { n: more })}</span>` : ""}</div>`;
  }

  render() {
    if (!stored.value) return job.value ? jobCard(job.value, t("analytics.building"), start, cancel) : html``;
    const { made_to: made, last_seq: last, figures: drawn, damage } = stored.value;
    const names = Object.keys(drawn);
    const behind = shades();
    return html`${job.value ? jobCard(job.value, t("analytics.building"), start, cancel) : ""}
      ${damage.map(({ from_seq, to_seq, reason }) => html`<p class="message warn">${t(has(`analytics.damage.${reason}`)
        ? `analytics.damage.${reason}` : "analytics.damage", { from: from_seq, to: to_seq, reason })}</p>`)}
      ${names.length ? html`<p class="row"><span class="dim" role="status">${t("analytics.click")}
        ${made ? t("analytics.as_of", { made, last }) : ""}</span><span class="spacer"></span>${this.#internal()}</p>` : ""}
      ${names.length ? this.#bands() : ""}
      <div class="charts">${repeat(names, (name) => name,
        (name) => html`<hw-chart .name=${name} .figure=${drawn[name]} .files=${TABLES} .parquet=${true}
          .saved=${`${here.run}-${here.branch}-${name}`} .playhead=${isByTime(name) ? playhead() : null}
          .shades=${isByTime(name) ? behind : NOTHING}
          .follow=${seek}></hw-chart>`)}</div>`;
  }
}
customElements.define("hw-analytics", HwAnalytics);
