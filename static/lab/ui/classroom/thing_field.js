// A field for a thing of the picture: chosen in the picture, where the page has one, or from a list of the same things.
import { signal } from "@preact/signals-core";
import { thingsOfTiles, withOthers } from "../../core/classroom/things.js";
import { HwElement, html } from "../kit/element.js";
import { onValue } from "../kit/events.js";
import { t } from "../kit/i18n.js";
import { targetsOf, thingName } from "../kit/things.js";
import { tiles } from "./store.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Things } from "../../core/classroom/things.js" */

/**
 * @typedef {{ things: () => Things[], isShown: () => boolean, pick: (take: (anchor: string) => void, ended: () => void) => () => void
 * }} Picture `pick`: the next thing that is pressed is taken, unless the pick has ended before; returns what ends it
 */

/** The picture of this page, which the page of a lab sets. @type {Signal<Picture | null>} */
const picture = signal(null);
/** @param {Picture} of */
export const setPicture = (of) => void (picture.value = of);
/** Whether this page has a picture, whichever of its screens is shown. */
export const hasPicture = () => picture.value !== null;

class HwThingField extends HwElement {
  static properties = {
    name: {}, label: {}, value: {}, optional: { type: Boolean }, answers: { attribute: false },
    chosen: { state: true }, listed: { state: true }, stop: { state: true },
  };

  constructor() {
    super();
    this.name = "answer";
    this.label = "";
    /** The answer given before. */
    this.value = "";
    this.optional = false;
    /** Anchors that are listed too. @type {string[]} */
    this.answers = [];
    /** @type {string | null} */
    this.chosen = null;
    /** @type {Things[]} */
    this.listed = [];
    /** Ends picking; null while nothing is picked. @type {(() => void) | null} */
    this.stop = null;
  }

  connectedCallback() {
    super.connectedCallback();
    this.#list();
    // The form is used for the next poll.
    this.closest("form")?.addEventListener("reset", () => (this.chosen = null));
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.stop?.();
  }

  /** @param {typeof tiles.value} all */
  #things(all) {
    return picture.peek()?.things() ?? thingsOfTiles(Object.values(all));
  }

  /** The list changes when it is looked at, and not while it is open. */
  #list() {
    this.listed = this.#things(tiles.peek());
  }

  #pick() {
    if (this.stop) return this.stop();
    this.stop = picture.peek()?.pick((anchor) => {
      this.#list();
      this.chosen = anchor;
      void this.updateComplete.then(() => this.focusOn("select"));
    }, () => (this.stop = null)) ?? null;
    return undefined;
  }

  /** @param {Things} things @param {string} chosen */
  #group({ type, ids }, chosen) {
    return html`<optgroup label=${t(`thing.kind.${type}`)}>${ids.map((id) => `${type}:${id}`).map((anchor) => html`<option
      value=${anchor} ?selected=${anchor === chosen}>${thingName(anchor)}</option>`)}</optgroup>`;
  }

  render() {
    const chosen = this.chosen ?? this.value;
    const listed = withOthers(this.listed.length ? this.listed : this.#things(tiles.value), targetsOf(this.answers));
    const isListed = listed.some(({ type, ids }) => ids.some((id) => `${type}:${id}` === chosen));
    const page = picture.value;
    return html`<label class="field">${this.label}<select name=${this.name} ?required=${!this.optional} .value=${chosen}
        @focusin=${() => this.#list()} @change=${onValue((value) => (this.chosen = value))}>
        <option value="" ?selected=${!chosen}>${t(this.optional ? "board.poll.not_known" : "thing.choose")}</option>
        ${chosen && !isListed ? html`<option value=${chosen} selected>${thingName(chosen)}</option>` : ""}
        ${listed.map((things) => this.#group(things, chosen))}</select></label>
      ${page?.isShown() ? html`<button type="button" class="btn small" aria-pressed=${this.stop ? "true" : "false"}
        @click=${() => this.#pick()}>${t(this.stop ? "thing.stop" : "thing.pick")}</button>` : ""}`;
  }
}
customElements.define("hw-thing-field", HwThingField);
