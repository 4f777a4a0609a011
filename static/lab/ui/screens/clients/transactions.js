// The screen of transactions: transactional ids, the state machine of the coordinator, and their effect in the logs.
import { isReplaced, openPart, producersOf, transactionKeys, transactionalLogs } from "../../../core/view/transactions.js";
import { durationText } from "../../../core/player/timemap.js";
import { HwElement, html, svg } from "../../kit/element.js";
import { t } from "../../kit/i18n.js";
import { legend, link, nothing, ring } from "../../parts/common.js";
import { CHARTS, meaning, stateChart } from "../../kit/statechart.js";
import { effect, moment, nodeTarget, player, shown, signal } from "../../store/state.js";
import { term } from "../../kit/words.js";

/** @import { TransactionalLog } from "../../../core/view/transactions.js" */
/** @import { ProducerNode, View } from "../../../core/view/view.d.ts" */

/** The id that is shown, as "id@broker"; "" = the first. */
const chosen = signal("");

class HwTransactions extends HwElement {
  connectedCallback() {
    super.connectedCallback();
    effect(() => void this.toggleAttribute("hidden", shown.value !== "transactions"));
  }

  /**
   * A row of the table: a transactional id, its producers, and how much time its transaction has left.
   * @param {View} view
   * @param {string} key
   * @param {string} current
   * @param {number} at_us
   */
  row(view, key, current, at_us) {
    const it = view.transactions[key];
    const part = openPart(view, it, at_us);
    const clients = producersOf(view, it.transactional_id).map((name) => {
      const { producer_epoch: epoch, state } = /** @type {ProducerNode} */ (view.nodes[name]).transaction;
      const isFenced = epoch >= 0 && epoch < it.producer_epoch;
      return html`<span class="who">${link(nodeTarget(name), name)} <span class="dim">${term(state)}</span>${isFenced
        ? html`<span class="tag bad" title=${t("txn.fenced_title")}>${t("txn.fenced", { epoch })}</span>` : ""}</span>`;
    });
    return html`<tr class=${key === current ? "on" : ""}><th scope="row"><button class="member" aria-pressed=${key === current}
      @click=${() => (chosen.value = key)}><b class="mono">${it.transactional_id}</b></button></th>
      <td class="mono">${it.producer_id}</td><td class="mono">${it.producer_epoch}</td>
      <td>${it.state}${isReplaced(view, key) ? html` <span class="tag bad">${t("groups.replaced")}</span>` : ""}</td>
      <td>${part === null ? "—" : html`<span class="clock">${ring(part,
        "small")}${durationText((1 - part) * it.timeout_ms * 1000)}</span>`}</td>
      <td>${clients.length ? clients : html`<span class="dim">${t("txn.elsewhere")}</span>`}</td></tr>`;
  }

  /** @param {View} view @param {string[]} keys @param {string} current @param {number} at_us */
  ids(view, keys, current, at_us) {
    return html`<section aria-label=${t("txn.ids")}><h3>${t("txn.ids")}</h3><div class="scroll-x" tabindex="0"><table class="txns">
      <thead><tr>${["id", "producer_id", "epoch", "state", "left", "producers"].map((name) =>
        html`<th scope="col">${t(`txn.${name}`)}</th>`)}</tr></thead>
      <tbody>${keys.map((key) => this.row(view, key, current, at_us))}</tbody></table></div></section>`;
  }

  /** @param {View} view @param {string} key @param {number} at_us */
  chart(view, key, at_us) {
    const it = view.transactions[key];
    const { transactional_id, state } = it;
    const last = moment.value.mode === "pause" ? player.lastEvents : [];
    const changes = last.flatMap((event) => (event.kind === "TransactionTransitioned" ? [event.data] : []));
    const from = changes.findLast((one) => one.transactional_id === transactional_id)?.from_state;
    const label = t("controller.is", { what: transactional_id, state });
    return html`<section class="chart" aria-label=${t("txn.machine")}><h3>${it.transactional_id}
        <span class="dim">${t("groups.coordinator")} ${link(nodeTarget(it.coordinator),
          it.coordinator)} · ${link(`partition:${it.partition}`, it.partition)}</span></h3>
      <div class="chart-box">${CHARTS.transaction ? stateChart("transaction", { active: state, from, counts: {}, label }) : ""}
        <div class="meaning"><p><b class="mono">${it.state}</b> ${meaning("transaction", it.state)}</p>
        <p class="dim">${t("node.since", { time: durationText(at_us - it.since_us) })} · ${term(it.why)}</p></div></div></section>`;
  }

