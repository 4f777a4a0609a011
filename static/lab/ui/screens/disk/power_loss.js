// What a power loss would take at the shown instant, and what a crash of the process would not.
import { lossOf } from "../../../core/bytes/disk.js";
import { fileName, safetyBar } from "./index.js";
import { EXAMPLE, goTo, pathOf, place, tree } from "../../store/disk.js";
import { HwElement, html } from "../../kit/element.js";
import { bytes } from "../../kit/format.js";
import { t } from "../../kit/i18n.js";
import { lineButton } from "../../parts/common.js";
import { masked, moment } from "../../store/state.js";

/** @import { DiskFile } from "../../store/disk.js" */

class HwDiskLoss extends HwElement {
  /** @param {{ folder: string, from: number, to: number }} lost */
  records({ folder, from, to }) {
    const { broker } = place.value;
    const replica = moment.value.view.replicas[`${folder}@${broker}`];
    const acked = replica && replica.high_watermark > from;
    return html`<li><b class="mono">${folder}</b>
      <span>${t("disk.loss.records", { n: to - from, from, to: to - 1 })}</span>
      ${acked ? html`<span class="tag warn">${t("disk.loss.committed", { n: Math.min(to, replica.high_watermark) - from })}</span>`
        : ""}</li>`;
  }

  render() {
    const { broker } = place.value;
    if (masked.value && broker !== EXAMPLE) return html`<p class="empty-note">${t("disk.masked")}</p>`;
    const { folders } = tree.value;
    const loss = lossOf(folders);
    const node = moment.value.view.nodes[broker];
    const all = folders.flatMap(({ files }) => files).reduce((sum, file) => sum + file.bytes, 0);
    /** @param {DiskFile & { folder: string }} file */
    const row = (file) => html`<tr class="pickable" tabindex="0"
      @click=${() => goTo({ mode: "bytes", path: pathOf(file.folder, file.name), at: Math.max(0, file.flushed - 1) })}>
      <td><span class="mono dim">${file.folder}/</span>${fileName(file.name)}</td><td class="mono">${bytes(file.flushed)}</td>
      <td class="mono lost">${bytes(file.bytes - file.flushed)}</td><td class="wide">${safetyBar(file)}</td></tr>`;
    return html`<div class="loss">
      <div class="loss-pair">
        <section class="card"><h3>${t("disk.loss.crash")}</h3><p class="big mono ok">${bytes(0)}</p><p>${t("disk.loss.crash_why")}</p>
          ${node ? lineButton(`broker kill ${node.broker_id}`, `broker kill ${node.broker_id}`) : ""}</section>
        <section class="card"><h3>${t("disk.loss.power")}</h3><p class="big mono ${loss.bytes ? "lost" : "ok"}">${bytes(loss.bytes)}</p>
          <p>${t(loss.bytes ? "disk.loss.power_why" : "disk.loss.nothing", { all: bytes(all) })}</p>
          ${node ? lineButton(`broker powerloss ${node.broker_id}`, `broker powerloss ${node.broker_id}`, "danger") : ""}</section>
      </div>
      ${loss.records.length ? html`<ul class="loss-records">${loss.records.map((one) => this.records(one))}</ul>` : ""}
      ${loss.files.length ? html`<div class="scroll-x"><table class="loss-files">
        <thead><tr><th>${t("disk.loss.file")}</th><th>${t("disk.loss.kept")}</th><th>${t("disk.loss.taken")}</th><th></th></tr></thead>
        <tbody>${loss.files.map(row)}</tbody></table></div>` : ""}
      <p class="dim">${t(broker === EXAMPLE ? "disk.loss.note_example" : "disk.loss.note")}</p>
    </div>`;
  }
}
customElements.define("hw-disk-loss", HwDiskLoss);
