// The znode tree, with the data of the node that is chosen.
import { HwElement, html, icon } from "./element.js";
import { t } from "./i18n.js";
import { previousValues } from "./changes.js";
import { moment, select, selection, signal, split, welcome } from "./state.js";
import { copy } from "./actions.js";
import { offerLine } from "./console.js";

const OPEN_AT_FIRST = ["/", "/brokers", "/brokers/ids", "/brokers/topics"];
const lab = document.getElementById("lab");

/** Children by path, made from a flat map of paths. The root is "/". */
export function childrenOf(znodes) {
  const children = new Map([["/", []]]);
  for (const path of Object.keys(znodes).sort((a, b) => a.localeCompare(b, "en", { numeric: true }))) {
    if (path === "/") continue;
    for (let part = path; part !== "/"; ) {
      const parent = part.slice(0, part.lastIndexOf("/")) || "/";
      const list = children.get(parent) ?? [];
      if (!children.has(parent)) children.set(parent, list);
      if (list.includes(part)) break;
      list.push(part);
      part = parent;
    }
  }
  return children;
}

/** JSON of a znode over several lines; other data as it is. */
export function pretty(data) {
  try {
    const parsed = JSON.parse(data);
    return typeof parsed === "object" && parsed !== null ? JSON.stringify(parsed, null, 2) : data;
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

  // Arrow keys walk the tree as in a file manager; the list in the page is the visible rows in order.
  #key(event, path, hasChildren) {
    const rows = [...this.querySelectorAll("[role=treeitem]")];
    const at = rows.indexOf(event.currentTarget);
    const open = this.#open.value.has(path);
    const go = (row) => row && (row.focus(), select(`znode:${row.dataset.path}`));
    const actions = {
      ArrowDown: () => go(rows[at + 1]),
      ArrowUp: () => go(rows[at - 1]),
      ArrowRight: () => (hasChildren && !open ? this.#toggle(path) : go(rows[at + 1])),
      ArrowLeft: () => (hasChildren && open ? this.#toggle(path) : go(rows.find((row) => row.dataset.path === (path.slice(0, path.lastIndexOf("/")) || "/")))),
      Enter: () => select(`znode:${path}`),
      " ": () => this.#toggle(path),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    actions[event.key]();
  }

  rows(path, depth, context) {
    const { children, znodes, chosen, touched } = context;
    const below = children.get(path) ?? [];
    const open = this.#open.value.has(path);
    const node = znodes[path];
    const row = html`<div role="treeitem" class="znode ${path === chosen ? "on" : ""} ${touched.has(path) ? "touched" : ""} d${Math.min(depth, 9)}" data-path=${path}
      tabindex=${path === (chosen || "/") ? 0 : -1} aria-level=${depth + 1} aria-selected=${path === chosen} aria-expanded=${below.length ? open : "false"}
      @click=${() => select(`znode:${path}`)} @keydown=${(event) => this.#key(event, path, below.length > 0)}>
      <span class="twist" @click=${(event) => (event.stopPropagation(), this.#toggle(path))}>${below.length ? (open ? "▾" : "▸") : ""}</span>
      <span class="mono ${node?.ephemeral ? "ephemeral" : ""}">${path === "/" ? "/" : path.slice(path.lastIndexOf("/") + 1)}</span>
      ${node?.ephemeral ? html`<span class="tag" title=${t("tree.ephemeral_of", { who: node.ephemeral })}>${node.ephemeral}</span>` : ""}
      ${below.length && !open ? html`<span class="dim">${below.length}</span>` : ""}</div>`;
    return [row, ...(open ? below.flatMap((child) => this.rows(child, depth + 1, context)) : [])];
  }

  render() {
    const { view } = moment.value;
    const [kind, name] = split(selection.value);
    const chosen = kind === "znode" ? name : "";
    const touched = new Set([...previousValues().keys()].filter((pointer) => pointer.startsWith("/zk/")).map((pointer) => pointer.split("/")[2].replaceAll("~1", "/").replaceAll("~0", "~")));
    if (!Object.keys(view.zk).length) return html`<p class="empty-note">${t("empty.znodes")}</p>`;
    const node = view.zk[chosen];
    const address = welcome.value?.zookeeper || lab?.dataset.zookeeper;
    return html`<div class="znodes" role="tree" aria-label=${t("tree.title")}>${this.rows("/", 0, { children: childrenOf(view.zk), znodes: view.zk, chosen, touched })}</div>
      ${chosen ? html`<section class="sec data"><h3 class="as-is">${chosen}<span><button class="ghost" title=${t("tree.copy")} aria-label=${t("tree.copy")} @click=${() => copy(node?.data ?? "", t("tree.copied"))}>${icon("copy")}</button></span></h3>
        ${node ? html`<pre class="mono">${pretty(node.data) || html`<i class="dim">${t("tree.no_data")}</i>`}</pre>
          <dl class="kv"><dt>${t("tree.version")}</dt><dd>${node.version}</dd><dt>mzxid</dt><dd>${node.zxid}</dd>${node.ephemeral ? html`<dt>${t("tree.ephemeral")}</dt><dd>${node.ephemeral}</dd>` : ""}</dl>
          <div class="row"><button class="btn small" @click=${() => offerLine(`zk stat ${chosen}`)}>zk stat</button><button class="btn small" @click=${() => offerLine(`zk set ${chosen} '${node.data}'`)}>zk set</button><button class="btn small danger" @click=${() => offerLine(`zk delete ${chosen}`)}>zk delete</button></div>`
          : html`<p class="dim">${t("tree.gone")}</p>`}</section>` : ""}
      ${address ? html`<p class="address"><span class="dim">${t("tree.address")}</span> <button class="val mono" title=${t("tree.copy_address")} @click=${() => copy(address, t("tree.copied"))}>${address}</button></p>` : ""}`;
  }
}
customElements.define("hw-tree", HwTree);
