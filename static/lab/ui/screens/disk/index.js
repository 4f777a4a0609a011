// The disk screen: a broker's data folder as it was at the shown instant, and what one can see in it.
import { lossOf, namePieces } from "../../../core/bytes/disk.js";
import { internalLast } from "../../../core/view/selectors.js";
import { durationText } from "../../../core/player/timemap.js";
import { HwElement, html, icon, repeat } from "../../kit/element.js";
import { onKey } from "../../kit/events.js";
import { bytes } from "../../kit/format.js";
import { t } from "../../kit/i18n.js";
import { walkTabs } from "../../parts/tabs.js";
import { nothing, unlessMasked } from "../../parts/common.js";
import { EXAMPLE, MODES, brokersOf, folderOf, goTo, nameOf, pathOf, place, tree } from "../../store/disk.js";
import { effect, masked, moment, shown, signal } from "../../store/state.js";
import { GLYPH, nodeName, replicaRole } from "../../kit/words.js";

/** @import { DiskFile, DiskMode, Folder } from "../../store/disk.js" */
/** @import { Moment } from "../../store/state.js" */
/** @import { View } from "../../../core/view/view.d.ts" */

/** @typedef {{ press: () => void, open?: () => unknown, close?: () => unknown }} RowAction */

const PANELS = {
  bytes: () => html`<hw-disk-bytes></hw-disk-bytes>`,
  find: () => html`<hw-disk-find></hw-disk-find>`,
  loss: () => html`<hw-disk-loss></hw-disk-loss>`,
  past: () => html`<hw-disk-past></hw-disk-past>`,
  copy: () => html`<hw-disk-copy></hw-disk-copy>`,
};

/** A file's name, its leading zeros pale. @param {string} name */
export function fileName(name) {
  const [zeros, digits, rest] = namePieces(name);
  return html`<span class="file-name" title=${name}><i class="zeros">${zeros}</i>${digits}<i class="rest">${rest}</i></span>`;
}

/** A bar of a file's size: what is safe, and what a power loss would take. @param {Pick<DiskFile, "bytes" | "flushed">} file */
export const safetyBar = ({ bytes: size, flushed }) => html`<svg class="safety" viewBox="0 0 100 4" preserveAspectRatio="none"
  aria-hidden="true">
  <rect class="kept" width=${size ? (flushed / size) * 100 : 0} height="4"></rect>
  <rect class="lost" x=${size ? (flushed / size) * 100 : 0} width=${size ? ((size - flushed) / size) * 100 : 0} height="4"></rect></svg>`;

/** Of more folders only that of the shown file is open at first. */
const FOLDERS_OPEN = 12;

class HwDiskTree extends HwElement {
  /** Folders that were opened or closed by hand, and which of the two. */
  #chosen = signal(new Map());

  /** @param {string} name @returns {boolean} */
  #isOpen(name) {
    const { folders } = tree.value;
    return this.#chosen.value.get(name) ?? (folders.length <= FOLDERS_OPEN || !name || name === folderOf(place.value.path));
  }

  /** @param {string} name */
  #toggle(name) {
    this.#chosen.value = new Map(this.#chosen.value).set(name, !this.#isOpen(name));
  }

  /** @param {KeyboardEvent} event @param {RowAction} act */
  #key(event, act) {
    const rows = /** @type {HTMLElement[]} */ ([...this.querySelectorAll("[role=treeitem]")]);
    const at = rows.findIndex((row) => row === event.currentTarget);
    /** @param {HTMLElement | undefined} row */
    const go = (row) => row?.focus();
    /** @type {Record<string, () => unknown>} */
    const keys = {
      ArrowDown: () => go(rows[at + 1]),
      ArrowUp: () => go(rows[at - 1]),
      Home: () => go(rows[0]),
      End: () => go(rows.at(-1)),
      ArrowRight: () => act.open?.(),
      ArrowLeft: () => (act.close ? act.close() : go(rows.slice(0, at).findLast((row) => row.ariaLevel === "1"))),
      Enter: () => act.press(),
      " ": () => act.press(),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
  }

  /** @param {Folder} folder */
  folder({ name, files }) {
    const isOpen = this.#isOpen(name);
    const { broker } = place.value;
    const replica = moment.value.view.replicas[`${name}@${broker}`];
    const role = replica && replicaRole(moment.value.view, replica);
    const press = () => this.#toggle(name);
    const act = { press, open: () => isOpen || press(), close: () => isOpen && press() };
    const size = files.reduce((sum, file) => sum + file.bytes, 0);
    return html`<div role="treeitem" aria-level="1" aria-expanded=${isOpen} tabindex="-1" class="folder"
        @click=${press} @keydown=${onKey((event) => this.#key(event, act))}>
        <span class="twist">${isOpen ? "▾" : "▸"}</span>
        <b class="mono">${name ? `${name}/` : broker === EXAMPLE ? "" : t("disk.own_folder")}</b>
        ${role ? html`<span class="role ${role}" title=${t(`role.${role}`)}>${GLYPH[role]}</span>` : ""}
        <span class="mono dim size">${bytes(size)}</span></div>
      ${isOpen ? repeat(files, (file) => file.name, (file) => this.file(name, file)) : ""}`;
  }

  /** @param {string} folder @param {DiskFile} file */
  file(folder, { name, bytes: size, kind, segment, state, flushed }) {
    const path = pathOf(folder, name);
    const isOn = path === place.value.path;
    const press = () => goTo({ path, at: 0, mode: place.value.mode === "find" ? "bytes" : place.value.mode });
    const isSide = segment !== null && kind !== "log";
    const names = ["file", isSide ? "aside" : "", isOn ? "on" : "", state];
    return html`<div role="treeitem" aria-level="2" aria-selected=${isOn} tabindex=${isOn ? 0 : -1} class=${names.join(" ")}
      @click=${press} @keydown=${onKey((event) => this.#key(event, { press }))}>
      ${fileName(name)}
      ${state && kind === "log" ? html`<span class="life">${t(`disk.state.${state}`)}</span>` : ""}
      <span class="mono dim size">${bytes(size)}</span>
      ${flushed < size && !masked.value ? safetyBar({ bytes: size, flushed }) : ""}</div>`;
  }

  render() {
    const { folders } = tree.value;
    const sorted = [...folders].sort((a, b) => Number(a.name !== "") - Number(b.name !== "") || internalLast(a.name, b.name));
    return html`<div class="files" role="tree" aria-label=${t("disk.tree")}>${sorted.map((folder) => this.folder(folder))}</div>`;
  }
}
customElements.define("hw-disk-tree", HwDiskTree);

