// The screen of producers: the chosen partitions and why, the batches in the accumulator, those in flight, and the results.
import { batchesOf, queuesOf, slotsOf, usedMemory, waitedPart } from "../../../core/view/producers.js";
import { nodesByKind } from "../../../core/view/selectors.js";
import { durationText } from "../../../core/player/timemap.js";
import { HwElement, html } from "../../kit/element.js";
import { bytes } from "../../kit/format.js";
import { t } from "../../kit/i18n.js";
import { facts, fillBar, link, nothing, opener, ring } from "../../parts/common.js";
import { effect, moment, nodeTarget, select, selection, shown } from "../../store/state.js";
import { term } from "../../kit/words.js";

/** @import { Batch, Slot } from "../../../core/view/producers.js" */
/** @import { PartitionChoice, ProducerNode, View } from "../../../core/view/view.d.ts" */

/**
 * @typedef {(key: string, otherwise: number) => number} Setting
 * @typedef {{ partition: string, batches: Batch[] }} Queue
 * @typedef {{ most: number, lingerUs: number, at_us: number }} Limits `most`: bytes of a batch
 */

const BATCH_SIZE = 16384;
const BUFFER_MEMORY = 33554432;
const MAX_IN_FLIGHT = 5;
const CHOICES_SHOWN = 6;
/** Settings that have a drawing of their own are not named again. */
const TAGS = ["acks", "linger.ms", "batch.size", "compression.type", "retries", "delivery.timeout.ms", "transactional.id"];

class HwProducers extends HwElement {
  connectedCallback() {
    super.connectedCallback();
    effect(() => void this.toggleAttribute("hidden", shown.value !== "producers"));
  }

  /** The sequence numbers of a batch: "7–9". @param {Batch} batch */
  numbers({ base_sequence: first, count, producer_epoch: epoch }) {
    return first < 0 ? "" : html`<span class="mono seq"
      title=${t("producers.numbers_title")}>${t("producers.numbers", { first, last: first + count - 1, epoch })}</span>`;
  }

  /** @param {Batch} batch @param {Limits} limits */
  waiting(batch, { most, lingerUs, at_us }) {
    const { sequence, count, size, state, retries, due_us, since_us, error } = batch;
    const part = waitedPart(batch, lingerUs, at_us);
    const rest = part === null ? durationText(Math.max(0, at_us - since_us))
      : t("producers.left", { time: durationText(Math.max(0, due_us - at_us)) });
    return html`<li class="batch ${retries ? "retried" : "gathering"}">${fillBar(Math.min(100, Math.max(2, (100 * size) / most)))}
      ${part === null ? "" : ring(part, "small")}
      <b class="mono">#${sequence}</b> <span>${t("producers.records", { n: count })}</span> <span class="mono dim">${bytes(size)}</span>
      <span class="dim">${t(`producers.waits.${state}`)} · ${rest}</span>${this.numbers(batch)}
      ${error ? html`<span class="mono bad">${error} ×${retries}</span>` : ""}</li>`;
  }

  /** @param {View} view @param {ProducerNode} producer @param {Queue} queue @param {Limits} limits */
  queue(view, producer, { partition, batches }, limits) {
    const leader = view.partitions[partition]?.leader ?? -1;
    const [epoch, next] = producer.sequences[partition] ?? [-1, -1];
    return html`<section class="batches" aria-label=${partition}>
      <h4>${link(`partition:${partition}`, partition)} ${leader < 0 ? "" : html`→ ${link(`broker:b${leader}`, `b${leader}`)}`}
        ${epoch < 0 ? "" : html`<span class="mono seq"
          title=${t("producers.next_title")}>${t("producers.next", { n: next, epoch })}</span>`}</h4>
      ${batches.length ? html`<ol>${batches.map((batch) => this.waiting(batch, limits))}</ol>`
        : html`<p class="dim none">${t("producers.empty_queue")}</p>`}</section>`;
  }

