// What dialogs have in common, and those that every page with a picture has: find, and the list of keys.
import { overlay } from "../store/api.js";
import { html } from "../kit/element.js";
import { onSubmit, onValue } from "../kit/events.js";
import { findPlaces } from "./find.js";
import { t } from "../kit/i18n.js";
import { keys, keysOn } from "../store/keys.js";
import { effect, moment, signal } from "../store/state.js";

/** @import { FoundPlace } from "./find.js" */

/** What is searched for. */
const query = signal("");
effect(() => {
  if (overlay.value?.kind === "find") query.value = "";
});

export const close = () => void (overlay.value = null);

/** A click beside the dialog. @param {() => void} act @returns {(event: Event) => void} */
const onBackdrop = (act) => ({ target, currentTarget }) => {
  if (target === currentTarget) act();
};

/** @param {string} title @param {unknown} body @param {() => void} [onClose] */
export const dialog = (title, body, onClose = close) => html`
  <dialog aria-label=${title} @close=${onClose} @click=${onBackdrop(onClose)}>
    <div class="dialog"><h2>${title}</h2>${body}</div>
  </dialog>`;

/** What had the focus before a dialog opened. @type {Element | null} */
let opener = null;

/**
 * Opens the dialog that an element has rendered. When one is removed, the focus returns to what had it before: the browser
 * does that only for dialogs that are closed.
 * @param {HTMLElement} element
 */
export function openIn(element) {
  const made = element.querySelector("dialog");
  if (made && !made.open) {
    opener = document.activeElement;
    made.showModal();
  } else if (!made && opener) {
    // The contents of an empty picture are removed with it.
    const back = opener.isConnected && !opener.closest("hw-empty") ? opener : document.getElementById("main");
    if (back instanceof HTMLElement && document.activeElement === document.body) back.focus();
    opener = null;
  }
}

export function findDialog() {
  const places = findPlaces(moment.value.view, query.value);
  /** @param {FoundPlace} [place] */
  const go = (place) => {
    close();
    place?.go();
  };
  return dialog(t("find.title"), html`<form class="field" @submit=${onSubmit(() => go(places[0]))}>
    <input class="mono" aria-label=${t("find.title")} placeholder=${t("find.placeholder")} autocomplete="off" spellcheck="false"
      @input=${onValue((value) => (query.value = value))}>
    <ul class="list found">${places.map((place) => html`<li>
      <button type="button" class="rpc" @click=${() => go(place)}>${place.label}</button></li>`)}</ul>
    ${query.value && !places.length ? html`<p class="dim">${t("find.none")}</p>` : ""}
  </form>`);
}

export function helpDialog() {
  /** @param {{ key: string, name: string }} entry */
  const row = ({ key, name }) => html`<div>
    <span>${key.split(" ").map((one) => html`<kbd>${one}</kbd> `)}</span><span>${t(`key.${name}`)}</span></div>`;
  return dialog(t("help.title"), html`<div class="keys" tabindex="-1" autofocus>${keys().map(row)}</div>
    <label class="row start">
      <input type="checkbox" .checked=${keysOn.value} @change=${() => (keysOn.value = !keysOn.value)}>
      <span>${t("help.single_keys")}</span></label>
    <p class="dim">${t("help.note")}</p>
    <div class="row"><button class="btn pri" @click=${close}>${t("dialog.close")}</button></div>`);
}
