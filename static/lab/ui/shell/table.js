// The same facts as the picture, as tables: sortable, to be copied as CSV. The selection is the same.
import { internalLast, lagTime, leaderReplica, logEnd, parkedAt } from "../../core/view/selectors.js";
import { durationText } from "../../core/player/timemap.js";
import { copy } from "../store/api.js";
import { HwElement, html, icon, repeat } from "../kit/element.js";
import { onEnter } from "../kit/events.js";
import { set } from "../kit/format.js";
import { t } from "../kit/i18n.js";
import { effect, moment, nodeTarget, select, selection, shown, signal } from "../store/state.js";
import { roleTag } from "../parts/common.js";
import { labelled, nodeName, replicaRole, term } from "../kit/words.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { AnyNode, Partition, Replica, Rpc, View } from "../../core/view/view.d.ts" */

/**
 * @typedef {{ sort: string | number, text: string, show: unknown }} SortedCell
 * @typedef {string | number | SortedCell} Cell
 * @typedef {{ what: string, cells: Cell[] }} Row `what`: the selection that it represents
 * @typedef {{ name: string, columns: string[], rows: Row[] }} Table
 */

/**
 * A cell that shows one thing and sorts by another.
 * @param {string | number} sort
 * @param {string} text
 * @param {unknown} [show]
 * @returns {SortedCell}
 */
const by = (sort, text, show = text) => ({ sort, text, show });

/** @param {View} view @param {number} at_us @returns {(entry: [string, Replica]) => Row} */
const replicaRow = (view, at_us) => ([id, it]) => {
  const leader = view.partitions[it.partition] && leaderReplica(view, it.partition);
  const remote = leader?.remotes[it.node];
  const lag_us = leader && remote && remote.last_caught_up_us > 0 ? lagTime(leader, remote, at_us) : null;
  const role = replicaRole(view, it);
  return {
    what: `replica:${id}`,
    cells: [
      it.partition, it.node, by(role, t(`role.${role}`), roleTag(role)),
      it.log_start_offset, logEnd(view, it), it.high_watermark, it.leader_epoch,
      leader ? Math.max(0, logEnd(view, leader) - logEnd(view, it)) : "—",
      lag_us === null ? "—" : by(lag_us, durationText(lag_us)),
    ],
  };
};

/** @param {View} view @returns {(entry: [string, Partition]) => Row} */
const partitionRow = (view) => ([id, { leader, leader_epoch, isr, replicas }]) => ({
  what: `partition:${id}`,
  cells: [id, leader < 0 ? "—" : `b${leader}`, leader_epoch, set(isr), set(replicas), view.controller_partitions[id] ?? "—"],
});

/** @param {View} view @param {number} at_us @returns {(entry: [string, AnyNode]) => Row} */
const nodeRow = (view, at_us) => ([id, node]) => {
  const { kind, state, since_us } = node;
  const isController = node.kind === "broker" && node.broker_id === view.controller.broker;
  const words = [t(`node.${state}`), isController && t("node.controller")].filter(Boolean).join(" · ");
  return {
    what: nodeTarget(id),
    cells: [nodeName(id), t(`node.kind.${kind}`), words, by(since_us, durationText(at_us - since_us)), parkedAt(view, id).length],
  };
};

/** @param {number} at_us @returns {(entry: [string, Rpc]) => Row} */
const rpcRow = (at_us) => ([id, { label, source, destination, due_us, held }]) => ({
  what: `rpc:${id}`,
  cells: [id, labelled(label), source, destination, by(due_us, term(held) || durationText(Math.max(0, due_us - at_us)))],
});

/**
 * The tables: columns by their names in the texts, and rows with the selection of each. Numbers sort as numbers.
 * @param {View} view
 * @param {number} at_us
 * @returns {Table[]}
 */
