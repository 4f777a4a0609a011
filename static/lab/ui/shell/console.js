// The console: lines of the shell's grammar, with history, completion, and what they printed.
import { act, copy } from "../store/api.js";
import { HwElement, byId, html, icon, repeat } from "../kit/element.js";
import { onSubmit } from "../kit/events.js";
import { instant } from "../kit/format.js";
import { isListOfStrings, keep, kept } from "../kit/kept.js";
import { t } from "../kit/i18n.js";
import { lineButton } from "../parts/common.js";
import { offered, takesFocus, toggleConsole } from "../store/console.js";
import { lacks } from "../store/rights.js";
import { consoleOpen, effect, moment, player, signal, welcome } from "../store/state.js";
import { stepRpc, togglePlay } from "../store/time.js";
import { BLANK, ERROR_LINE, printed, typed } from "../kit/words.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { ConsoleEntry } from "../../core/view/view.d.ts" */

const HISTORY_KEY = "highwater.console";
const MAX_HISTORY = 200;
const MAX_OFFERS = 60;

class HwConsole extends HwElement {
  #history = kept(HISTORY_KEY, isListOfStrings, []);
  #place = this.#history.length;
  #draft = "";
  /** @type {Signal<string[]>} */
  #offers = signal([]);
  #chosen = signal(-1);
  #clearedTo = signal(0);
  #from = 0;
  #seen = "";
  /** Whether the output was scrolled up before new lines arrived. */
  #reading = false;
  /** Whether the line gets the focus once it is rendered. */
  #opens = false;

  connectedCallback() {
    super.connectedCallback();
    effect(() => void this.toggleAttribute("hidden", !consoleOpen.value));
    effect(() => void byId("time").classList.toggle("with-console", consoleOpen.value));
    effect(() => {
      if (!consoleOpen.value) return;
      this.#seen = "";
      this.#opens = takesFocus.peek() && moment.peek().seq > 0;
    });
    effect(() => {
      const line = offered.value;
      if (!line) return;
      offered.value = "";
      requestAnimationFrame(() => this.offer(line));
    });
  }

  get input() {
    return /** @type {HTMLInputElement} */ (this.querySelector("input"));
  }

  /** @param {string} line */
  offer(line) {
    this.input.value = line;
    this.input.focus();
    const blank = BLANK.exec(line);
    if (blank) this.input.setSelectionRange(blank.index, blank.index + blank[0].length);
  }

  async #send() {
    const line = this.input.value.trim();
    if (!line) {
      await stepRpc(); // As Enter does outside of the field.
      return;
    }
    this.#offers.value = [];
    this.#seen = "";
    this.input.value = "";
    if (this.#history.at(-1) !== line) this.#history.push(line);
    this.#history = this.#history.slice(-MAX_HISTORY);
    this.#place = this.#history.length;
    keep(HISTORY_KEY, this.#history);
    if (line === "clear") this.#clearedTo.value = Math.max(0, ...Object.keys(moment.value.view.console).map(Number));
    else if ((await act(line)) === null && !this.input.value) this.input.value = line;
  }

  /** @param {1 | -1} direction */
  #walk(direction) {
    if (this.#place === this.#history.length) this.#draft = this.input.value;
    this.#place = Math.min(this.#history.length, Math.max(0, this.#place + direction));
    this.input.value = this.#history[this.#place] ?? this.#draft;
    this.input.setSelectionRange(this.input.value.length, this.input.value.length);
  }

  /** @param {string} item */
  #insert(item) {
    const cursor = this.input.selectionStart ?? 0;
    const rest = this.input.value.slice(cursor);
    const start = this.input.value.slice(0, this.#from) + item;
    this.input.value = start + rest;
    this.input.setSelectionRange(start.length, start.length);
  }

  async #complete() {
    if (lacks("act")) return;
    if (this.#offers.value.length) {
      this.#chosen.value = (this.#chosen.value + 1) % this.#offers.value.length;
      return;
    }
    const { value } = this.input;
    const cursor = this.input.selectionStart ?? 0;
    const { from, items } = await player.complete(value, cursor).catch(() => ({ from: 0, items: /** @type {string[]} */ ([]) }));
    if (this.input.value !== value) return;
    this.#from = from;
    if (items.length === 1) this.#insert(items[0] + (items[0].endsWith("=") ? "" : " "));
    else if (items.length) {
      const common = items.reduce((a, b) => {
        let same = 0;
        while (same < a.length && a[same] === b[same]) same++;
        return a.slice(0, same);
      });
      if (common.length > cursor - from) this.#insert(common);
      this.#offers.value = items;
      this.#chosen.value = -1;
    }
    this.input.focus();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const offers = this.#offers.value;
    if (event.key === "Tab" && !event.shiftKey && this.input.value) {
      event.preventDefault();
      this.#complete();
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (offers.length && this.#chosen.value >= 0) this.#take(offers[this.#chosen.value]);
      else this.#send();
    } else if (event.key === " " && !this.input.value) {
      event.preventDefault(); // On an empty line, as outside of the field.
      togglePlay();
    } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      event.preventDefault();
      this.#walk(event.key === "ArrowUp" ? -1 : 1);
    } else if (event.key === "Escape" && offers.length) {
      event.stopPropagation();
      this.#offers.value = [];
    } else if (event.key !== "Shift") this.#offers.value = [];
  }

