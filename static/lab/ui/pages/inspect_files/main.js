// The page /inspect/: the visitor's files, read in the browser. They are not sent anywhere.
import { HwElement, byId, html, icon, repeat } from "../../kit/element.js";
import { t } from "../../kit/i18n.js";
import "./batch.js";
import { add, cancel, choose, chosen, clear, column, showFault, signal, state } from "./client.js";
import "./list.js";
import { SAMPLE } from "./sample.js";
import { ruleName, sentence, shortName, size } from "./texts.js";

/** @import { Given } from "../../../own_files/own_files.js" */
/** @import { Kind } from "../../../own_files/names.js" */
/** @import { FileState } from "./client.js" */

const MAX_FILES = 5000;
const COLUMN_NAMES = ["files", "content", "batch"];
const NAMES = [".log", ".index", ".timeindex", ".txnindex", ".snapshot", "leader-epoch-checkpoint", "partition.metadata",
  "…-offset-checkpoint"];
/** @type {Record<Kind, string>} */
const SIGNS = { log: "L", index: "I", timeindex: "T", txnindex: "X", snapshot: "P", epochs: "E", offsets: "C", properties: "M",
  foreign: "?" };

/**
 * Files of a dialog, with the folder they were in as far as the browser reports it.
 * @param {Iterable<File> | null} list
 * @returns {Given[]}
 */
const chosenFiles = (list) => [...(list ?? [])].slice(0, MAX_FILES).map((source) => {
  const path = source.webkitRelativePath || source.name;
  return { source, name: source.name, folder: path.split("/").slice(0, -1).join("/") };
});

/** @param {FileSystemEntry} entry @returns {Promise<File | null>} */
const fileOf = (entry) => new Promise((resolve) => /** @type {FileSystemFileEntry} */ (entry).file(resolve, () => resolve(null)));

/**
 * The next entries of a folder, empty after the last.
 * @param {FileSystemDirectoryReader} reader
 * @returns {Promise<FileSystemEntry[]>}
 */
const someEntries = (reader) => new Promise((resolve) => reader.readEntries(resolve, () => resolve([])));

