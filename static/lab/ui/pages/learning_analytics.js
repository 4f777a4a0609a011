// The charts of a class or of a lesson: /classes/<slug>/analytics/, /course/<slug>/analytics/. Those of a live class
// are redrawn as acts arrive.
import { request } from "../store/api.js";
import { HwElement, html, repeat } from "../kit/element.js";
import { t } from "../kit/i18n.js";
import { signal } from "../store/state.js";
import { begin, jobCard, refused } from "../parts/jobs.js";
import { lineAt } from "../parts/chart.js";

/** @import { Json, JsonObject } from "../parts/plots.js" */
/** @import { Figure } from "../parts/chart.js" */
/** @import { Following, Job } from "../parts/jobs.js" */
/** @import { Signal } from "@preact/signals-core" */
/**
 * @typedef {{ figures: Record<string, Figure>, as_of_ms: number, now_ms: number, live: boolean, people: number,
 *   withheld?: boolean }} Shown `people`: learners in a class; `withheld`: too few people to show the results of all
 */

/** Age from which charts of a live class are marked. */
const OLD_MS = 15_000;
/** Charts whose x axis is the time of the class. */
const BY_CLASS_TIME = new Set(["class_progress"]);

/** The charts; null until they are loaded. @type {Signal<Shown | null>} */
const shown = signal(null);
/** The job in progress or the failed job; null for none. @type {Signal<Job | null>} */
const job = signal(null);
/** Age of the charts. */
const age_ms = signal(0);

/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** A hidden page does not send requests. */
async function whenVisible() {
  while (document.hidden) await new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
}

/** A line at the instant that the replay showed when the page was opened from it. @returns {JsonObject | null} */
function playhead() {
  const [minutes, seconds] = (new URLSearchParams(location.search).get("at") ?? "").split(":").map(Number.parseFloat);
  const at = minutes + seconds / 60;
  return Number.isNaN(at) || seconds === undefined ? null
    : lineAt(at);
}

class HwLearningAnalytics extends HwElement {
  #api = "";
  #kind = "";
  #ends = new AbortController();

  connectedCallback() {
    super.connectedCallback();
    this.#api = this.dataset.api ?? "";
    this.#kind = this.dataset.kind ?? "";
    this.#ends = new AbortController();
    const aging = setInterval(() => {
      if (shown.value) age_ms.value += 1000;
    }, 1000);
    this.#ends.signal.addEventListener("abort", () => clearInterval(aging));
    this.#run();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#ends.abort();
  }

  /** Draws available data at once, then follows the job and the class until both have ended. */
  #run = async () => {
    job.value = null;
    try {
      await this.#load();
      while (!this.#ends.signal.aborted) {
        await whenVisible();
        const { job: begun, wait_s } = await begin(`${this.#api}/tables`);
        this.#job = begun;
        if (begun && !(await this.#follow(begun))) return;
        if (begun) continue;
        if (wait_s) await sleep(wait_s * 1000);
        else return;
      }
    } catch (error) {
      job.value = refused(error);
    }
  };

  async #load() {
    /** @type {Shown} */
    const found = await (await request(`${this.#api}/tables.json`)).json();
    age_ms.value = found.now_ms - found.as_of_ms;
    shown.value = found;
  }

  /** The job in progress. @type {Following | null} */
  #job = null;

  /** Cancels the job; what it has published is kept. */
  #cancel = () => void this.#job?.cancel();

  /** Whether the job finished without being cancelled or failing. @param {Following} begun */
  async #follow(begun) {
    const { state } = await begun.end(async (now) => {
      if (now.state === "done") await this.#load();
      job.value = now.state === "done" ? null : now;
    });
    return state === "done";
  }

  /** The time up to which acts are included in the charts. @param {Shown} found */
  #asOf({ as_of_ms, live }) {
    if (!as_of_ms) return "";
    const time = new Date(as_of_ms).toLocaleString(document.documentElement.lang, live ? { timeStyle: "medium" }
      : { dateStyle: "medium", timeStyle: "short" });
    const isOld = live && age_ms.value > OLD_MS;
    return html`<span class=${isOld ? "tag warn" : "dim"}>${t("analytics.as_of_time", { time })}${isOld
      ? html` <span class="mono">${t("analytics.seconds_old", { n: Math.round(age_ms.value / 1000) })}</span>` : ""}</span>`;
  }

  /** The reason why there are no charts, and what to do. */
  #empty() {
    const { live, people } = /** @type {Shown} */ (shown.value);
    const why = this.#kind === "lesson" ? "analytics.lesson_nothing" : !live ? "analytics.class_nothing"
      : people ? "analytics.class_empty" : "analytics.class_nobody";
    const back = this.#kind === "lesson" ? t("course.about") : live ? t("board.board") : t("summary.title");
    return html`<div class="message"><b>${t(why)}</b><span>${t(`${why}_todo`)}</span>
      <span class="row"><a class="btn small" href=${this.dataset.back ?? ""}>${back}</a></span></div>`;
  }

  render() {
    // A round of a live class is short, so no card is shown for it once there are charts.
    const found = shown.value;
    const names = Object.keys(found?.figures ?? {});
    const isTold = job.value && (!names.length || ["failed", "cancelled"].includes(job.value.state) || !found?.live);
    return html`${job.value && isTold ? jobCard(job.value, t(`analytics.building_${this.#kind}`), this.#run, this.#cancel) : ""}
      ${found && names.length ? html`<p class="row"><span class="dim">${t(`analytics.${this.#kind}_click`)}</span>
        <span class="spacer"></span>
        ${found.live ? html`<span class="tag ok">${t("analytics.follows")}</span>` : ""}${this.#asOf(found)}</p>` : ""}
      ${found?.withheld ? html`<p class="message">${t("analytics.withheld")}</p>` : ""}
      ${found && !names.length && !job.value ? this.#empty() : ""}
      <div class="charts">${repeat(names, (name) => name, (name) => html`<hw-chart .name=${name}
        .figure=${/** @type {Shown} */ (found).figures[name]} .files=${`${this.#api}/tables`} .saved=${`${this.dataset.saved}-${name}`}
        .playhead=${BY_CLASS_TIME.has(name) ? playhead() : null} .follow=${open}></hw-chart>`)}</div>`;
  }
}
customElements.define("hw-learning-analytics", HwLearningAnalytics);

/** Opens the address of a mark. @param {Json} mark */
function open(mark) {
  if (typeof mark === "string" && mark.startsWith("/")) location.assign(mark);
}