  /**
   * Log start to log end: what readers of committed records see, up to the high watermark, and the markers.
   * @param {TransactionalLog} log
   */
  strip({ start, end, high_watermark, last_stable_offset, markers, aborted }) {
    /** @param {number} offset */
    const at = (offset) => (end > start ? Math.min(100, Math.max(0, (100 * (offset - start)) / (end - start))) : 0);
    const one = end > start ? 100 / (end - start) : 0;
    return svg`<svg class="lag-strip txn" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect class="log" width="100" height="10"></rect><rect class="seen" width=${at(high_watermark)} height="10"></rect>
        <rect class="done" width=${at(last_stable_offset)} height="10"></rect>
      ${aborted.map(([offset, , , , first]) => svg`<rect class="aborted" x=${at(first)} width=${Math.max(0, at(offset) - at(first))}
        height="10"></rect>`)}
      ${markers.map(([offset, result]) => svg`<rect class="marker ${result}" x=${at(offset)} width=${Math.max(0.8, Math.min(one, 3))}
        height="10"></rect>`)}</svg>`;
  }

  /** @param {TransactionalLog} log @param {string[]} named */
  log(log, named) {
    const { partition, high_watermark, last_stable_offset, end, markers, aborted } = log;
    const held = high_watermark - last_stable_offset;
    return html`<article class="txn-log"><h4>${link(`partition:${partition}`, partition)} ${named.includes(partition)
      ? html`<span class="tag leads">${t("txn.in_it")}</span>` : ""}
        <span class="mono dim">LSO ${last_stable_offset} · HW ${high_watermark} · LEO ${end}</span>
        ${held > 0 ? html`<span class="behind">${t("txn.held", { n: held })}</span>` : ""}</h4>
      ${this.strip(log)}
      ${markers.length ? html`<p class="markers"><span class="dim">${t("txn.markers")}</span> ${markers.slice(-8)
        .map(([offset, result, id]) => html`<span class="tag mono ${result === "ABORT"
          ? "bad" : ""}">${offset} ${result} · ${id}</span>`)}</p>` : ""}
      ${aborted.length ? html`<p class="markers"><span class="dim"
        title=${t("txn.index_title")}>${t("txn.index")}</span> ${aborted.map(([offset, , id, , first]) =>
          html`<span class="tag mono">${t("txn.index_entry", { id, first, last: offset })}</span>`)}</p>` : ""}</article>`;
  }

  render() {
    if (shown.value !== "transactions") return html``;
    const { view, at_us } = moment.value;
    const keys = transactionKeys(view);
    if (!keys.length) return html`<div class="client-screen">${nothing(t("empty.transactions"))}<p
      class="empty-line"><code>producer open t1 --transactional-id pay</code></p></div>`;
    const key = keys.includes(chosen.value) ? chosen.value : keys[0];
    const named = view.transactions[key].partitions;
    const logs = transactionalLogs(view, named);
    return html`<div class="client-screen">${this.ids(view, keys, key, at_us)}${this.chart(view, key, at_us)}
      <section aria-label=${t("txn.logs")}><h3>${t("txn.logs")} <span class="dim">${t("txn.logs_said")}</span></h3>
        ${logs.length ? logs.map((log) => this.log(log, named)) : html`<p class="dim">${t("txn.no_logs")}</p>`}
        ${legend([["done", t("txn.legend_stable")], ["seen", t("txn.legend_held")], ["aborted", t("txn.legend_aborted")],
          ["COMMIT", "COMMIT"], ["ABORT", "ABORT"]])}
        </section></div>`;
  }
}
customElements.define("hw-transactions", HwTransactions);
