// Data removed from a folder, and why: truncated, cleaned, or waiting to be deleted.
import { durationText } from "../../../core/player/timemap.js";
import { fileName } from "./index.js";
import { folderOf, goTo, nameOf, pathOf, place, tree } from "../../store/disk.js";
import { HwElement, html } from "../../kit/element.js";
import { bytes, instant, spaced, wall } from "../../kit/format.js";
import { has, language, t } from "../../kit/i18n.js";
import { moment, signal } from "../../store/state.js";
import { seek } from "../../store/time.js";
import { term } from "../../kit/words.js";

/** @import { Cleaned, Replica } from "../../../core/view/view.d.ts" */

/**
 * @typedef {Cleaned["fates"][number]} Fate
 * @typedef {Replica["repairs"][number]} Repair
 * @typedef {[string, [number, number]]} DeletedFile
 */

const STAYS = ["kept", "marker"];
/** Longer lists of files are folded. */
const MAX_OPEN = 4;

/** A fate or rule in the visitor's language; one without a text stays as it is. @param {string} family @param {string} name */
const word = (family, name) => (has(`${family}.${name.replaceAll(" ", "_")}`) ? t(`${family}.${name.replaceAll(" ", "_")}`) : name);

class HwDiskPast extends HwElement {
  /** The offset that the pointed record was superseded by. */
  #later = signal(-1);

  /** @param {number} at_us */
  when(at_us) {
    const { at_us: now } = moment.value;
    return html`<span class="when"><button class="val mono" title=${t("disk.past.go")}
      @click=${() => seek(at_us)}>${instant(at_us)}</button>
      <span class="dim">${t("disk.past.ago", { ago: durationText(Math.max(0, now - at_us)) })}</span>
      <button class="btn small" @click=${() => seek(Math.max(0, at_us - 1))}>${t("alarm.before")}</button></span>`;
  }

  /** @param {NonNullable<Replica["cut"]>} cut */
  cut({ from, to, at_us, why }) {
    const gone = Math.max(0, from - to);
    const cells = Array.from({ length: Math.min(gone, 40) }, (_, n) => to + n);
    return html`<section class="card past-cut"><h3>${t("disk.past.cut")} ${this.when(at_us)}</h3>
      <p>${t("disk.past.cut_said", { from, to, n: gone })} ${t("disk.past.because", { why: term(why) })}</p>
      ${cells.length ? html`<div class="cells">${cells.map((offset) => html`<span class="cell gone">${offset}</span>`)}
        ${gone > cells.length ? html`<span class="dim">+${gone - cells.length}</span>` : ""}</div>` : ""}</section>`;
  }