class HwDisk extends HwElement {
  connectedCallback() {
    super.connectedCallback();
    effect(() => {
      this.toggleAttribute("hidden", shown.value !== "disk");
    });
  }

  /** @param {View} view */
  brokers(view) {
    const { broker } = place.value;
    // The same segment on another broker, if it has it.
    /** @param {string} to */
    const choose = (to) => () => {
      const keep = to !== EXAMPLE && broker !== EXAMPLE;
      goTo({ broker: to, path: keep ? place.value.path : "", at: keep ? place.value.at : 0, find: keep ? place.value.find : "" });
    };
    /** @param {string} id @param {unknown} label */
    const button = (id, label) => html`<button aria-pressed=${id === broker} title=${id === EXAMPLE ? t("disk.example_title")
      : nodeName(id)}
      @click=${choose(id)}>${label}</button>`;
    return html`<span class="seg" role="group" aria-label=${t("disk.whose")}>
      ${brokersOf(view).map((id) => button(id, id))}${button(EXAMPLE,
        html`${icon("book")}<span class="word">${t("disk.example")}</span>`)}</span>`;
  }

  /** @param {Moment} moment */
  facts({ view, at_us }) {
    const { broker } = place.value;
    const node = view.nodes[broker];
    const { bytes: lost } = lossOf(tree.value.folders);
    const dirty = html`<button class="tag ${lost ? "warn" : "ok"}" @click=${() => goTo({ mode: "loss" })}>
      ${unlessMasked(lost ? t("disk.dirty", { n: bytes(lost) }) : t("disk.clean"))}</button>`;
    if (!node) return html`<span class="facts">${broker === EXAMPLE ? html`<span class="dim">${t("disk.example_note")}</span>`
      : ""}${dirty}</span>`;
    const isController = node.broker_id === view.controller.broker;
    return html`<span class="facts"><b>${nodeName(broker)}</b>
      <span class="dim">${t(`node.${node.state}`)} ${durationText(Math.max(0, at_us - node.since_us))}</span>
      ${isController ? html`<span class="tag">${t("node.controller")}</span>` : ""}${dirty}</span>`;
  }

  modes() {
    const { mode } = place.value;
    /** @param {DiskMode} name */
    const choose = (name) => goTo({ mode: name });
    return html`<div class="modes" role="tablist" aria-label=${t("disk.modes")}
      @keydown=${onKey((event) => walkTabs(event, MODES, mode, choose))}>
      ${MODES.map((name) => html`<button role="tab" aria-selected=${name === mode} aria-controls="disk-panel" tabindex=${name === mode
        ? 0 : -1}
        @click=${() => choose(name)}>${t(`disk.mode.${name}`)}</button>`)}</div>`;
  }

  render() {
    if (shown.value !== "disk") return html``;
    const now = moment.value;
    const { broker, path, mode } = place.value;
    if (broker !== EXAMPLE && !brokersOf(now.view).length) return nothing(t("empty.loading"));
    return html`<div class="disk-bar">${this.brokers(now.view)}${this.facts(now)}</div>
      <div class="disk">
        <aside class="disk-side" aria-label=${t("disk.tree")}><hw-disk-tree></hw-disk-tree></aside>
        <div class="disk-main">
          ${this.modes()}
          <div class="disk-panel ${mode}" id="disk-panel" role="tabpanel"
            aria-label="${t(`disk.mode.${mode}`)}: ${folderOf(path)} ${nameOf(path)}">
            ${PANELS[mode]()}</div>
        </div>
      </div>`;
  }
}
customElements.define("hw-disk", HwDisk);
