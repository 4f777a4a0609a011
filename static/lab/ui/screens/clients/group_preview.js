// What each assignor would plan for a group now: requested from the server, which has the assignors, whenever the group has changed.
import { factsForAssignors } from "../../../core/view/groups.js";
import { request, here } from "../../store/api.js";
import { HwElement, html } from "../../kit/element.js";
import { t } from "../../kit/i18n.js";
import { opener, unlessMasked } from "../../parts/common.js";
import { chosenKey } from "../../store/groups.js";
import { effect, moment, shown, signal } from "../../store/state.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Plan } from "../../../core/view/groups.js" */
/** @import { Group } from "../../../core/view/view.d.ts" */

const PAUSE_MS = 200;

/** The last plans, and the facts that they are for, as JSON. @type {Signal<{ asked: string, plans: Plan[] }>} */
const known = signal({ asked: "", plans: [] });

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/** @param {string} asked */
async function look(asked) {
  try {
    const plans = await (await request(`${here.api}/assignments`, JSON.parse(asked))).json();
    known.value = { asked, plans };
  } catch (error) {
    if (!(error instanceof Object && "what" in error)) throw error;
    known.value = { asked, plans: [] };
  }
}

class HwGroupPreview extends HwElement {
  #stop = () => {};

  connectedCallback() {
    super.connectedCallback();
    this.#stop = effect(() => {
      const group = shown.value === "groups" ? moment.value.view.groups[chosenKey(moment.value.view) ?? ""] : undefined;
      const asked = group && Object.keys(group.members).length ? JSON.stringify(factsForAssignors(moment.value.view, group)) : "";
      if (!asked || asked === known.peek().asked) return;
      clearTimeout(timer);
      timer = setTimeout(() => look(asked), PAUSE_MS);
    });
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#stop();
  }

  /** @param {Plan} plan @param {Group} group @param {string[]} names */
  plan({ assignor, assignment, rounds, moved, stopped }, group, names) {
    const owned = Object.entries(assignment).flatMap(([id, partitions]) =>
      partitions.map((partition) => ({ partition, client: group.members[id]?.client ?? "?" })));
    const owners = Object.groupBy(owned, ({ partition }) => partition);
    return html`<tr class=${assignor === group.protocol ? "on" : ""}><th scope="row" class="mono">${assignor}</th>
      ${names.map((name) => html`<td class="plan ${moved.includes(name)
        ? "moves" : ""}">${unlessMasked(owners[name]?.map(({ client }) => client).join(", ") ?? "—")}</td>`)}
      <td>${moved.length}</td><td>${stopped.length}</td><td>${rounds}</td></tr>`;
  }

  render() {
    const group = moment.value.view.groups[chosenKey(moment.value.view) ?? ""];
    const { plans } = known.value;
    if (!group || !Object.keys(group.members).length || !plans.length) return html``;
    const names = Object.entries(factsForAssignors(moment.value.view, group).partitions).sort()
      .flatMap(([topic, count]) => Array.from({ length: count }, (_, number) => `${topic}-${number}`));
    return html`<section aria-label=${t("preview.title")}><header class="clients-head">
      <h3>${t("preview.title")} <span class="dim">${t("preview.said")}</span></h3><span class="spacer"></span>
        ${opener("assignor")}</header>
      <div class="scroll-x" tabindex="0"><table class="owners plans">
        <thead><tr><td></td>${names.map((name) => html`<th scope="col">${name}</th>`)}${["moved", "stopped", "rounds"].map((name) =>
          html`<th scope="col" title=${t(`preview.${name}_title`)}>${t(`preview.${name}`)}</th>`)}</tr></thead>
        <tbody>${plans.map((plan) => this.plan(plan, group, names))}</tbody></table></div></section>`;
  }
}
customElements.define("hw-group-preview", HwGroupPreview);
