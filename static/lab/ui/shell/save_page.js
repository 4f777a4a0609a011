// The dialog that saves the branch, or an excerpt of it, as a page that plays by itself.
import { here, request } from "../store/api.js";
import { HwElement, html } from "../kit/element.js";
import { onSubmit, onValue } from "../kit/events.js";
import { t } from "../kit/i18n.js";
import { moment, player, signal } from "../store/state.js";
import { view } from "../store/view.js";
import { close } from "./common_dialogs.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Refusal } from "../../core/refusal.js" */

/** @typedef {{ part: "all" | "window" | "span", from: string, to: string }} Choice instants in seconds, as typed */

/** @param {number} us */
const seconds = (us) => (Math.max(0, us) / 1e6).toFixed(6);

/** "3.4 MB", as the list of runs writes sizes. @param {number} size */
function sizeText(size) {
  const [amount, unit] = size < 1e6 ? [size / 1e3, "KB"] : [size / 1e6, "MB"];
  return `${amount.toFixed(amount < 10 ? 1 : 0)} ${unit}`;
}

/** The name that the lab gives a file. @param {Response} response */
const fileOf = (response) => decodeURIComponent(/filename\*=UTF-8''(.+)$/.exec(response.headers.get("Content-Disposition") ?? "")?.[1]
  ?? "highwater.html");

/** Hands a file to the browser. @param {Blob} content @param {string} name */
function save(content, name) {
  const href = URL.createObjectURL(content);
  Object.assign(document.createElement("a"), { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}

class HwSavePage extends HwElement {
  #choice = signal(/** @type {Choice} */ ({ part: "all", from: seconds(0), to: seconds(player.live_at_us) }));
  #isSaving = signal(false);
  /** Why it was not saved. @type {Signal<Partial<Refusal> | null>} */
  #refused = signal(null);
  /** What has been saved, in words. */
  #saved = signal("");

  /** @param {Choice["part"]} part */
  choose(part) {
    const choice = this.#choice.peek();
    const [from, to] = (part === "window" && view().window) || [];
    this.#choice.value = from === undefined || to === undefined ? { ...choice, part }
      : { part, from: seconds(from), to: seconds(Math.min(to, player.live_at_us)) };
  }

  /** @param {Partial<Choice>} typed */
  type(typed) {
    this.#choice.value = { ...this.#choice.peek(), part: "span", ...typed };
  }

  async save() {
    const { part, from, to } = this.#choice.peek();
    this.#refused.value = null;
    this.#saved.value = "";
    this.#isSaving.value = true;
    const span = part === "all" ? "" : `?${new URLSearchParams({ from, to })}`;
    try {
      const response = await request(`${here.api}/page.html${span}`);
      const content = await response.blob();
      save(content, fileOf(response));
      this.#saved.value = t("save_page.done", { file: fileOf(response), size: sizeText(content.size) });
    } catch (error) {
      this.#refused.value = /** @type {Partial<Refusal>} */ (error);
    }
    this.#isSaving.value = false;
  }

  /** @param {Choice["part"]} part @param {string} text */
  option(part, text) {
    return html`<label class="row start"><input type="radio" name="part" .checked=${this.#choice.value.part === part}
      @change=${() => this.choose(part)}><span>${text}</span></label>`;
  }

  /** @param {"from" | "to"} name */
  field(name) {
    return html`<label class="field"><span>${t(`save_page.${name}`)}</span>
      <input class="mono" inputmode="decimal" pattern="\\d{1,12}(\\.\\d{1,6})?" required autocomplete="off"
        .value=${this.#choice.value[name]} @input=${onValue((value) => this.type({ [name]: value }))}></label>`;
  }

  render() {
    const isSaving = this.#isSaving.value;
    const refused = this.#refused.value;
    const hasWindow = moment.value.mode === "pause" && view().window;
    return html`<form class="field save-page" @submit=${onSubmit(() => void this.save())}>
      <fieldset class="field" role="radiogroup"><legend>${t("save_page.span")}</legend>
        ${this.option("all", t("save_page.all"))}
        ${hasWindow ? this.option("window", t("save_page.window")) : ""}
        ${this.option("span", t("alone.excerpt", { from: "A", to: "B" }))}
      </fieldset>
      ${this.#choice.value.part === "all" ? "" : html`<div class="fields">${this.field("from")}${this.field("to")}</div>`}
      <p class="dim">${t("save_page.note")}</p>
      ${refused ? html`<div class="message bad" role="alert"><b>${refused.what}</b><span>${refused.expected}</span>
        <span>${refused.todo}</span></div>` : ""}
      <p role="status">${isSaving ? t("save_page.saving") : this.#saved.value}</p>
      <div class="row"><button type="button" class="btn" @click=${close}>${t(this.#saved.value ? "dialog.close" : "dialog.cancel")}</button>
        <button class="btn pri" ?disabled=${isSaving}>${t("save_page.save")}</button></div>
    </form>`;
  }
}
customElements.define("hw-save-page", HwSavePage);
