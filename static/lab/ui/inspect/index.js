// The contents of the inspector for the selected thing; the layout depends on its kind.
import { explain } from "../store/changes.js";
import { HwElement, html } from "../kit/element.js";
import { t } from "../kit/i18n.js";
import { linkCard, nodeCard } from "./nodes.js";
import { leaderView, partitionCard, replicaCard } from "./replicas.js";
import { messageCard } from "./rpc.js";
import { nothing, section } from "../parts/common.js";
import { parkedRow } from "./rpc_lists.js";
import { moment, partition, selection, split } from "../store/state.js";
import { escapeKey } from "../kit/words.js";

/** @import { TemplateResult } from "lit" */
/** @import { View } from "../../core/view/view.d.ts" */

/** @type {Record<string, (view: View, name: string, at_us: number) => TemplateResult>} */
const CARDS = {
  rpc: messageCard,
  parked: messageCard,
  broker: nodeCard,
  client: nodeCard,
  replica: replicaCard,
  partition: partitionCard,
  link: linkCard,
  record: () => html`<hw-record></hw-record>`,
};

/**
 * Without a selection: the leader's view of the partition that is shown, and the requests that wait there.
 * @param {View} view
 * @param {number} at_us
 */
function overview(view, at_us) {
  const name = partition.value;
  const leader = `b${view.partitions[name]?.leader}`;
  const parked = Object.entries(view.parked).filter(([, one]) => one.broker === leader && one.partitions.includes(name));
  const waiting = html`<ul class="list flat">${parked.map(([id, one]) => parkedRow(one, id, at_us))}</ul>`;
  return html`${nothing(t("inspect.nothing"))}
    ${name in view.partitions ? leaderView(view, name, at_us) : ""}
    ${parked.length ? section(t("purgatory.of", { node: leader }), t("purgatory.waiting", { n: parked.length }), waiting) : ""}`;
}

/** The key W: why has the selected thing its most important value? */
export function whyOfSelection() {
  const [kind, name] = split(selection.value);
  const { view } = moment.value;
  const replica = kind === "record" ? name.slice(0, name.lastIndexOf(":")) : name;
  const node = view.nodes[name];
  /** @type {Record<string, string>} */
  const pointers = {
    broker: `/nodes/${name}/state`,
    client: `/nodes/${name}/${node?.kind === "producer" ? "last_offset" : "position"}`,
    partition: `/partitions/${escapeKey(name)}/leader`,
    record: `/replicas/${escapeKey(replica)}/log_end_offset`,
    replica: `/replicas/${escapeKey(name)}/high_watermark`,
    rpc: `/rpcs/${name}`,
    znode: `/zk/${escapeKey(name)}`,
  };
  if (pointers[kind]) explain(pointers[kind]);
}

class HwInspect extends HwElement {
  render() {
    const { view, at_us } = moment.value;
    const [kind, name] = split(selection.value);
    const card = CARDS[kind];
    return html`<hw-why></hw-why>
      ${card ? card(view, name, at_us) : overview(view, at_us)}
      <hw-changes></hw-changes>`;
  }
}
customElements.define("hw-inspect", HwInspect);
