// The znode tree, with the owners of ephemeral znodes and the watchers.
import { byName } from "../../../core/view/selectors.js";
import { keysOf } from "../../../core/view/patch.js";
import { nameParts } from "../../../core/view/znode.js";
import { copy } from "../../store/api.js";
import { previousValues } from "../../store/changes.js";
import { HwElement, html } from "../../kit/element.js";
import { onKey } from "../../kit/events.js";
import { t } from "../../kit/i18n.js";
import { nothing } from "../../parts/common.js";
import { moment, select, selection, signal, split, welcome } from "../../store/state.js";

/** @import { View, Znode } from "../../../core/view/view.d.ts" */

/** @typedef {{ view: View, children: Map<string, string[]>, znodes: View["zk"], chosen: string, touched: Set<string> }} Tree */

const OPEN_AT_FIRST = ["/", "/brokers", "/brokers/ids", "/brokers/topics"];
const DEEPEST = 9;
const lab = document.getElementById("lab");

/** The parent of a path: "/a/b" -> "/a", "/a" -> "/". @param {string} path */
const parentOf = (path) => path.slice(0, path.lastIndexOf("/")) || "/";

/** Children by path, made from a flat map of paths; ancestors of a known znode are included. @param {View["zk"]} znodes */
function childrenOf(znodes) {
  /** @type {Map<string, string[]>} */
  const children = new Map([["/", []]]);
  for (const path of Object.keys(znodes).sort(byName)) {
    for (let part = path; part !== "/"; part = parentOf(part)) {
      const siblings = children.get(parentOf(part));
      if (siblings?.includes(part)) break;
      if (siblings) siblings.push(part);
      else children.set(parentOf(part), [part]);
    }
  }
  return children;
}

/** The watchers of a znode, a chip for each; the controller's in its hue. @param {View} view @param {string} path */
export const watcherChips = (view, path) => Object.entries(view.watches[path] ?? {}).sort(([a], [b]) => byName(a, b))
  .map(([node, kinds]) => html`<i
  class="watcher ${view.nodes[node]?.broker_id === view.controller.broker ? "control" : ""}"
  title=${t("tree.watched_by", { who: node, what: kinds.map((kind) => t(`tree.of.${kind}`)).join(", ") })}>${node.replace(/^b/, "")}</i>`);

class HwTree extends HwElement {
  #open = signal(new Set(OPEN_AT_FIRST));

  /** @param {string} path */
  #toggle(path) {
    const open = new Set(this.#open.value);
    if (!open.delete(path)) open.add(path);
    this.#open.value = open;
  }

  // Arrow keys walk the tree as in a file manager; the rows of the page are the visible nodes in order.
  /** @param {KeyboardEvent} event @param {string} path @param {boolean} hasChildren */
  #key(event, path, hasChildren) {
    const rows = /** @type {HTMLElement[]} */ ([...this.querySelectorAll("[role=treeitem]")]);
    const at = rows.findIndex((row) => row === event.currentTarget);
    const isOpen = this.#open.value.has(path);
    /** @param {HTMLElement | undefined} row */
    const go = (row) => {
      row?.focus();
      if (row) select(`znode:${row.dataset.path}`);
    };
    const up = () => go(rows.find((row) => row.dataset.path === parentOf(path)));
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowDown: () => go(rows[at + 1]),
      ArrowUp: () => go(rows[at - 1]),
      ArrowRight: () => (hasChildren && !isOpen ? this.#toggle(path) : go(rows[at + 1])),
      ArrowLeft: () => (hasChildren && isOpen ? this.#toggle(path) : up()),
      Enter: () => select(`znode:${path}`),
      " ": () => this.#toggle(path),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
  }

  /** @param {string} path */
  #twist(path) {
    return (/** @type {Event} */ event) => {
      event.stopPropagation();
      this.#toggle(path);
    };
  }

  /**
   * @param {string} path
   * @param {number} depth
   * @param {Tree & { node: Znode | undefined, below: string[], isOpen: boolean }} row `below`: its children
   */
  row(path, depth, { view, node, below, isOpen, chosen, touched }) {
    const names = ["znode", `d${Math.min(depth, DEEPEST)}`, path === chosen ? "on" : "", touched.has(path) ? "touched" : ""];
    const owner = node?.ephemeral;
    const [name, sequence] = nameParts(path);
    return html`<div role="treeitem" class=${names.join(" ")} data-path=${path} tabindex=${path === (chosen || "/") ? 0 : -1}
      aria-level=${depth + 1} aria-selected=${path === chosen} aria-expanded=${below.length > 0 && isOpen}
      @click=${() => select(`znode:${path}`)} @keydown=${onKey((event) => this.#key(event, path, below.length > 0))}>
      <span class="twist" @click=${this.#twist(path)}>${below.length ? (isOpen ? "▾" : "▸") : ""}</span>
      <i class="kind ${owner ? "ephemeral" : sequence ? "sequence" : ""}" aria-hidden="true"></i>
      <span class="mono">${name}${sequence ? html`<b class="sequence" title=${t("tree.sequence")}>${sequence}</b>` : ""}</span>
      ${owner ? html`<span class="tag owner" title=${t("tree.ephemeral_of", { who: owner })}>${owner}${node.session
        ? html`<span class="session">#${node.session}</span>` : ""}</span>` : ""}
      ${below.length && !isOpen ? html`<span class="dim">${below.length}</span>` : ""}
      <span class="watchers">${watcherChips(view, path)}</span></div>`;
  }

  /** @param {string} path @param {number} depth @param {Tree} tree @returns {unknown[]} */
  rows(path, depth, tree) {
    const { children, znodes } = tree;
    const below = children.get(path) ?? [];
    const isOpen = this.#open.value.has(path);
    const row = this.row(path, depth, { ...tree, node: znodes[path], below, isOpen });
    return [row, ...(isOpen ? below.flatMap((child) => this.rows(child, depth + 1, tree)) : [])];
  }

  address() {
    const address = welcome.value?.zookeeper || lab?.dataset.zookeeper;
    if (!address) return "";
    return html`<p class="address"><span class="dim">${t("tree.address")}</span>
      <button class="val mono" title=${t("tree.copy_address")} @click=${() => copy(address, t("tree.copied"))}>${address}</button></p>`;
  }

  render() {
    const { view } = moment.value;
    const { zk: znodes } = view;
    if (!Object.keys(znodes).length) return nothing(t("empty.znodes"));
    const [kind, name] = split(selection.value);
    const chosen = kind === "znode" ? name : "";
    const touched = new Set([...previousValues().keys()].map(keysOf).filter(([part]) => part === "zk").map(([, path]) => path));
    const tree = { view, children: childrenOf(znodes), znodes, chosen, touched };
    return html`<div class="znodes" role="tree" aria-label=${t("tree.title")}>${this.rows("/", 0, tree)}</div>
      ${this.address()}`;
  }
}
customElements.define("hw-tree", HwTree);
