// Consuming: simple consumers that follow a partition from an offset, and what they read.
import { memberLag } from "../../core/view/groups.js";
import { nodesByKind, partitionNames } from "../../core/view/selectors.js";
import { act } from "../store/api.js";
import { HwElement, html, icon } from "../kit/element.js";
import { onSubmit, onValue } from "../kit/events.js";
import { brief, spaced } from "../kit/format.js";
import { t } from "../kit/i18n.js";
import { freeName, partitionChooser } from "./produce.js";
import { effect, moment, nodeTarget, partition, select, signal } from "../store/state.js";
import { term } from "../kit/words.js";

/** @import { ConsumedRecord, ConsumerNode, View } from "../../core/view/view.d.ts" */

const STARTS = ["earliest", "latest", "offset"];
const RECORDS_SHOWN = 6;

const form = signal({ partition: "", start: "earliest", offset: "0" });
/** @param {Partial<{ partition: string, start: string, offset: string }>} more */
const set = (more) => (form.value = { ...form.peek(), ...more });
effect(() => void (partition.value && set({ partition: partition.value })));

/** @param {string | null} text @param {number} most */
const orNull = (text, most) => (text === null ? html`<i>null</i>` : brief(text, most));

/** @param {View} view */
const consumers = (view) => nodesByKind(view).consumer.map((name) =>
  /** @type {[string, ConsumerNode]} */ ([name, view.nodes[name]]));

class HwConsumer extends HwElement {
  #follow() {
    const { view } = moment.value;
    const { partition: wanted, start, offset } = form.value;
    const name = wanted in view.partitions ? wanted : partitionNames(view, null)[0];
    act(`consumer follow ${freeName(view, "c")} ${name} --from ${start === "offset" ? offset : start}`);
  }

  /** @param {View} view @param {string} name @param {ConsumerNode} node */
  follower(view, name, node) {
    const { partition, position, high_watermark, last_reset, records, member, settings } = node;
    const lag = member ? memberLag(view, node) : high_watermark - position;
    const at = member || position < 0 ? "" : t("consume.at", { n: spaced(position) });
    const [of, end] = member ? [settings["group.id"], `consumer stop ${name}`] : [partition, `consumer unfollow ${name}`];
    /** @param {ConsumedRecord} record */
    const record = ([offset, , key, value]) => html`<li>
      <span class="dim mono">${offset}</span><span class="mono">${orNull(key, 14)}</span><span
        class="mono">${orNull(value, 34)}</span></li>`;
    return html`<div class="follower">
      <div class="row tight">
        <button class="pick" @click=${() => select(nodeTarget(name))}><b>${name}</b><span class="mono">${of}</span></button>
        <span class="spacer"></span>
        <span class="dim">${[at, lag > 0 ? t("consume.lag", { n: spaced(lag) }) : ""].filter(Boolean).join(" · ")}</span>
        <button class="ghost" data-takes="act" title=${end} aria-label=${t("act.unfollow")}
          @click=${() => act(end)}>${icon("close")}</button>
      </div>
      ${last_reset ? html`<p class="dim">${term(last_reset)}</p>` : ""}
      <ol class="records">${records.slice(-RECORDS_SHOWN).map(record)}</ol>
    </div>`;
  }

  render() {
    const { view } = moment.value;
    if (!partitionNames(view, null).length) return html`<p class="dim">${t("consume.no_topic")}</p>`;
    const { start, offset } = form.value;
    return html`<form class="panel-form" data-takes="act" @submit=${onSubmit(() => this.#follow())}>
        <div class="row tight">
          ${partitionChooser(view, form.value.partition, (name) => set({ partition: name }))}
          <select aria-label=${t("consume.from")} @change=${onValue((value) => set({ start: value }))}>
            ${STARTS.map((one) => html`<option value=${one} .selected=${one === start}>${t(`consume.${one}`)}</option>`)}
          </select>
          ${start === "offset" ? html`<input class="short" type="number" min="0" aria-label=${t("consume.offset")} .value=${offset}
            @input=${onValue((value) => set({ offset: value }))}>` : ""}
          <button class="btn small">${t("consume.follow")}</button>
        </div>
      </form>
      ${consumers(view).map(([name, node]) => this.follower(view, name, node))}`;
  }
}
customElements.define("hw-consumer", HwConsumer);
