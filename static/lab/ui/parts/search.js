// The search field of the pages outside of a lab: finds lessons, runs and terms. `/` puts the cursor into it.
import { signal } from "@preact/signals-core";
import { HwElement, html, icon } from "../kit/element.js";
import { closest, onValue } from "../kit/events.js";
import { short, t } from "../kit/i18n.js";

/** @import { Signal } from "@preact/signals-core" */

/** @typedef {{ kind: "lesson" | "run" | "term", title: string, other: string, detail: string, address: string }} Found */

const SHOWN = 9;

/**
 * What matches best: all words must be there; the beginning of a title counts most, then its words, then the rest.
 * @param {Found[]} all
 * @param {string} asked
 * @returns {Found[]}
 */
export function matches(all, asked) {
  const words = asked.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const first = words.join(" ");
  /** @param {Found} one */
  const rank = ({ title, other, detail }) => {
    const name = title.toLowerCase();
    const whole = `${name} ${other.toLowerCase()} ${detail.toLowerCase()}`;
    if (!words.every((word) => whole.includes(word))) return 9;
    if (detail === first) return 0;
    if (name.startsWith(first) || other.toLowerCase().startsWith(first)) return 1;
    return words.every((word) => name.includes(word) || other.toLowerCase().includes(word)) ? 2 : 3;
  };
  return all.map((one) => /** @type {const} */ ([rank(one), one])).filter(([at]) => at < 9).sort(([a], [b]) => a - b)
    .slice(0, SHOWN).map(([, one]) => one);
}

class HwSearch extends HwElement {
  /** @type {Signal<Found[]>} */
  #all = signal([]);
  #asked = signal("");
  #open = signal(false);
  #chosen = signal(0);
  #loads = false;

  connectedCallback() {
    super.connectedCallback();
    addEventListener("keydown", this.#shortcut);
    addEventListener("pointerdown", this.#leave);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    removeEventListener("keydown", this.#shortcut);
    removeEventListener("pointerdown", this.#leave);
  }

  #shortcut = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (closest(event, "input:not([type=range]), textarea, select")) return;
    event.preventDefault();
    this.focusOn("input");
  };

  #leave = (/** @type {PointerEvent} */ event) => {
    if (!this.contains(/** @type {Node} */ (event.target))) this.#open.value = false;
  };

  async #load() {
    if (this.#loads) return;
    this.#loads = true;
    const response = await fetch("/api/find.json", { credentials: "same-origin" }).catch(() => null);
    if (response?.ok) this.#all.value = await response.json();
    else this.#loads = false;
  }

  /** @param {string} asked */
  #ask(asked) {
    this.#asked.value = asked;
    this.#chosen.value = 0;
    this.#open.value = Boolean(asked.trim());
    this.#load();
  }

  /** @param {KeyboardEvent} event @param {Found[]} found */
  #key(event, found) {
    const steps = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (steps && found.length) {
      event.preventDefault();
      this.#open.value = true;
      this.#chosen.value = (this.#chosen.value + steps + found.length) % found.length;
    } else if (event.key === "Enter" && found[this.#chosen.value]) {
      event.preventDefault();
      location.assign(found[this.#chosen.value].address);
    } else if (event.key === "Escape") {
      this.#open.value = false;
      /** @type {HTMLInputElement} */ (event.currentTarget).blur();
    }
  }

  /** @param {Found} found @param {number} place */
  #option({ kind, title, other, detail, address }, place) {
    const [name, grey] = short === "zh" && other ? [other, title] : [title, other];
    return html`<a id="found-${place}" role="option" href=${address} tabindex="-1" aria-selected=${place === this.#chosen.value}>
      <span class="kind">${t(`search.${kind}`)}</span><b dir="auto">${name}</b><span class="other">${grey}</span>
      ${kind === "term" ? html`<span class="detail">${detail}</span>` : html`<span class="mono dim">${detail}</span>`}</a>`;
  }

  render() {
    const found = matches(this.#all.value, this.#asked.value);
    const open = this.#open.value;
    return html`<div class="search-field">${icon("find")}
        <input type="search" role="combobox" autocomplete="off" spellcheck="false" placeholder=${t("search.title")}
          aria-label=${t("search.title")} aria-expanded=${open} aria-controls="search-found" aria-autocomplete="list"
          aria-activedescendant=${open && found.length ? `found-${this.#chosen.value}` : ""}
          @focus=${() => this.#load()} @input=${onValue((asked) => this.#ask(asked))}
          @keydown=${(/** @type {KeyboardEvent} */ event) => this.#key(event, found)}><kbd aria-hidden="true">/</kbd></div>
      <div class="search-found" id="search-found" role="listbox" aria-label=${t("search.title")} ?hidden=${!open || !found.length}>
        ${found.map((one, place) => this.#option(one, place))}</div>
      <div class=${open && !found.length ? "search-none" : "sr"} role="status">
        ${open ? (found.length ? t("search.found", { n: found.length }) : t("search.none")) : ""}</div>`;
  }
}
customElements.define("hw-search", HwSearch);
