// The znode tree, with the data of the node that is chosen.
import { byName } from "../core/selectors.js";
import { keysOf } from "../core/patch.js";
import { copy } from "./actions.js";
import { previousValues } from "./changes.js";
import { offerLine } from "./console.js";
import { HwElement, html, icon } from "./element.js";
import { t } from "./i18n.js";
import { facts, nothing } from "./parts.js";
import { moment, select, selection, signal, split, welcome } from "./state.js";

const OPEN_AT_FIRST = ["/", "/brokers", "/brokers/ids", "/brokers/topics"];
const DEEPEST = 9;
const lab = document.getElementById("lab");

/** The parent of a path: "/a/b" -> "/a", "/a" -> "/". */
const parentOf = (path) => path.slice(0, path.lastIndexOf("/")) || "/";

/** Children by path, made from a flat map of paths; nodes above the first known one are there too. */
export function childrenOf(znodes) {
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

/** JSON of a znode over several lines; other data as it is. */
export function pretty(data) {
  try {
    const parsed = JSON.parse(data);
    return parsed !== null && typeof parsed === "object" ? JSON.stringify(parsed, null, 2) : data;
  } catch {
    return data;
  }
}

class HwTree extends HwElement {
  #open = signal(new Set(OPEN_AT_FIRST));

  #toggle(path) {
    const open = new Set(this.#open.value);
    if (!open.delete(path)) open.add(path);
    this.#open.value = open;
  }

  // Arrow keys walk the tree as in a file manager; the rows of the page are the visible nodes in order.
  #key(event, path, hasChildren) {
    const rows = [...this.querySelectorAll("[role=treeitem]")];
    const at = rows.indexOf(event.currentTarget);
    const isOpen = this.#open.value.has(path);
    const go = (row) => {
      row?.focus();
      if (row) select(`znode:${row.dataset.path}`);
    };
    const up = () => go(rows.find((row) => row.dataset.path === parentOf(path)));
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

  #twist(event, path) {
    event.stopPropagation();
    this.#toggle(path);
  }

  row(path, depth, { node, below, isOpen, chosen, touched }) {
    const names = ["znode", `d${Math.min(depth, DEEPEST)}`, path === chosen ? "on" : "", touched.has(path) ? "touched" : ""];
    const owner = node?.ephemeral;
    return html`<div role="treeitem" class=${names.join(" ")} data-path=${path} tabindex=${path === (chosen || "/") ? 0 : -1}
      aria-level=${depth + 1} aria-selected=${path === chosen} aria-expanded=${below.length > 0 && isOpen}
      @click=${() => select(`znode:${path}`)} @keydown=${(event) => this.#key(event, path, below.length > 0)}>
      <span class="twist" @click=${(event) => this.#twist(event, path)}>${below.length ? (isOpen ? "▾" : "▸") : ""}</span>
      <span class="mono ${owner ? "ephemeral" : ""}">${path.slice(path.lastIndexOf("/") + 1) || "/"}</span>
      ${owner ? html`<span class="tag" title=${t("tree.ephemeral_of", { who: owner })}>${owner}</span>` : ""}
      ${below.length && !isOpen ? html`<span class="dim">${below.length}</span>` : ""}</div>`;
  }

  rows(path, depth, context) {
    const { children, znodes } = context;
    const below = children.get(path) ?? [];
    const isOpen = this.#open.value.has(path);
    const row = this.row(path, depth, { ...context, node: znodes[path], below, isOpen });
    return [row, ...(isOpen ? below.flatMap((child) => this.rows(child, depth + 1, context)) : [])];
  }

  data(path, node) {
    const offer = (verb, rest = "") => html`<button class="btn small ${verb === "delete" ? "danger" : ""}"
      @click=${() => offerLine(`zk ${verb} ${path}${rest}`)}>zk ${verb}</button>`;
    const copyButton = html`<button class="ghost" title=${t("tree.copy")} aria-label=${t("tree.copy")}
      @click=${() => copy(node.data, t("tree.copied"))}>${icon("copy")}</button>`;
    return html`<section class="sec data"><h3 class="as-is">${path}<span>${node ? copyButton : ""}</span></h3>
      ${node
        ? html`<pre class="mono">${pretty(node.data) || html`<i class="dim">${t("tree.no_data")}</i>`}</pre>
          ${facts([[t("tree.version"), node.version], ["mzxid", node.zxid], node.ephemeral && [t("tree.ephemeral"), node.ephemeral]])}
          <div class="row">${offer("stat")}${offer("set", ` '${node.data}'`)}${offer("delete")}</div>`
        : html`<p class="dim">${t("tree.gone")}</p>`}
    </section>`;
  }

  address() {
    const address = welcome.value?.zookeeper || lab?.dataset.zookeeper;
    if (!address) return "";
    return html`<p class="address"><span class="dim">${t("tree.address")}</span>
      <button class="val mono" title=${t("tree.copy_address")} @click=${() => copy(address, t("tree.copied"))}>${address}</button></p>`;
  }

  render() {
    const { zk: znodes } = moment.value.view;
    if (!Object.keys(znodes).length) return nothing(t("empty.znodes"));
    const [kind, name] = split(selection.value);
    const chosen = kind === "znode" ? name : "";
    const touched = new Set([...previousValues().keys()].map(keysOf).filter(([part]) => part === "zk").map(([, path]) => path));
    const context = { children: childrenOf(znodes), znodes, chosen, touched };
    return html`<div class="znodes" role="tree" aria-label=${t("tree.title")}>${this.rows("/", 0, context)}</div>
      ${chosen ? this.data(chosen, znodes[chosen]) : ""}${this.address()}`;
  }
}
customElements.define("hw-tree", HwTree);