  /** @param {Cleaned} cleaned */
  cleaned({ at_us, from, to, groups, bytes: [bytesBefore, bytesAfter], records: [before, after], counts, fates, delete_horizon_ms }) {
    /** @param {number} later */
    const point = (later) => () => (this.#later.value = later);
    /** @param {Fate} fate */
    const cell = ([offset, fate, later]) => html`<span class="cell ${STAYS.includes(fate)
      ? "stays" : "gone"} ${fate.replaceAll(" ", "-")} ${offset === this.#later.value ? "later" : ""}"
      title=${later >= 0 ? t("disk.past.superseded_by", { offset, later }) : `${offset}: ${word("disk.fate", fate)}`}
      @mouseenter=${point(later)} @mouseleave=${point(-1)}>${offset}</span>`;
    const share = bytesBefore ? (bytesAfter / bytesBefore) * 100 : 0;
    const { path } = place.value;
    /** @param {number} base */
    const open = (base) => goTo({ mode: "bytes", path: pathOf(folderOf(path), `${String(base).padStart(20, "0")}.log`), at: 0 });
    return html`<section class="card past-cleaned"><h3>${t("disk.past.cleaned")} ${this.when(at_us)}</h3>
      <p>${t("disk.past.cleaned_said", { from, to, before, after, bytes_before: bytes(bytesBefore), bytes_after: bytes(bytesAfter) })}</p>
      <svg class="safety wide" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect class="kept" width=${share}
        height="4"></rect>
        <rect class="lost" x=${share} width=${100 - share} height="4"></rect></svg>
      <ul class="fates">${Object.entries(counts).filter(([, n]) => n)
        .map(([fate, n]) => html`<li><i class=${STAYS.includes(fate) ? "stays" : "gone"}></i>${word("disk.fate", fate)} <b
          class="mono">${n}</b></li>`)}</ul>
      <h4>${t("disk.past.before")}</h4><div class="cells">${fates.map(cell)}</div>
      <h4>${t("disk.past.after")}</h4><div class="cells">${fates.filter(([, fate]) => STAYS.includes(fate) || fate === "no key")
        .map(cell)}</div>
      <h4>${t("disk.past.groups")}</h4>
      <ul class="groups">${groups.map(({ segment, bytes: size, sources }) => html`<li>
        ${sources.map(([base, old]) => html`<span class="segment"><b class="mono">${base}</b><span
          class="mono dim">${bytes(old)}</span></span>`)}
        <span aria-hidden="true">→</span><button class="segment it" @click=${() => open(segment)}><b class="mono">${segment}</b><span
          class="mono dim">${bytes(size)}</span></button></li>`)}</ul>
      ${delete_horizon_ms >= 0 ? html`<p class="dim">${t("disk.past.horizon", { time: wall(delete_horizon_ms, language) })}</p>`
        : ""}</section>`;
  }

  /** What the last start found wrong in the files, and did about it; grouped by reason. @param {Repair[]} repairs */
  repairs(repairs) {
    const groups = Map.groupBy(repairs, ([, repair, , , rule]) => `${repair}|${rule}`);
    /** @param {Repair} repair */
    const one = ([file, , position, length]) => html`<li>${fileName(nameOf(file))}
      <span>${length ? t("disk.past.repair_cut", { at: spaced(position), n: bytes(length) }) : ""}</span></li>`;
    /** @param {Repair[]} all */
    const group = (all) => {
      const [, repair, , , rule] = all[0];
      return html`<details ?open=${all.length <= MAX_OPEN}><summary><span class="tag ${repair === "rebuilt"
        ? "" : "bad"}">${word("disk.repair", repair)}</span>
        ${t("disk.past.files", { n: all.length })} <span class="dim">${term(rule)}</span></summary>
          <ul class="waiting">${all.map(one)}</ul></details>`;
    };
    return html`<section class="card"><h3>${t("disk.past.repairs")}</h3>
      <p>${t("disk.past.repairs_said")}</p>${[...groups.values()].map(group)}</section>`;
  }

  /** @param {Replica["deleted_files"]} files */
  waiting(files) {
    const { at_us } = moment.value;
    const all = Object.entries(files);
    const groups = Map.groupBy(all, ([, [, due_us]]) => due_us);
    /** @param {[number, DeletedFile[]]} group */
    const group = ([due_us, some]) => html`<details ?open=${some.length <= MAX_OPEN}><summary>${t("disk.past.files", { n: some.length })}
        <span class="mono dim">${bytes(some.reduce((sum, [, [size]]) => sum + size, 0))}</span>
        <span class="mono">${t("disk.past.in", { n: durationText(Math.max(0, due_us - at_us)) })}</span></summary>
      <ul class="waiting">${some.map(([name, [size]]) =>
        html`<li>${fileName(name)}<span class="mono dim">${bytes(size)}</span></li>`)}</ul></details>`;
    return html`<section class="card"><h3>${t("disk.past.waiting")}</h3>
      <p>${t("disk.past.waiting_said")}</p>${[...groups].map(group)}</section>`;
  }

  render() {
    const { broker, path } = place.value;
    const { view } = moment.value;
    const folder = folderOf(path) || tree.value.folders.find(({ name }) => name)?.name;
    const replica = view.replicas[`${folder}@${broker}`];
    const waiting = replica?.deleted_files ?? {};
    const repairs = replica?.repairs ?? [];
    if (!replica || (!replica.cut && !replica.cleaned && !repairs.length && !Object.keys(waiting).length))
      return html`<p class="empty-note">${t("disk.past.nothing", { folder: folder ?? "—" })}</p>`;
    return html`<div class="past">
      ${replica.cleaned ? this.cleaned(replica.cleaned) : ""}
      ${replica.cut ? this.cut(replica.cut) : ""}
      ${repairs.length ? this.repairs(repairs) : ""}
      ${Object.keys(waiting).length ? this.waiting(waiting) : ""}</div>`;
  }
}
customElements.define("hw-disk-past", HwDiskPast);
