// The captions of a recorded class as a list: a click seeks there. Staff upload and correct them here.
import { batch, signal } from "@preact/signals-core";
import { MAX_CAPTION_TEXT } from "../../../core/classroom/limits.gen.js";
import { instantOf } from "../../../core/replay/class_time.js";
import { clockText } from "../../classroom/store.js";
import { HwElement, html } from "../../kit/element.js";
import { onKey, onSubmit, onValue } from "../../kit/events.js";
import { language, t } from "../../kit/i18n.js";
import { refuse, settle } from "./actions.js";
import { LANGUAGES, show } from "../../classroom/sound/caption_choice.js";
import { changed, cues, languages, read } from "./captions.js";
import { keepInSight } from "./in_sight.js";
import { recognising } from "./recognise.js";
import { soundDelay } from "./sound_delay.js";
import * as replay from "./store.js";

/** @import { Cue } from "./captions.js" */
/** @import { Language } from "../../classroom/sound/caption_choice.js" */
/** @import { Signal } from "@preact/signals-core" */

/** Default duration of a caption that is added here. */
const ADDED_US = 3e6;

/** The number of the caption that is being corrected, 0 for a new one; null for none. @type {Signal<number | null>} */
const edits = signal(null);
/** The language of uploaded or added captions. @type {Signal<Language>} */
const writes = signal(/** @type {Language} */ (language));

/**
 * Sends a change; after a refusal the form stays open.
 * @param {Language} of
 * @param {() => Promise<{ cues: Cue[] }>} send
 */
async function tried(of, send) {
  try {
    const answer = await send();
    settle();
    batch(() => {
      changed(of, answer.cues);
      edits.value = null;
    });
  } catch (error) {
    refuse(/** @type {Error} */ (error));
  }
}

/** @param {Event} event */
async function upload(event) {
  const field = /** @type {HTMLInputElement} */ (event.currentTarget);
  const file = field.files?.[0];
  const of = writes.peek();
  if (file) await tried(of, () => replay.sendFile(`captions/${of}/file`, file));
  field.value = "";
  if (languages.peek().includes(of)) show(of);
}

/** @param {HTMLFormElement} form @param {Cue | null} cue @param {Language} of */
function save(form, cue, of) {
  const content = new FormData(form);
  const [from_us, to_us] = ["from", "to"].map((name) => instantOf(String(content.get(name))));
  if (from_us === null || to_us === null) return refuse(new Error(t("caption.bad_time")));
  const body = { from_us, to_us, text: String(content.get("text")) };
  if (cue) return tried(of, () => replay.send(`captions/${of}/cues/${cue.cue}`, body, "PUT"));
  return tried(of, async () => {
    await replay.send(`captions/${of}/cues`, body);
    return replay.ask(`captions/${of}`);
  });
}

/** Closes the form; a refusal concerned what was in it. */
function stop() {
  edits.value = null;
  settle();
}

/** The form of a caption, or of a new one. @param {Cue | null} cue @param {Language} of */
function form(cue, of) {
  const from_us = cue?.from_us ?? Math.round(replay.atNow());
  const times = /** @type {const} */ ([["from", from_us], ["to", cue?.to_us ?? Math.min(replay.length_us.peek(), from_us + ADDED_US)]]);
  return html`<form class="write" @submit=${onSubmit((one) => void save(one, cue, of))}
      @keydown=${onKey(({ key }) => key === "Escape" && stop())}>
    <label class="field"><span>${t("caption.text")}</span><textarea name="text" rows="2" required maxlength=${MAX_CAPTION_TEXT}
      dir="auto" lang=${of} .value=${cue?.text ?? ""}></textarea></label>
    <div class="row">${times.map(([name, us]) => html`<label class="field inline"><span>${t(`caption.${name}`)}</span><input
      class="time mono" name=${name} required .value=${replay.addressTime(us)} /></label>`)}</div>
    <div class="row">${cue ? html`<button class="btn small danger" type="button" @click=${() =>
        void tried(of, () => replay.send(`captions/${of}/cues/${cue.cue}`, undefined, "DELETE"))}>${t("replay.remove")}</button>` : ""}
      <span class="spacer"></span>
      <button class="btn small" type="button" @click=${stop}>${t("dialog.cancel")}</button><button
        class="btn small pri">${t("replay.save")}</button></div></form>`;
}

class HwReplayTranscript extends HwElement {
  updated() {
    const field = /** @type {HTMLElement | null} */ (this.querySelector(".write:not(.seen) [name='text']"));
    field?.closest(".write")?.classList.add("seen");
    field?.focus();
    keepInSight(this);
  }

  #tools() {
    const can = replay.manifest.value?.can.correct && !replay.manifest.value.live;
    const of = read.value;
    const choice = languages.value.length < 2 ? "" : html`<div class="seg" role="group"
      aria-label=${t("caption.language")}>${languages.value.map((one) => html`<button aria-pressed=${of === one}
        @click=${() => show(one)}>${t(`caption.choice.${one}`)}</button>`)}</div>`;
    // Recognition is not available in a standalone page.
    const isAlone = replay.manifest.value?.alone;
    return html`<div class="tools">${choice}
      ${isAlone ? "" : html`<a class="btn small" href="${replay.classPage}transcript/?captions=${of}">${t("transcript.as_page")}</a>`}
      ${languages.value.length && !isAlone ? html`<a class="btn small" download href="${replay.base}captions/${of}.vtt">${
        t("caption.download")}</a>` : ""}
      ${can ? html`<select aria-label=${t("caption.language")} @change=${onValue((to) =>
            void (writes.value = /** @type {Language} */ (to)))}>${LANGUAGES.map((one) => html`<option value=${one}
            ?selected=${writes.value === one}>${t(`caption.choice.${one}`)}</option>`)}</select>
          <label class="btn small file">${t("caption.upload")}<input type="file" accept=".vtt,text/vtt" @change=${upload} /></label>
          <button class="btn small" @click=${() => {
            replay.play(false);
            edits.value = 0;
          }}>${t("caption.add")}</button>${recognising(writes.value)}${soundDelay()}` : ""}</div>
      ${can && edits.value === 0 ? form(null, writes.value) : ""}`;
  }

  /** @param {Cue} cue @param {boolean} isNow */
  #row(cue, isNow) {
    const of = read.value;
    const can = replay.manifest.value?.can.correct && !replay.manifest.value.live;
    if (can && edits.value === cue.cue) return html`<li class="edited">${form(cue, of)}</li>`;
    return html`<li aria-current=${isNow ? "true" : "false"}><button @click=${() => void replay.seek(cue.from_us)}><span
        class="mono">${clockText(cue.from_us)}</span><i data-tone="caption" aria-hidden="true"></i><span><bdi lang=${of}>${cue.text}</bdi>${
        cue.source === "recognised" ? html` <small class="tag">${t("caption.recognised")}</small>` : ""}</span></button>
      ${can ? html`<button class="remove" title=${t("caption.correct")} aria-label="${t("caption.correct")}: ${cue.text}"
        @click=${() => (edits.value = cue.cue)}>✎</button>` : ""}</li>`;
  }

  render() {
    const list = cues.value[/** @type {Language} */ (read.value)] ?? [];
    const now = list.findLastIndex(({ from_us }) => from_us <= replay.at_us.value);
    return html`${this.#tools()}${list.length ? html`<ol class="instants">${list.map((cue, i) => this.#row(cue, i === now))}</ol>`
      : html`<p class="nobody" role="status">${t("replay.none.transcript")}</p>`}`;
  }
}
customElements.define("hw-replay-transcript", HwReplayTranscript);
