// The console: lines of the shell's grammar, with history, completion, and what they printed.
import { act, copy } from "../store/api.js";
import { HwElement, html, icon, repeat } from "../kit/element.js";
import { instant } from "../kit/format.js";
import { t } from "../kit/i18n.js";
import { lineButton } from "../parts/common.js";
import { offered } from "../store/console.js";
import { consoleOpen, effect, moment, player, signal } from "../store/state.js";
import { complaint, typed } from "../kit/words.js";

const HISTORY_KEY = "highwater.console";
const HISTORY_MOST = 200;
const OFFERS_MOST = 60;
/** Lines of standard error begin so. */
const ERROR = /^! /;

class HwConsole extends HwElement {
  #history = JSON.parse(localStorage.getItem(HISTORY_KEY) ?? "[]");
  #place = this.#history.length;
  #draft = "";
  #offers = signal([]);
  #chosen = signal(-1);
  #clearedTo = signal(0);
  #from = 0;
  #seen = "";
  /** Had somebody scrolled up, before what is new came? */
  #reading = false;
  /** Shall the line have the focus, once it is there? */
  #opens = false;

  connectedCallback() {
    super.connectedCallback();
    effect(() => this.toggleAttribute("hidden", !consoleOpen.value));
    effect(() => document.getElementById("time").classList.toggle("with-console", consoleOpen.value));
    effect(() => {
      if (!consoleOpen.value) return;
      this.#seen = "";
      this.#opens = moment.peek().seq > 0;
    });
    effect(() => {
      const line = offered.value;
      if (!line) return;
      offered.value = "";
      requestAnimationFrame(() => this.offer(line));
    });
  }

  get input() {
    return this.querySelector("input");
  }

  offer(line) {
    this.input.value = line;
    this.input.focus();
  }

  async #send() {
    const line = this.input.value.trim();
    if (!line) return;
    this.#offers.value = [];
    this.#seen = "";
    this.input.value = "";
    if (this.#history.at(-1) !== line) this.#history.push(line);
    this.#history = this.#history.slice(-HISTORY_MOST);
    this.#place = this.#history.length;
    localStorage.setItem(HISTORY_KEY, JSON.stringify(this.#history));
    if (line === "clear") this.#clearedTo.value = Math.max(0, ...Object.keys(moment.value.view.console).map(Number));
    else if ((await act(line)) === null && !this.input.value) this.input.value = line;
  }

  #walk(direction) {
    if (this.#place === this.#history.length) this.#draft = this.input.value;
    this.#place = Math.min(this.#history.length, Math.max(0, this.#place + direction));
    this.input.value = this.#history[this.#place] ?? this.#draft;
    this.input.setSelectionRange(this.input.value.length, this.input.value.length);
  }

  #insert(item) {
    const cursor = this.input.selectionStart;
    const rest = this.input.value.slice(cursor);
    const start = this.input.value.slice(0, this.#from) + item;
    this.input.value = start + rest;
    this.input.setSelectionRange(start.length, start.length);
  }

  async #complete() {
    if (this.#offers.value.length) {
      this.#chosen.value = (this.#chosen.value + 1) % this.#offers.value.length;
      return;
    }
    const { value, selectionStart } = this.input;
    const { from, items } = await player.complete(value, selectionStart).catch(() => ({ from: 0, items: [] }));
    if (this.input.value !== value) return;
    this.#from = from;
    if (items.length === 1) this.#insert(items[0] + (items[0].endsWith("=") ? "" : " "));
    else if (items.length) {
      const common = items.reduce((a, b) => {
        let same = 0;
        while (same < a.length && a[same] === b[same]) same++;
        return a.slice(0, same);
      });
      if (common.length > selectionStart - from) this.#insert(common);
      this.#offers.value = items;
      this.#chosen.value = -1;
    }
  }

  #key(event) {
    const offers = this.#offers.value;
    if (event.key === "Tab" && !event.shiftKey && this.input.value) {
      event.preventDefault();
      this.#complete();
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (offers.length && this.#chosen.value >= 0) this.#take(offers[this.#chosen.value]);
      else this.#send();
    } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      event.preventDefault();
      this.#walk(event.key === "ArrowUp" ? -1 : 1);
    } else if (event.key === "Escape" && offers.length) {
      event.stopPropagation();
      this.#offers.value = [];
    } else if (event.key !== "Shift") this.#offers.value = [];
  }

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
    // New lines pull the view down, unless somebody has scrolled up to read.
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

  #state(command, { state, exit_code }) {
    if (state === "running")
      return html`<span class="tag warn">${t("console.running")}</span>
        ${lineButton(html`■ ${t("console.interrupt")}`, `interrupt ${command}`)}`;
    return exit_code ? html`<span class="tag bad">${t("console.exit", { code: exit_code })}</span>` : "";
  }

  #entry([command, entry]) {
    const { line, source, output, at_us } = entry;
    const text = [`$ ${line}`, ...output.map((one) => one.replace(ERROR, ""))].join("\n");
    const printed = (one) => (ERROR.test(one) ? html`<span class="err">${complaint(one)}</span>\n` : `${one}\n`);
    const label = t("console.copy");
    return html`<li>
      <div class="line">
        <span class="prompt" aria-hidden="true">$</span><span class="typed">${typed(line)}</span>
        <span class="by" title=${t("console.by", { who: source })}>${instant(at_us)}</span>
        ${this.#state(command, entry)}
        <button class="ghost" title=${label} aria-label=${label} @click=${() => copy(text, t("console.copied"))}>${icon("copy")}</button>
      </div>
      ${output.length ? html`<pre>${output.map(printed)}</pre>` : ""}
    </li>`;
  }

  #completions(offers) {
    if (!offers.length) return "";
    const one = (item, place) => html`<button role="option" aria-selected=${place === this.#chosen.value}
      @click=${() => this.#take(item)}>${item}</button>`;
    return html`<div class="offers" role="listbox" aria-label=${t("console.offers")}>${offers.slice(0, OFFERS_MOST).map(one)}</div>`;
  }

  render() {
    if (!consoleOpen.value) return html``;
    const title = t("console.title");
    const entries = Object.entries(moment.value.view.console)
      .filter(([command]) => command > this.#clearedTo.value)
      .sort(([a], [b]) => a - b);
    return html`<div class="out" tabindex="0" role="log" aria-label=${title}>
        ${entries.length
          ? html`<ul>${repeat(entries, ([command]) => command, (entry) => this.#entry(entry))}</ul>`
          : html`<p class="dim">${t("console.empty")}</p>`}
      </div>
      ${this.#completions(this.#offers.value)}
      <form class="prompt-line" @submit=${(event) => event.preventDefault()}>
        <label class="prompt" for="console-line" aria-label=${title}>$</label>
        <input id="console-line" class="mono" autocomplete="off" autocapitalize="off" spellcheck="false"
          placeholder=${t("console.placeholder")} @keydown=${this.#key} @input=${() => (this.#offers.value = [])}>
      </form>`;
  }
}
customElements.define("hw-console", HwConsole);