  /** @param {string} item */
  #take(item) {
    this.#insert(`${item} `);
    this.#offers.value = [];
    this.input.focus();
  }

  willUpdate() {
    const out = this.querySelector(".out");
    this.#reading = out !== null && out.scrollHeight - out.scrollTop - out.clientHeight > 40;
  }

  updated() {
    // New lines scroll the view down, unless it was scrolled up.
    const out = this.querySelector(".out");
    if (!out) return;
    if (this.#opens) this.input.focus();
    this.#opens = false;
    const entries = Object.entries(moment.value.view.console);
    const last = entries.at(-1);
    const mark = last ? `${last[0]} ${last[1].output.length} ${last[1].state}` : "";
    if (mark === this.#seen) return;
    const stays = this.#seen && this.#reading;
    this.#seen = mark;
    if (!stays) out.scrollTop = out.scrollHeight;
  }

  /** @param {string} command @param {ConsoleEntry} entry */
  #state(command, { state, exit_code }) {
    if (state === "running")
      return html`<span class="tag warn">${t("console.running")}</span>
        ${lineButton(html`■ ${t("console.interrupt")}`, `interrupt ${command}`)}`;
    return exit_code ? html`<span class="tag bad">${t("console.exit", { code: exit_code })}</span>` : "";
  }

  /** @param {[string, ConsoleEntry]} entry */
  #entry([command, entry]) {
    const { line, source, output, at_us } = entry;
    const text = [`$ ${line}`, ...output.map(printed)].join("\n");
    /** @param {string} one */
    const row = (one) => (ERROR_LINE.test(one) ? html`<span class="err">${printed(one)}</span>\n` : `${printed(one)}\n`);
    const label = t("console.copy");
    return html`<li>
      <div class="line">
        <span class="prompt" aria-hidden="true">$</span><span class="typed">${typed(line)}</span>
        <span class="by" title=${t("console.by", { who: welcome.value?.names[source] ?? source })}>${instant(at_us)}</span>
        ${this.#state(command, entry)}
        <button class="ghost" title=${label} aria-label=${label} @click=${() => copy(text, t("console.copied"))}>${icon("copy")}</button>
      </div>
      ${output.length ? html`<pre>${output.map(row)}</pre>` : ""}
    </li>`;
  }

  /** @param {string[]} offers */
  #completions(offers) {
    if (!offers.length) return "";
    /** @param {string} item @param {number} place */
    const one = (item, place) => html`<button role="option" aria-selected=${place === this.#chosen.value}
      @click=${() => this.#take(item)}>${item}</button>`;
    return html`<div class="offers" role="listbox" aria-label=${t("console.offers")}>${offers.slice(0, MAX_OFFERS).map(one)}</div>`;
  }

  render() {
    if (!consoleOpen.value) return html``;
    const title = t("console.title");
    const entries = Object.entries(moment.value.view.console)
      .filter(([command]) => Number(command) > this.#clearedTo.value)
      .sort(([a], [b]) => Number(a) - Number(b));
    return html`<div class="out" tabindex="0" role="log" aria-label=${title}>
        ${entries.length
          ? html`<ul>${repeat(entries, ([command]) => command, (entry) => this.#entry(entry))}</ul>`
          : html`<p class="dim">${t("console.empty")}</p>`}
      </div>
      ${this.#completions(this.#offers.value)}
      <form class="prompt-line" @submit=${onSubmit(() => {})}>
        <label class="prompt" for="console-line" aria-label=${title}>$</label>
        <input id="console-line" class="mono" autocomplete="off" autocapitalize="off" spellcheck="false"
          data-takes="act" placeholder=${t("console.placeholder")} @keydown=${this.#key} @input=${() => (this.#offers.value = [])}>
        <button type="button" class="ghost complete" data-takes="act" title=${t("console.complete")} aria-label=${t("console.complete")}
          @click=${this.#complete}>${icon("complete")}</button>
        <button type="button" class="ghost" title="${t("console.close")} ( C )" aria-label=${t("console.close")}
          @click=${toggleConsole}>${icon("close")}</button>
      </form>`;
  }
}
customElements.define("hw-console", HwConsole);
