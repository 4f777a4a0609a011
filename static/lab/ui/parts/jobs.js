// Jobs that make tables: begun, followed until they are over, cancelled, and shown.
import { request } from "../store/api.js";
import { html } from "../kit/element.js";
import { has, t } from "../kit/i18n.js";

/** @import { Refusal } from "../../core/refusal.js" */

/**
 * @typedef {{ state: "queued" | "running" | "done" | "failed" | "cancelled", progress: number, stage: string,
 *             error: Partial<Refusal> | null, published: number }} Job `published`: how many builds it has published so far
 */

/** Pause between two looks at a job: short at first, when a page waits for its first chart. */
const MIN_POLL_MS = 80;
const MAX_POLL_MS = 400;
const POLL_GROWTH = 1.1;

/** A job before anything is known of it. @type {Job} */
export const QUEUED = { state: "queued", progress: 0, stage: "", error: null, published: 0 };

/** A job in progress. */
export class Following {
  #address;

  /** @param {string} address that returns its state */
  constructor(address) {
    this.#address = address;
  }

  /** Passes each state of the job to `told`, including the last one, which it also returns. @param {(now: Job) => unknown} told */
  async end(told) {
    for (let pause = MIN_POLL_MS; ; pause = Math.min(POLL_GROWTH * pause, MAX_POLL_MS)) {
      /** @type {Job} */
      const now = await (await request(`${this.#address}.json`)).json();
      await told(now);
      if (now.state === "done" || now.state === "failed" || now.state === "cancelled") return now;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  /** Ends the job; what it has published stays. */
  cancel = async () => {
    await request(`${this.#address}/cancel`, {});
  };
}

/** Starts the job of some tables, or finds the one in progress; null if there is nothing to do, and then `wait_s` is
 * when to ask again (0: not any more).
 * @param {string} tables their address @param {{ priority?: "build" }} [asked]
 * @returns {Promise<{ job: Following | null, wait_s: number }>}
 */
export async function begin(tables, asked = {}) {
  const { job, wait_s } = await (await request(`${tables}/start`, asked)).json();
  return { job: job && new Following(`${tables}/${job}`), wait_s };
}

/** A job that was refused; anything that is not a refusal is thrown again. @param {unknown} error @returns {Job} */
export function refused(error) {
  if (!(error instanceof Object && "what" in error)) throw error;
  return { ...QUEUED, state: "failed", error: /** @type {Partial<Refusal>} */ (error) };
}

/**
 * How far a job is, or why it failed.
 * @param {Job} job @param {string} doing @param {() => void} again @param {() => void} cancel
 */
export function jobCard({ state, progress, stage, error }, doing, again, cancel) {
  if (state === "done") return "";
  if (state === "cancelled")
    return html`<div class="message" role="status"><b>${t("analytics.cancelled")}</b><span>${t("analytics.cancelled_said")}</span>
      <span class="row"><button class="btn small" @click=${again}>${t("analytics.again")}</button></span></div>`;
  if (state === "failed")
    return html`<div class="message bad" role="alert">
      <b>${error?.what ?? t("analytics.failed")}</b><span>${error?.expected}</span><span>${error?.todo}</span>
      <span class="row"><button class="btn small" @click=${again}>${t("analytics.again")}</button></span>
    </div>`;
  const said = has(`analytics.stage.${stage}`) ? t(`analytics.stage.${stage}`) : t("analytics.queued");
  return progressCard(doing, progress, 1, said, cancel);
}

/**
 * How much of something is done, with the button that ends it.
 * @param {string} doing @param {number} done @param {number} of @param {string} said @param {() => void} cancel
 */
export function progressCard(doing, done, of, said, cancel) {
  const percent = `${Math.round((100 * done) / of)} %`;
  return html`<div class="card job">
    <b>${doing}</b>
    <progress max=${of} value=${done} aria-label=${doing}></progress>
    <span class="row"><span class="dim" role="status">${said ? `${said} · ${percent}` : percent}</span><span class="spacer"></span>
      <button class="btn small" @click=${cancel}>${t("analytics.cancel")}</button></span>
  </div>`;
}
