// The dialog that saves the recording, or a passage of it, as a standalone page.
import { signal } from "@preact/signals-core";
import { instantOf } from "../../../core/replay/class_time.js";
import { HwElement, html } from "../../kit/element.js";
import { onSubmit, onValue } from "../../kit/events.js";
import { t } from "../../kit/i18n.js";
import { clockText } from "../../classroom/store.js";
import { base } from "./source.js";
import * as replay from "./store.js";

/** @import { Signal } from "@preact/signals-core" */
/** @typedef {{ bytes: number, sound_bytes: number, max_bytes: number }} Weight */
/** @typedef {{ what: string, expected?: string, todo?: string }} Refused */

/** Delay after the last keystroke before the size is requested, ms. */
const WEIGH_AFTER_MS = 300;

/** Tolerance for the start of a chapter, microseconds. */
const NEAR_US = 1e6;

const shown = signal(false);
const part = signal(/** @type {"all" | "span"} */ ("all"));
/** As typed. */
const span = signal({ from: "", to: "" });
const hasSound = signal(true);
/** The estimated size of the page; null while unknown. @type {Signal<Weight | null>} */
const weight = signal(null);
const saving = signal(false);
/** @type {Signal<Refused | null>} */
const refused = signal(null);
const saved = signal("");

/** @param {number} size */
const sizeText = (size) => (size < 1e6 ? `${Math.ceil(size / 1e3)} KB` : `${(size / 1e6).toFixed(size < 1e7 ? 1 : 0)} MB`);

function query() {
  const chosen = part.peek() === "all" ? {} : span.peek();
  return new URLSearchParams({ ...chosen, ...(hasSound.peek() ? {} : { sound: "0" }) });
}

/** Returns the response, or throws the lab's refusal. @param {string} path */
const asked = (path) => replay.reached(() => fetch(`${base}${path}?${query()}`));

let timer = 0;
/** The choice has changed: requests the new size. */
function weigh() {
  clearTimeout(timer);
  weight.value = null;
  refused.value = null;
  saved.value = "";
  timer = setTimeout(async () => {
    const wanted = String(query());
    try {
      const found = await (await asked("page.json")).json();
      if (wanted === String(query())) weight.value = found;
    } catch (error) {
      refused.value = /** @type {Refused} */ (/** @type {unknown} */ (error));
    }
  }, WEIGH_AFTER_MS);
}

function open() {
  const at_us = replay.atNow();
  const begins = [0, ...(replay.manifest.peek()?.chapters ?? []).map((one) => one.at_us)];
  const begin_us = begins.findLast((one) => one <= at_us + NEAR_US) ?? 0;
  const [from_us, to_us] = replay.loop.peek()
    ?? [begin_us, begins.find((one) => one > begin_us + NEAR_US) ?? replay.length_us.peek()];
  replay.play(false);
  span.value = { from: clockText(from_us), to: clockText(Math.ceil(to_us / 1e6) * 1e6) };
  part.value = replay.loop.peek() ? "span" : "all";
  shown.value = true;
  weigh();
}

async function save() {
  refused.value = null;
  saved.value = "";
  saving.value = true;
  try {
    const answer = await asked("page.html");
    const file = decodeURIComponent(/filename\*=UTF-8''(.+)$/.exec(answer.headers.get("Content-Disposition") ?? "")?.[1] ?? "class.html");
    const content = await answer.blob();
    const href = URL.createObjectURL(content);
    Object.assign(document.createElement("a"), { href, download: file }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60_000);
    saved.value = t("save_page.done", { file, size: sizeText(content.size) });
  } catch (error) {
    refused.value = /** @type {Refused} */ (/** @type {unknown} */ (error));
  }
  saving.value = false;
}

/** For the transport, if the viewer may export the recording. */
export function saveButton() {
  const found = replay.manifest.value;
  return found?.can.export ? html`<button class="chip" aria-label=${t("save_page.action")} title=${t("save_page.action")}
    @click=${open}><svg width="14" height="14" viewBox="0 0 14 14" fill="none" stroke="currentColor" stroke-width="1.500"
    aria-hidden="true"><path d="M7 2v6.500M4 6l3 3 3-3M2 12h10"></path></svg></button>` : "";
}

class HwReplaySave extends HwElement {
  updated() {
    const dialog = this.querySelector("dialog");
    if (dialog && !dialog.open) dialog.showModal();
  }

  /** @param {"all" | "span"} value @param {string} text */
  #option(value, text) {
    return html`<label class="row start"><input type="radio" name="part" .checked=${part.value === value} @change=${() => {
      part.value = value;
      weigh();
    }} /> ${text}</label>`;
  }

  /** @param {"from" | "to"} name */
  #field(name) {
    return html`<label class="field"><span>${t(`replay.save.${name}`)}</span><input class="mono" type="text" required
      .value=${span.value[name]} aria-invalid=${instantOf(span.value[name]) === null} @input=${onValue((typed) => {
        span.value = { ...span.peek(), [name]: typed };
        weigh();
      })} /></label>`;
  }

  #weight() {
    const found = weight.value;
    if (!found) return refused.value ? "" : t("replay.save.weighing");
    const withSound = found.bytes + found.sound_bytes;
    const isTooMuch = hasSound.value && found.sound_bytes > 0 && withSound > found.max_bytes;
    if (isTooMuch) return t("replay.save.no_sound", { size: sizeText(found.bytes), most: sizeText(found.max_bytes) });
    return t("replay.save.weighs", { size: sizeText(hasSound.value ? withSound : found.bytes) });
  }

  render() {
    const known = replay.manifest.value;
    if (!shown.value || !known) return "";
    const close = () => void (shown.value = false);
    return html`<dialog aria-label=${t("replay.save.title")} @close=${close}><form class="dialog replay-save"
      @submit=${onSubmit(() => void save())}><h2>${t("replay.save.title")}</h2>
      <fieldset><legend>${t("save_page.span")}</legend>${this.#option("all", t("replay.save.all"))}
        ${this.#option("span", t("alone.excerpt", { from: "A", to: "B" }))}</fieldset>
      ${part.value === "span" ? html`<div class="fields">${this.#field("from")}${this.#field("to")}</div>` : ""}
      ${known.audio.pieces.length ? html`<label class="check"><input type="checkbox" .checked=${hasSound.value} @change=${() => {
        hasSound.value = !hasSound.peek();
        weigh();
      }} /> ${t("replay.save.sound")}</label>` : ""}
      <p class="dim">${t("replay.save.note")}</p>
      ${refused.value ? html`<div class="message bad" role="alert"><b>${refused.value.what}</b> ${refused.value.expected}
        ${refused.value.todo}</div>` : ""}
      <p role="status">${saving.value ? t("save_page.saving") : saved.value || this.#weight()}</p>
      <div class="row"><button type="button" class="btn" @click=${close}>${t("dialog.close")}</button>
        <button class="btn pri" ?disabled=${saving.value}>${t("save_page.save")}</button></div></form></dialog>`;
  }
}
customElements.define("hw-replay-save", HwReplaySave);
