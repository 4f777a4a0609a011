// Captions during a class: staff type what is said, or the browser recognises it on this machine.
import { signal } from "@preact/signals-core";
import { MAX_CAPTION_TEXT } from "../../../core/classroom/limits.gen.js";
import { Recogniser, recognises } from "../../../core/sound/recogniser.js";
import { HwElement, html } from "../../kit/element.js";
import { onSubmit, onValue } from "../../kit/events.js";
import { language, t } from "../../kit/i18n.js";
import { classSlug, clockText, joined, refused, tree } from "../store.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Spoken } from "../../../core/sound/recogniser.js" */
/** @typedef {"en" | "zh-CN"} Language */

/** Characters read per second. */
const READ_A_SECOND = { en: 15, "zh-CN": 6 };
const MIN_US = 1.5e6;

const Recognition = /** @type {import("../../../core/sound/recogniser.js").RecognitionType | undefined} */ (
  /** @type {any} */ (globalThis).SpeechRecognition);

/** The language of the text being typed. @type {Signal<Language>} */
const of = signal(/** @type {Language} */ (language));
/** The last caption that was stored. @type {Signal<{ from_us: number, text: string } | null>} */
const last = signal(null);
/** Whether the browser recognises the language on this machine. */
const isOffered = signal(false);
/** Why the browser stopped. */
const problem = signal("");

/** Asks the browser again: it may recognise one language and not another. */
async function look() {
  const asked = of.peek();
  const found = await recognises(Recognition, asked);
  if (asked === of.peek()) isOffered.value = found;
}
void look();

/** Sends a caption; returns whether it was kept. @param {Spoken} spoken @param {"typed" | "recognised"} source */
async function keep({ from_us, to_us, text }, source) {
  const headers = { "Content-Type": "application/json", "X-CSRFToken": document.getElementById("class")?.dataset.csrf ?? "" };
  const body = JSON.stringify({ from_us: Math.round(from_us), to_us: Math.round(to_us), text, source });
  try {
    const answer = await fetch(`/api/classes/${classSlug.peek()}/recording/captions/${of.peek()}/cues`, { method: "POST", headers, body });
    const content = await answer.json();
    if (!answer.ok) {
      refused.value = content;
      return false;
    }
    last.value = content;
    return true;
  } catch {
    refused.value = { what: t("refusal.lost"), expected: "", todo: t("refusal.lost_todo") };
    return false;
  }
}

class HwCaptions extends HwElement {
  /** When the first letter of the text was typed. */
  #began_us = 0;
  /** The end of a text that the server did not get: sent again, it is not shown for longer. */
  #ends_us = 0;
  /** @type {Recogniser | null} */
  #recogniser = null;

  updated() {
    const { recording, class: info } = tree.peek();
    if (this.#recogniser && (!recording || info?.ended)) this.#stop();
  }

  /** @param {HTMLFormElement} form */
  async #send(form) {
    const field = /** @type {HTMLInputElement} */ (form.elements.namedItem("caption"));
    const text = field.value.trim();
    const clock = joined()?.clock;
    if (!text || !clock) return;
    const read_us = Math.max(MIN_US, (1e6 * text.length) / READ_A_SECOND[of.peek()]);
    const from_us = this.#began_us || clock.us;
    const to_us = this.#ends_us || Math.max(clock.us, from_us + read_us);
    // The next one may be written while this one is sent.
    field.value = "";
    this.#began_us = this.#ends_us = 0;
    if (!await keep({ from_us, to_us, text }, "typed") && !field.value) {
      field.value = text;
      this.#began_us = from_us;
      this.#ends_us = to_us;
    }
  }

  #listen() {
    const clock = joined()?.clock;
    if (!clock || !Recognition) return;
    problem.value = "";
    this.#recogniser = new Recogniser(Recognition, of.peek(), () => clock.us, (spoken) => void keep(spoken, "recognised"), (why) => {
      this.#recogniser = null;
      problem.value = why;
      this.requestUpdate();
    });
    this.requestUpdate();
  }

  #stop() {
    this.#recogniser?.stop();
    this.#recogniser = null;
    this.requestUpdate();
  }

  render() {
    const { recording, class: info, staff } = tree.value;
    if (!staff || info?.ended) return "";
    const isOn = Boolean(this.#recogniser);
    return html`<b>${t("caption.title")}</b>
      <form @submit=${onSubmit((form) => void this.#send(form))}><select aria-label=${t("caption.language")} ?disabled=${isOn}
          @change=${onValue((to) => {
            of.value = /** @type {Language} */ (to);
            void look();
          })}>${["en", "zh-CN"].map((one) => html`<option value=${one} ?selected=${of.value === one}>${
            t(`caption.choice.${one}`)}</option>`)}</select>
        <label class="field inline grows"><span class="sr">${t("caption.text")}</span><input name="caption" type="text"
          maxlength=${MAX_CAPTION_TEXT}
          lang=${of.value} dir="auto" autocomplete="off" placeholder=${t("caption.hint")} ?disabled=${!recording}
          @input=${() => {
            this.#began_us ||= joined()?.clock.us ?? 0;
            this.#ends_us = 0;
          }} /></label>
        <button class="btn small" ?disabled=${!recording}>${t("caption.send")}</button></form>
      ${isOffered.value && recording ? html`<button class="btn small" aria-pressed=${isOn} title=${t("caption.listening")}
        @click=${() => (isOn ? this.#stop() : this.#listen())}>${t(isOn ? "caption.stop" : "caption.listen")}</button>` : ""}
      ${isOn ? html`<span class="tag" role="status">${t("caption.listening")}</span>` : ""}
      ${problem.value ? html`<span class="tag bad" role="alert">${t("caption.stopped", { why: problem.value })}</span>` : ""}
      ${recording ? last.value ? html`<span class="dim" role="status"><span class="mono">${clockText(last.value.from_us)}</span> <bdi>${
        last.value.text}</bdi></span>` : "" : html`<span class="tag warn">${t("caption.off_record")}</span>`}`;
  }
}
customElements.define("hw-captions", HwCaptions);