/** The dropped files, with those in folders and their folders. @param {DataTransfer} dropped */
async function droppedFiles({ items, files }) {
  const entries = [...items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  /** @type {Given[]} */
  const found = [];
  /** @param {FileSystemEntry} entry @param {string} folder @returns {Promise<void>} */
  const walk = async (entry, folder) => {
    if (found.length >= MAX_FILES) return;
    if (entry.isFile) {
      const source = await fileOf(entry);
      if (source) found.push({ source, name: entry.name, folder });
      return;
    }
    const reader = /** @type {FileSystemDirectoryEntry} */ (entry).createReader();
    const inside = folder ? `${folder}/${entry.name}` : entry.name;
    for (;;) {
      const some = await someEntries(reader);
      if (!some.length) return;
      for (const one of some) await walk(one, inside);
    }
  };
  const plain = entries.length ? [] : chosenFiles(files);
  for (const entry of entries) await walk(entry, "");
  return [...found, ...plain];
}

/** The files that come with the page: a partition as a crash left it. */
const sampleFiles = () => Object.entries(SAMPLE.files).map(([name, content]) => ({
  source: new Blob([Uint8Array.from(atob(content), (char) => char.charCodeAt(0))]), name, folder: SAMPLE.folder,
}));

class HwOwnFiles extends HwElement {
  #isOver = signal(false);

  connectedCallback() {
    super.connectedCallback();
    // The browser would open a file that is dropped outside the zone and leave the page.
    addEventListener("dragover", (event) => {
      event.preventDefault();
      this.#isOver.value = true;
    });
    addEventListener("dragleave", (event) => event.relatedTarget === null && (this.#isOver.value = false));
    addEventListener("drop", async (event) => {
      event.preventDefault();
      this.#isOver.value = false;
      if (event.dataTransfer) await add(await droppedFiles(event.dataTransfer));
    });
  }

  #pick = async (/** @type {Event} */ event) => {
    const field = /** @type {HTMLInputElement} */ (event.currentTarget);
    const given = chosenFiles(field.files);
    field.value = "";
    await add(given);
  };

  /** @param {string} files @param {string} folder @param {string} [className] */
  buttons(files, folder, className = "") {
    return html`<label class="btn ${className}">${icon("plus")}${files}<input class="sr" type="file" multiple @change=${this.#pick}></label>
      <label class="btn">${icon("plus")}${folder}<input class="sr" type="file" webkitdirectory multiple @change=${this.#pick}></label>`;
  }

  invitation() {
    const cells = [24, 25, 26, 27, 28, 29, 30, 31, 32, 33];
    return html`<div class="invite"><div class="zone ${this.#isOver.value ? "over" : ""}">
        <div class="strip" aria-hidden="true">${cells.map((n) => html`<i class=${n > 31 ? "open" : ""}>${n}</i>`)}<b></b></div>
        <h1>${t("own.title")}</h1>
        <p class="lead">${t("own.lead")}</p>
        <div class="row">${this.buttons(t("own.choose_files"), t("own.choose_folder"), "pri")}<button class="btn"
          @click=${() => add(sampleFiles())}>${icon("bulb")}${t("own.sample")}</button></div>
        <p class="names">${NAMES.map((name) => html`<span class="mono">${name}</span>`)}</p>
        <p class="private">${icon("lock")}<span><b>${t("own.private")}</b> ${t("own.private_more")}</span></p>
      </div></div>`;
  }

  /** @param {FileState} one @param {FileState | undefined} before the file above it */
  file(one, before) {
    const { id, name, kind, size: length, status, faults, notes } = one;
    const sign = faults ? html`<span class="tag bad" title=${t("own.faults_n", { n: faults })}>✕ ${faults}</span>`
      : status === "done" ? html`<span class=${notes ? "note" : "fine"}>${notes ? "!" : "✓"}</span>` : html`<span class="dim">…</span>`;
    const isNext = before && (kind === "log" || (one.base === null && before.base !== null));
    return html`<li class=${isNext ? "next" : ""}><button aria-current=${id === chosen.value ? "true" : "false"} title=${name}
      @click=${() => choose(id)}>
      <i class="kind ${kind}" aria-hidden="true">${SIGNS[kind]}</i><span class="mono name">${shortName(name)}</span>
      <span class="num dim">${size(length)}</span>${sign}</button></li>`;
  }

  files() {
    const { files } = state.value;
    const folders = [...new Set(files.map(({ folder }) => folder))];
    return folders.map((folder) => {
      const inside = files.filter((one) => one.folder === folder);
      return html`${folder ? html`<h3 class="folder mono">${icon("disk")}${folder}</h3>` : ""}
        <ul class="own-list">${repeat(inside, ({ id }) => id, (one, place) => this.file(one, inside[place - 1]))}</ul>`;
    });
  }

  progress() {
    const { busy, done, total } = state.value;
    if (!busy) return "";
    return html`<div class="part busy"><progress max=${Math.max(1, total)} value=${done} aria-label=${t("own.reading")}></progress>
      <div class="row"><span class="num dim" role="status">${t("own.progress", { done: size(done), total: size(total) })}</span><span
        class="spacer"></span>
      <button class="btn small" @click=${cancel}>${t("own.cancel")}</button></div></div>`;
  }

  faults() {
    const { faults, faultsTotal, files, busy } = state.value;
    /** @param {number} id */
    const nameOf = (id) => files.find((one) => one.id === id)?.name ?? "";
    return html`<section class="part faults"><h3>${t("own.faults")}<span class=${faultsTotal ? "tag bad" : ""}>${faultsTotal}</span></h3>
      ${faults.length ? "" : html`<p class="dim">${busy ? t("own.reading") : t("own.no_faults")}</p>`}
      <ol>${faults.map((fault) => html`<li><button @click=${() => showFault(fault)}>
        <span class="at"><b class=${["table_zeros", "log_missing", "cancelled"].includes(fault.rule)
          ? "note" : "broken"}>${ruleName(fault.rule)}</b>
          <span class="mono dim">${shortName(nameOf(fault.file))} @${fault.position}</span></span>
        <span>${sentence(fault)}</span></button></li>`)}</ol>
      ${faultsTotal > faults.length ? html`<p class="dim">${t("own.more_faults", { n: faultsTotal - faults.length })}</p>` : ""}</section>`;
  }

  updated() {
    byId("main").dataset.column = state.value.files.length ? column.value : "none";
  }

  render() {
    void column.value;
    if (!state.value.files.length) return this.invitation();
    return html`<nav class="columns seg" aria-label=${t("own.columns")}>${COLUMN_NAMES.map((name) =>
      html`<button aria-pressed=${column.value === name}
        @click=${() => (column.value = name)}>${t(`own.column.${name}`)}</button>`)}</nav>
      <aside class="own-files ${this.#isOver.value ? "over" : ""}" aria-label=${t("own.column.files")}>
        <div class="part adds">${this.buttons(t("own.more_files"), t("own.more_folder"))}<button class="btn"
          @click=${clear}>${t("own.clear")}</button></div>
        ${this.progress()}
        <div class="own-tree">${this.files()}</div>
        ${this.faults()}
        <p class="private">${icon("lock")}<span>${t("own.private")}</span></p>
      </aside>
      <section class="own-content" aria-label=${t("own.column.content")}><hw-own-content></hw-own-content></section>
      <aside class="own-batch" aria-label=${t("own.column.batch")}><hw-own-batch></hw-own-batch></aside>`;
  }
}
customElements.define("hw-own-files", HwOwnFiles);
