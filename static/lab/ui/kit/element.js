// The base of every element of the page: Lit in light DOM, redrawn when a signal that its render() read has changed.
import { LitElement, html, svg, nothing } from "lit";
import { effect } from "@preact/signals-core";

export { html, svg, nothing };
export { live, repeat } from "lit";

export class HwElement extends LitElement {
  #stop = () => {};

  // One stylesheet and the browser's search work, because nothing hides in a shadow root.
  createRenderRoot() {
    return this;
  }

  performUpdate() {
    if (!this.isUpdatePending) return;
    this.#stop();
    let first = true;
    this.#stop = effect(() => {
      if (first) super.performUpdate();
      else queueMicrotask(() => this.requestUpdate());
      first = false;
    });
  }

  /** Focuses the first element inside that matches. @param {string} selector */
  focusOn(selector) {
    const found = this.querySelector(selector);
    if (found instanceof HTMLElement) found.focus();
  }

  connectedCallback() {
    super.connectedCallback();
    this.requestUpdate();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#stop();
  }
}

/** Where the symbols are: a page that is one file has them in itself, under names that begin with this. */
const ICONS = document.documentElement.dataset.icons ?? `${new URL("../../icons.svg", import.meta.url).href}#`;

/** A symbol of icons.svg, hidden from screen readers. @param {string} name */
export const icon = (name) => html`<svg class="ic" aria-hidden="true"><use href="${ICONS}${name}"></use></svg>`;

/** An element that the page's template has, by its id. @param {string} id */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`no element #${id}`);
  return found;
}
