// The screen of producers: what waits in the accumulator, a queue for each partition, what is under way, and how it ended.
import { queuesOf } from "../core/groups.js";
import { nodesByKind } from "../core/selectors.js";
import { durationText } from "../core/timemap.js";
import { HwElement, html, svg } from "./element.js";
import { bytes } from "./format.js";
import { t } from "./i18n.js";
import { facts, link, nothing } from "./parts.js";
import { effect, moment, nodeTarget, select, selection, shown } from "./state.js";

const BATCH_SIZE = 16384;
const IN_FLIGHT_MOST = 5;
const SETTINGS = ["acks", "batch.size", "linger.ms", "retries", "max.in.flight.requests.per.connection", "enable.idempotence", "transactional.id", "delivery.timeout.ms"];

class HwProducers extends HwElement {
  connectedCallback() {
    super.connectedCallback();
    effect(() => this.toggleAttribute("hidden", shown.value !== "producers"));
  }

  batch({ sequence, count, size, state, retries, since_us, error }, most, at_us) {
    const kind = state === "sent" ? (retries ? "retried" : "sent") : "gathering";
    const fill = Math.min(100, Math.max(4, (100 * size) / most));
    return html`<li class="batch ${kind}" title=${t(`producers.is.${kind}`)}>
      ${svg`<svg class="fill" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true"><rect width=${fill} height="1"></rect></svg>`}
      <b class="mono">#${sequence}</b> <span>${t("producers.records", { n: count })}</span> <span class="mono dim">${bytes(size)}</span>
      <span class="dim">${t(`producers.is.${kind}`)}${state === "metadata" || state === "in flight" ? `: ${t(`producers.waits.${state}`)}` : ""} · ${durationText(Math.max(0, at_us - since_us))}</span>
      ${error ? html`<span class="mono bad">${error} ×${retries}</span>` : ""}</li>`;
  }

  queue(view, { partition, batches }, most, at_us) {
    const leader = view.partitions[partition]?.leader ?? -1;
    const waiting = batches.filter(({ state }) => state !== "sent").length;
    return html`<section class="batches" aria-label=${partition}>
      <h4>${link(`partition:${partition}`, partition)} ${leader < 0 ? "" : html`→ ${link(`broker:b${leader}`, `b${leader}`)}`}
        <span class="dim">${t("producers.queue", { waiting, sent: batches.length - waiting })}</span></h4>
      <ol>${batches.map((batch) => this.batch(batch, most, at_us))}</ol></section>`;
  }

  /** Requests under way to each leader, of as many as are allowed. */
  slots(view, producer, most) {
    const counts = {};
    for (const { partition, state } of Object.values(producer.batches)) {
      const leader = view.partitions[partition]?.leader ?? -1;
      if (state === "sent" && leader >= 0) counts[leader] = (counts[leader] ?? 0) + 1;
    }
    return Object.entries(counts).map(([leader, n]) => html`<p class="slots"><span class="mono">b${leader}</span>
      ${Array.from({ length: most }, (_, place) => html`<i class=${place < n ? "used" : ""}></i>`)}<span class="dim">${t("producers.under_way", { n, most })}</span></p>`);
  }

  producer(view, name, at_us) {
    const it = view.nodes[name];
    const queues = queuesOf(it);
    const setting = (key, otherwise) => Number(it.settings[key]) || otherwise;
    const what = nodeTarget(name);
    return html`<article class="producer ${selection.value === what ? "on" : ""}">
      <header class="clients-head"><button class="member" @click=${() => select(what)}><b>${name}</b></button>
        ${SETTINGS.filter((key) => key in it.settings).map((key) => html`<span class="tag mono">${key}=${it.settings[key]}</span>`)}
        ${it.rate ? html`<span class="tag">${t("producers.streams", { n: it.rate, partition: it.partition })}</span>` : ""}</header>
      <div class="producer-body"><div class="queues">
          ${queues.length ? queues.map((queue) => this.queue(view, queue, setting("batch.size", BATCH_SIZE), at_us)) : html`<p class="dim">${t("producers.idle")}</p>`}
          ${this.slots(view, it, setting("max.in.flight.requests.per.connection", IN_FLIGHT_MOST))}</div>
        ${facts([[t("producers.sent"), it.sent], [t("producers.acknowledged"), it.acknowledged], [t("producers.retried"), it.retried], [t("producers.failed"), it.failed],
          [t("producers.last_offset"), it.last_offset < 0 ? "—" : it.last_offset], [t("producers.latency"), it.last_latency_us ? durationText(it.last_latency_us) : "—"],
          it.last_error && [t("producers.last_error"), html`<span class="bad">${it.last_error}</span>`, true]])}</div>
    </article>`;
  }

  render() {
    if (shown.value !== "producers") return html``;
    const { view, at_us } = moment.value;
    const names = nodesByKind(view).producer;
    if (!names.length) return html`<div class="client-screen">${nothing(t("empty.producers"))}<p class="empty-line"><code>producer open p1 --acks all</code></p></div>`;
    return html`<div class="client-screen">${names.map((name) => this.producer(view, name, at_us))}</div>`;
  }
}
customElements.define("hw-producers", HwProducers);
