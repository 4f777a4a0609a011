// The same facts as the picture, as tables: sortable, to be copied as CSV. The selection is the same.
import { durationText } from "../core/timemap.js";
import { copy } from "./actions.js";
import { HwElement, html, icon, repeat } from "./element.js";
import { set } from "./format.js";
import { t } from "./i18n.js";
import { effect, moment, nodeTarget, select, selection, shown, signal } from "./state.js";
import { roleTag } from "./parts.js";
import { nodeName, replicaRole } from "./words.js";

/** Columns: name in the texts, and the cell's value. Numbers sort as numbers. */
function tablesOf(view, at_us) {
  return [
    {
      name: "replicas",
      columns: ["partition", "broker", "role", "log_start", "leo", "hw", "epoch", "behind", "caught_up"],
      rows: Object.entries(view.replicas).map(([id, it]) => {
        const leader = view.replicas[`${it.partition}@b${view.partitions[it.partition]?.leader}`];
        const remote = leader?.remotes[it.node];
        const role = replicaRole(view, it);
        return {
          what: `replica:${id}`,
          cells: [it.partition, it.node, { sort: role, text: t(`role.${role}`), show: roleTag(role) }, it.log_start_offset, it.log_end_offset, it.high_watermark, it.leader_epoch,
            leader ? Math.max(0, leader.log_end_offset - it.log_end_offset) : "—",
            remote?.last_caught_up_us > 0 ? { sort: at_us - remote.last_caught_up_us, text: durationText(Math.max(0, at_us - remote.last_caught_up_us)) } : "—"],
        };
      }),
    },
    {
      name: "partitions",
      columns: ["partition", "leader", "epoch", "isr", "replicas", "state"],
      rows: Object.entries(view.partitions).map(([id, it]) => ({ what: `partition:${id}`, cells: [id, it.leader < 0 ? "—" : `b${it.leader}`, it.leader_epoch, set(it.isr), set(it.replicas), view.controller_partitions[id] ?? "—"] })),
    },
    {
      name: "nodes",
      columns: ["node", "kind", "state", "since", "parked"],
      rows: Object.entries(view.nodes).map(([id, it]) => ({
        what: nodeTarget(id),
        cells: [nodeName(id), t(`node.kind.${it.kind}`), t(`node.${it.state}`) + (it.kind === "broker" && it.broker_id === view.controller.broker ? ` · ${t("node.controller")}` : ""), { sort: it.since_us, text: durationText(at_us - it.since_us) }, Object.values(view.parked).filter(({ broker }) => broker === id).length],
      })),
    },
    {
      name: "rpcs",
      columns: ["rpc", "message", "source", "destination", "arrives"],
      rows: Object.entries(view.rpcs).map(([id, it]) => ({ what: `rpc:${id}`, cells: [id, it.label, it.source, it.destination, { sort: it.due_us, text: it.held || durationText(Math.max(0, it.due_us - at_us)) }] })),
    },
  ];
}

const sortKey = (cell) => (typeof cell === "object" ? cell.sort : cell);
const textOf = (cell) => String(typeof cell === "object" ? cell.text : cell);

function compare(a, b) {
  const [x, y] = [sortKey(a), sortKey(b)];
  return typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
}

const csv = ({ columns, rows }) => [columns, ...rows.map(({ cells }) => cells.map(textOf))].map((line) => line.map((cell) => (/[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(",")).join("\n");

class HwTable extends HwElement {
  #order = signal({});

  connectedCallback() {
    super.connectedCallback();
    effect(() => this.toggleAttribute("hidden", shown.value !== "table"));
  }

  table(table) {
    const [column, way] = this.#order.value[table.name] ?? [0, 1];
    const rows = table.rows.toSorted((a, b) => compare(a.cells[column], b.cells[column]) * way);
    const sort = (place) => (this.#order.value = { ...this.#order.value, [table.name]: [place, column === place ? -way : 1] });
    return html`<section class="facts-table"><h2>${t(`table.${table.name}`)}<span class="dim">${rows.length}</span><span class="spacer"></span>
        <button class="btn small" @click=${() => copy(csv({ ...table, rows }), t("table.copied"))}>${icon("copy")}${t("table.copy")}</button></h2>
      <div class="scroll-x"><table><thead><tr>${table.columns.map((name, place) => html`<th aria-sort=${place === column ? (way > 0 ? "ascending" : "descending") : "none"}><button @click=${() => sort(place)}>${t(`table.${name}`)}${place === column ? (way > 0 ? " ▲" : " ▼") : ""}</button></th>`)}</tr></thead>
      <tbody>${repeat(rows, ({ what }) => what, ({ what, cells }) => html`<tr class="pickable ${selection.value === what ? "on" : ""}" tabindex="0" @click=${() => select(what)} @keydown=${(event) => event.key === "Enter" && (event.preventDefault(), select(what))}>
        ${cells.map((cell) => html`<td>${cell?.show ?? textOf(cell)}</td>`)}</tr>`)}</tbody></table></div>
      ${rows.length ? "" : html`<p class="dim">${t("table.none")}</p>`}</section>`;
  }

  render() {
    if (shown.value !== "table") return html``;
    const { view, at_us } = moment.value;
    return html`<div class="tables" tabindex="0">${tablesOf(view, at_us).map((table) => this.table(table))}</div>`;
  }
}
customElements.define("hw-table", HwTable);
