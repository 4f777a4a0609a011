// Captions by the recogniser that the operator installed: staff begin it, see how far it is, and may cancel it.
import { signal } from "@preact/signals-core";
import { html } from "../../kit/element.js";
import { t } from "../../kit/i18n.js";
import { refuse, settle } from "./actions.js";
import { changed } from "./captions.js";
import * as replay from "./store.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Language } from "../../classroom/sound/caption_choice.js" */
/**
 * @typedef {{ state: "none" | "waits" | "runs" | "done" | "failed", done: number, of: number, added: number,
 *             refusal: Error | null }} Job
 */

const ASKED_MS = 1000;

/** What is being recognised. @type {Signal<{ of: Language, job: Job } | null>} */
const running = signal(null);
/** The result of the last one, as text. */
const ended = signal("");

/** @param {Language} of @param {Job} job */
async function take(of, job) {
  if (job.state === "waits" || job.state === "runs") {
    running.value = { of, job };
    setTimeout(() => running.peek()?.of === of && void look(of), ASKED_MS);
    return;
  }
  const wasRunning = running.peek()?.of === of;
  running.value = null;
  if (!wasRunning || job.state === "none") return;
  if (job.state === "failed") return refuse(/** @type {Error} */ (job.refusal));
  ended.value = t("caption.recognised_n", { n: job.added });
  changed(of, (await replay.ask(`captions/${of}`)).cues);
}

/** @param {Language} of @param {() => Promise<Job>} send */
async function tried(of, send) {
  try {
    const job = await send();
    settle();
    await take(of, job);
  } catch (error) {
    refuse(/** @type {Error} */ (error));
    running.value = null;
  }
}

/** @param {Language} of */
const look = (of) => tried(of, () => replay.ask(`captions/${of}/recognised`));

/** @param {Language} of */
function begin(of) {
  ended.value = "";
  return tried(of, () => replay.send(`captions/${of}/recognised`, undefined));
}

/** @param {Language} of */
const cancel = (of) => tried(of, () => replay.send(`captions/${of}/recognised`, undefined, "DELETE"));

/** Of a language, where a recogniser is installed. @param {Language} of */
export function recognising(of) {
  const { can, audio } = replay.manifest.value ?? {};
  if (!can?.recognise || !audio?.pieces.length) return "";
  const now = running.value;
  if (!now) {
    return html`<button class="btn small" title=${t("caption.recognise_title")}
        @click=${() => void begin(of)}>${t("caption.recognise")}</button>
      <span class="dim" role="status">${ended.value}</span>`;
  }
  const { done, of: pieces, state } = now.job;
  return html`<progress max=${pieces} value=${done} aria-label=${t("caption.recognising")}></progress>
    <span class="dim" role="status">${state === "waits" ? t("caption.recognise_waits")
      : t("caption.recognising_n", { n: done, of: pieces })}</span>
    <button class="btn small" @click=${() => void cancel(now.of)}>${t("dialog.cancel")}</button>`;
}