const tablesOf = (view, at_us) => [
  {
    name: "replicas",
    columns: ["partition", "broker", "role", "log_start", "leo", "hw", "epoch", "behind", "caught_up"],
    rows: Object.entries(view.replicas).map(replicaRow(view, at_us)),
  },
  {
    name: "partitions",
    columns: ["partition", "leader", "epoch", "isr", "replicas", "state"],
    rows: Object.entries(view.partitions).map(partitionRow(view)),
  },
  {
    name: "nodes",
    columns: ["node", "kind", "state", "since", "parked"],
    rows: Object.entries(view.nodes).map(nodeRow(view, at_us)),
  },
  {
    name: "rpcs",
    columns: ["rpc", "message", "source", "destination", "arrives"],
    rows: Object.entries(view.rpcs).map(rpcRow(at_us)),
  },
];

/** @param {Cell} cell */
const sortKey = (cell) => (typeof cell === "object" ? cell.sort : cell);
/** @param {Cell} cell */
const textOf = (cell) => String(typeof cell === "object" ? cell.text : cell);

/** @param {Cell} a @param {Cell} b */
function compare(a, b) {
  const [x, y] = [sortKey(a), sortKey(b)];
  return typeof x === "number" && typeof y === "number" ? x - y : internalLast(String(x), String(y));
}

/** A cell of CSV, quoted when it has to be. @param {string} text */
const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** @param {Table} table */
const csv = ({ columns, rows }) =>
  [columns, ...rows.map(({ cells }) => cells.map(textOf))].map((line) => line.map(quoted).join(",")).join("\n");

class HwTable extends HwElement {
  /** Column and direction by table. @type {Signal<Record<string, [number, 1 | -1]>>} */
  #order = signal({});

  connectedCallback() {
    super.connectedCallback();
    effect(() => void this.toggleAttribute("hidden", shown.value !== "table"));
  }

  /** @param {string} table @param {string} name @param {number} place */
  heading(table, name, place) {
    const [column, way] = this.#order.value[table] ?? [0, 1];
    const isSorted = place === column;
    const sort = () => (this.#order.value = { ...this.#order.value, [table]: [place, isSorted && way > 0 ? -1 : 1] });
    return html`<th aria-sort=${isSorted ? (way > 0 ? "ascending" : "descending") : "none"}>
      <button @click=${sort}>${t(`table.${name}`)}${isSorted ? (way > 0 ? " ▲" : " ▼") : ""}</button></th>`;
  }

  /** @param {Row} row */
  row({ what, cells }) {
    return html`<tr class="pickable ${selection.value === what ? "on" : ""}" tabindex="0" @click=${() => select(what)}
      @keydown=${onEnter(() => select(what))}>
      ${cells.map((cell) => html`<td>${typeof cell === "object" ? cell.show : cell}</td>`)}</tr>`;
  }

  /** @param {Table} table */
  table(table) {
    const [column, way] = this.#order.value[table.name] ?? [0, 1];
    const rows = table.rows.toSorted((a, b) => compare(a.cells[column], b.cells[column]) * way);
    const copyAll = () => copy(csv({ ...table, rows }), t("table.copied"));
    return html`<section class="facts-table">
      <h2>${t(`table.${table.name}`)} <span class="dim">${rows.length}</span><span class="spacer"></span>
        <button class="btn small" @click=${copyAll}>${icon("copy")}${t("table.copy")}</button></h2>
      <div class="scroll-x"><table>
        <thead><tr>${table.columns.map((name, place) => this.heading(table.name, name, place))}</tr></thead>
        <tbody>${repeat(rows, ({ what }) => what, (row) => this.row(row))}</tbody>
      </table></div>
      ${rows.length ? "" : html`<p class="dim">${t("table.none")}</p>`}
    </section>`;
  }

  render() {
    if (shown.value !== "table") return html``;
    const { view, at_us } = moment.value;
    return html`<div class="tables" tabindex="0">${tablesOf(view, at_us).map((table) => this.table(table))}</div>`;
  }
}
customElements.define("hw-table", HwTable);
