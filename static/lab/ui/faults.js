// What can be done to a broker or a link, as a menu: on the picture, in the list of brokers, by key.
import { act, overlay } from "./actions.js";
import { HwElement, html } from "./element.js";
import { t } from "./i18n.js";
import { moment, select } from "./state.js";
import { nodeName } from "./words.js";

/** Lines of the shell for each state that a broker can be in. */
const BROKER = {
  starting: ["kill"],
  up: ["kill", "stop", "freeze"],
  frozen: ["thaw", "kill"],
  down: ["start"],
};

export const linkKey = (a, b) => [a, b].sort().join("|");
const shellName = (node) => node.replace(/^b(\d+)$/, "$1");

/** The line that does something to a broker: "broker kill 1". */
export const brokerLine = (verb, node) => `broker ${verb} ${shellName(node)}`;
/** The line that cuts a link, or restores it when it is cut. */
export const linkLine = (view, a, b) => `link ${linkKey(a, b) in view.links ? "restore" : "cut"} ${shellName(a)} ${shellName(b)}`;

/** Everything that can be done to a node: {label, line, danger}. */
export function choices(view, node) {
  const it = view.nodes[node];
  if (!it) return [];
  if (it.kind === "producer") return [{ label: t("act.close_producer"), line: `producer close ${node}` }];
  if (it.kind === "consumer") return [{ label: t("act.unfollow"), line: `consumer unfollow ${node}` }];
  const own = (BROKER[it.state] ?? []).map((verb) => ({ label: t(`fault.${verb}`), line: brokerLine(verb, node), danger: verb === "kill" }));
  const peers = Object.keys(view.nodes).filter((other) => other !== node && ["broker", "zookeeper"].includes(view.nodes[other].kind));
  if (it.kind !== "broker" && it.kind !== "zookeeper") return own;
  return [...own, ...peers.map((other) => {
    const cut = linkKey(node, other) in view.links;
    return { label: t(cut ? "fault.restore" : "fault.cut", { a: nodeName(node), b: nodeName(other) }), line: linkLine(view, node, other) };
  })];
}

/** Opens the menu for a node or a link ("b1|b3") at a place of the window. */
export const openMenu = (x, y, what) => (overlay.value = { kind: "menu", x, y, what });

class HwFaultMenu extends HwElement {
  updated() {
    const menu = this.querySelector(".menu");
    if (!menu) return;
    const { width, height } = menu.getBoundingClientRect();
    const { x, y } = overlay.value;
    menu.style.left = `${Math.max(4, Math.min(x, innerWidth - width - 6))}px`;
    menu.style.top = `${Math.max(4, Math.min(y, innerHeight - height - 6))}px`;
    if (!menu.contains(document.activeElement)) menu.querySelector("button")?.focus();
  }

  #key(event) {
    const buttons = [...this.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement);
    const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (way) {
      event.preventDefault();
      buttons[(at + way + buttons.length) % buttons.length].focus();
    }
    event.stopPropagation();
    if (event.key === "Escape") overlay.value = null;
  }

  render() {
    const open = overlay.value;
    if (open?.kind !== "menu") return html``;
    const { view } = moment.value;
    const [a, b] = open.what.split("|");
    const list = b
      ? [{ label: t(linkKey(a, b) in view.links ? "fault.restore" : "fault.cut", { a: nodeName(a), b: nodeName(b) }), line: linkLine(view, a, b) }]
      : choices(view, a);
    const pick = (line) => {
      overlay.value = null;
      act(line);
    };
    return html`<div class="menu" role="menu" aria-label=${t("fault.menu", { what: open.what })} @keydown=${this.#key}
      @focusout=${(event) => this.contains(event.relatedTarget) || (overlay.value = null)}>
      <div class="cap">${b ? `${nodeName(a)} – ${nodeName(b)}` : nodeName(a)}</div>
      ${list.map(({ label, line, danger }) => html`<button role="menuitem" class=${danger ? "danger" : ""} title=${line} @click=${() => pick(line)}>${label}</button>`)}
      <button role="menuitem" @click=${() => ((overlay.value = null), select(b ? `link:${linkKey(a, b)}` : `node:${a}`))}>${t("fault.inspect")}</button>
    </div>`;
  }
}
customElements.define("hw-fault-menu", HwFaultMenu);