  /** @param {View} view @param {ProducerNode} producer @param {Setting} setting @param {number} at_us */
  accumulator(view, producer, setting, at_us) {
    const queues = queuesOf(producer);
    const total = setting("buffer.memory", BUFFER_MEMORY);
    const limits = { most: setting("batch.size", BATCH_SIZE), lingerUs: setting("linger.ms", 0) * 1000, at_us };
    const used = usedMemory(producer, limits.most);
    return html`<section class="producer-part" aria-label=${t("producers.accumulator")}><h3>${t("producers.accumulator")}
        <span class="memory ${producer.blocked ? "bad" : "dim"}">${fillBar(Math.min(100, (100 * used) / total), "gauge")}
          <span class="mono">${t("producers.memory", { used: bytes(used), total: bytes(total) })}</span>
          ${producer.blocked ? html`<b>${t("producers.blocked")}</b>` : ""}</span></h3>
      ${queues.length ? html`<div class="queues">${queues.map((queue) => this.queue(view, producer, queue, limits))}</div>`
        : html`<p class="dim">${t("producers.idle")}</p>`}</section>`;
  }

  /**
   * How murmur2 is made positive; the Scala producer took Java's hash without its sign.
   * @param {string} kind
   * @param {number} hash
   * @param {number} count
   */
  hashed(kind, hash, count) {
    return kind === "random" ? `hashCode ${Math.abs(hash)} mod ${count}` : `murmur2 ${hash & 0x7fffffff} mod ${count}`;
  }

  /** @param {string} kind @param {PartitionChoice} choice */
  choice(kind, [partition, key, rule, hash, count]) {
    const name = html`<span class="mono">${key === null ? t("producers.no_key") : key}</span>`;
    const why = rule === "key" && hash !== null ? html`<span class="mono dim">${this.hashed(kind, hash, count)}</span>`
      : html`<span class="dim">${t(`producers.rule.${rule}`)}</span>`;
    return html`<li>${name} <span aria-hidden="true">→</span> ${why} <span
      aria-hidden="true">→</span> ${link(`partition:${partition}`, partition)}</li>`;
  }

  /** @param {ProducerNode} producer */
  partitioner({ choices, settings }) {
    const kind = settings.partitioner ?? "built-in";
    return html`<section class="producer-part" aria-label=${t("producers.partitioner")}><h3>${t("producers.partitioner")}
        <span class="tag mono">${kind}</span>${settings["partitioner.ignore.keys"]
          ? html`<span class="tag">${t("producers.ignores_keys")}</span>` : ""}
        <span class="dim">${t(`producers.partitioner_is.${kind}`)}</span></h3>
      ${choices.length ? html`<ol class="choices" reversed>${choices.slice(-CHOICES_SHOWN).reverse()
        .map((one) => this.choice(kind, one))}</ol>` : html`<p class="dim none">${t("producers.no_choice")}</p>`}</section>`;
  }

  /** A request in flight: which batches it carries, since when. @param {Slot} slot @param {number} at_us */
  request({ request, batches }, at_us) {
    const [first] = batches;
    return html`<li class="slot used ${first.retries ? "retried" : ""}"><b class="mono">${t("producers.request", { n: request })}</b>
      ${batches.map((batch) => html`<span class="mono">${batch.partition} ×${batch.count}</span>${this.numbers(batch)}`)}
      <span class="dim">${durationText(Math.max(0, at_us - first.since_us))}${first.retries
        ? ` · ${t("producers.attempt", { n: first.retries + 1 })}` : ""}</span></li>`;
  }

