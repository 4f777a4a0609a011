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

  connectedCallback() {
    super.connectedCallback();
    this.requestUpdate();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#stop();
  }
}

const ICONS = new URL("../../icons.svg", import.meta.url).href;

/** A symbol of icons.svg, hidden from screen readers. */
export const icon = (name) => html`<svg class="ic" aria-hidden="true"><use href="${ICONS}#${name}"></use></svg>`;
