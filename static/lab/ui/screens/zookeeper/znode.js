// One znode: its data and the last change to it, its versions, owner, watchers and purpose.
import { dataLines, diffLines, kindOf } from "../../../core/view/znode.js";
import { copy } from "../../store/api.js";
import { explain } from "../../store/changes.js";
import { offerLine } from "../../store/console.js";
import { HwElement, html, icon } from "../../kit/element.js";
import { instant } from "../../kit/format.js";
import { t } from "../../kit/i18n.js";
import { facts } from "../../parts/common.js";
import { moment, selection, signal, split } from "../../store/state.js";
import { seek } from "../../store/time.js";
import { watcherChips } from "./tree.js";
import { escapeKey, inline, nodeName } from "../../kit/words.js";

/** @import { View, Znode } from "../../../core/view/view.d.ts" */
/** @import { DiffLine } from "../../../core/view/znode.js" */

/** @type {Record<DiffLine["mark"], string>} */
const MARKS = { " ": "", "+": "new", "-": "old" };

class HwZnode extends HwElement {
  /** Whether the lines that the last change removed are also shown. */
  #diff = signal(true);

  /** @param {Znode} node */
  lines({ data, previous }) {
    const now = dataLines(data);
    /** @type {DiffLine[]} */
    const lines = this.#diff.value && previous !== null ? diffLines(dataLines(previous), now) : now.map((text) => ({ mark: " ", text }));
    if (!lines.length) return html`<p class="dim">${t("tree.no_data")}</p>`;
    return html`<pre class="mono znode-data">${lines.map(({ mark, text }) =>
      html`<span class=${MARKS[mark]}><i>${mark}</i>${text}</span>`)}</pre>`;
  }

  /** @param {Znode} node */
  choice({ version }) {
    /** @param {boolean} shown */
    const press = (shown) => () => (this.#diff.value = shown);
    return html`<span class="seg" role="group" aria-label=${t("znode.shown")}>
      <button aria-pressed=${!this.#diff.value} @click=${press(false)}>${t("znode.plain")}</button>
      <button aria-pressed=${this.#diff.value} @click=${press(true)}>${t("znode.diff", { version: version - 1 })}</button></span>`;
  }

  /** @param {View} view @param {string} path */
  watchers(view, path) {
    const watches = Object.entries(view.watches[path] ?? {});
    if (!watches.length) return html`<span class="dim">${t("znode.unwatched")}</span>`;
    return html`<span class="watch-list">${watches.map(([node, kinds]) => html`<span>${nodeName(node)}
      <span class="dim">${kinds.map((kind) => t(`tree.of.${kind}`)).join(", ")}</span></span>`)}</span>`;
  }

  /** @param {View} view @param {string} path @param {Znode} node */
  known(view, path, node) {
    /** @param {string} verb @param {string} [rest] */
    const offer = (verb, rest = "") => html`<button class="btn small ${verb === "delete" ? "danger" : ""}"
      @click=${() => offerLine(`zk ${verb} ${path}${rest}`)}>zk ${verb}</button>`;
    const kind = kindOf(path);
    return html`${kind ? html`<p class="about">${inline(t(`znode.about.${kind}`))}</p>` : ""}
      <div class="data-head">${node.previous === null ? "" : this.choice(node)}
        <button class="ghost" title=${t("tree.copy")} aria-label=${t("tree.copy")}
          @click=${() => copy(node.data, t("tree.copied"))}>${icon("copy")}</button></div>
      ${this.lines(node)}
      ${facts([
        [t("tree.version"), html`<b>${node.version}</b>`],
        ["czxid", node.czxid],
        ["mzxid", node.zxid],
        node.ephemeral && [t("tree.ephemeral"), `${node.ephemeral}${node.session ? ` · ${t("znode.session", { n: node.session })}` : ""}`],
        [t("znode.written"), html`<button class="val mono" title=${t("znode.go")}
          @click=${() => seek(node.at_us)}>${instant(node.at_us)}</button>
          <button class="btn small" @click=${() => explain(`/zk/${escapeKey(path)}`)} title=${t("why.title")}>${t("znode.why")}</button>`,
            true],
        [t("znode.watched"), this.watchers(view, path), true],
      ])}
      <div class="row">${offer("stat")}${offer("set", ` '${node.data}'`)}${offer("delete")}</div>`;
  }

  render() {
    const { view } = moment.value;
    const [type, path] = split(selection.value);
    if (type !== "znode" || !Object.keys(view.zk).length) return html``;
    const node = view.zk[path];
    return html`<section class="sec data"><h3 class="as-is">${path}<span>${watcherChips(view, path)}</span></h3>
      ${node ? this.known(view, path, node) : html`<p class="dim">${t(path === "/" ? "znode.root" : "tree.gone")}</p>`}
    </section><hw-why></hw-why>`;
  }
}
customElements.define("hw-znode", HwZnode);