  /** @param {ProducerNode} producer @param {number} most @param {number} at_us */
  inFlight(producer, most, at_us) {
    const leaders = slotsOf(producer);
    return html`<section class="producer-part" aria-label=${t("producers.in_flight")}>
      <h3>${t("producers.in_flight")} <span class="tag mono">max ${most}</span></h3>
      ${leaders.map(({ leader, slots }) => html`<div class="flight">
        <h4>${link(`broker:${leader}`, leader)} <span class="dim">${t("producers.under_way", { n: slots.length, most })}</span></h4>
        <ol class="slots">${slots.map((slot) => this.request(slot, at_us))}
          ${Array.from({ length: Math.max(0, most - slots.length) }, () => html`<li class="slot" aria-hidden="true"></li>`)}</ol></div>`)}
      ${leaders.length ? "" : html`<p class="dim none">${t("producers.nothing_under_way")}</p>`}</section>`;
  }

  /** The producer id and epoch. @param {ProducerNode} producer */
  identity({ transaction: { state, producer_id: id, producer_epoch: epoch, why }, settings }) {
    if (settings["enable.idempotence"] !== "true") return html`<span class="tag">${t("producers.not_idempotent")}</span>`;
    const tone = state.endsWith("error") ? "bad" : "";
    return html`<span class="tag id" title=${t("producers.idempotent_title")}>${id < 0
      ? t("producers.no_id") : html`${t("producers.id")} <b class="mono">${id}</b> · ${t("producers.epoch")} <b
        class="mono">${epoch}</b>`}</span>
      ${state && (settings["transactional.id"] || tone) ? html`<span class="tag ${tone}" title=${term(why)}>${term(state)}</span>` : ""}`;
  }

  /** @param {View} view @param {string} name @param {ProducerNode} it @param {number} at_us */
  producer(view, name, it, at_us) {
    /** @type {Setting} */
    const setting = (key, otherwise) => (it.settings[key] === undefined ? otherwise : Number(it.settings[key]));
    const what = nodeTarget(name);
    const waiting = batchesOf(it).filter(({ state }) => state !== "sent").length;
    return html`<article class="producer ${selection.value === what ? "on" : ""}">
      <header class="clients-head"><button class="member" @click=${() => select(what)}><b>${name}</b></button>${this.identity(it)}
        ${TAGS.filter((key) => key in it.settings && it.settings[key] !== "2147483647")
          .map((key) => html`<span class="tag mono">${key}=${it.settings[key] === "-1" ? "all" : it.settings[key]}</span>`)}
        ${it.rate ? html`<span class="tag">${t("producers.streams", { n: it.rate, partition: it.partition })}</span>` : ""}</header>
      <div class="producer-body"><div class="producer-parts">
          ${this.partitioner(it)}${this.accumulator(view, it, setting, at_us)}
          ${this.inFlight(it, setting("max.in.flight.requests.per.connection", MAX_IN_FLIGHT), at_us)}</div>
        ${facts([[t("producers.waiting"), waiting], [t("producers.sent"), it.sent], [t("producers.acknowledged"), it.acknowledged],
          [t("producers.retried"), it.retried],
          [t("producers.failed"), it.failed], [t("producers.last_offset"), it.last_offset < 0 ? "—" : it.last_offset],
          [t("producers.latency"), it.last_latency_us ? durationText(it.last_latency_us) : "—"],
          it.last_error && [t("producers.last_error"), html`<span class="bad">${it.last_error}</span>`, true]])}</div>
    </article>`;
  }

  render() {
    if (shown.value !== "producers") return html``;
    const { view, at_us } = moment.value;
    const names = nodesByKind(view).producer;
    if (!names.length) return html`<div class="client-screen">${nothing(t("empty.producers"))}<p
      class="empty-line"><code>producer open p1 --linger 500</code></p>
      <p class="empty-line">${opener("producer", "pri")}</p></div>`;
    return html`<div class="client-screen"><header class="clients-head">${opener("producer")}</header>${names.map((name) =>
      this.producer(view, name, /** @type {ProducerNode} */ (view.nodes[name]), at_us))}</div>`;
  }
}
customElements.define("hw-producers", HwProducers);
