// Elements of the lab page that show something only at times: when something is asked, selected or opened, or nothing is there yet.
import { EMPTY_VIEW } from "../../../../core/view/empty.gen.js";
import { byId, html } from "../../../kit/element.js";
import { messages } from "../../../store/api.js";
import { why } from "../../../store/changes.js";
import { consoleOpen, moment, player, selection } from "../../../store/state.js";
import { REFUSAL } from "../answers.js";

/** @import { Moment } from "../../../store/state.js" */
/** @import { Group, Shown } from "../frame.js" */

/** @type {typeof messages.value} */
const MESSAGES = [
  { id: 1, tone: "ok", what: "Bookmark", expected: "", todo: "", line: "" },
  { id: 2, tone: "warn", what: "The quota is stored.", expected: "", todo: "Quotas are not enforced in this lab.",
    line: "kafka-configs.sh --alter --add-config producer_byte_rate=1024 --entity-type clients --entity-name p1" },
  { id: 3, tone: "bad", ...REFUSAL, line: "" },
];

/** The instant as it is, changed. @param {Partial<Moment>} [changes] */
function showMoment(changes = {}) {
  const { view, seq, connection } = player;
  moment.value = { ...moment.peek(), view: view ?? EMPTY_VIEW, seq, connection, ...changes };
}

/** @param {string} state @param {Partial<Moment>} changes @returns {Shown} */
const empty = (state, changes) => ({
  tag: "hw-empty", state, frame: "low", set: () => showMoment(changes), body: () => html`<hw-empty data-loading=""></hw-empty>`,
});

/** @param {Moment["connection"]} connection @returns {Shown} */
const connected = (connection) => ({
  tag: "hw-connection", state: connection, frame: "row", set: () => showMoment({ connection }),
  body: () => html`<hw-connection></hw-connection>`,
});

/** Why a partition has its leader: the last event, or not known yet. @param {boolean} isKnown */
function ask(isKnown) {
  const last = player.event(player.seq);
  why.value = { pointer: "/partitions/orders-0/leader", chain: isKnown && last ? [last, last] : null };
}

/** @type {Group} */
export const STATES = {
  after: () => {
    messages.value = [];
    why.value = null;
    consoleOpen.value = false;
    selection.value = byId("lab").dataset.selection ?? "";
    showMoment();
  },
  shown: [
    empty("is loaded", { seq: 0 }),
    empty("without brokers", { view: EMPTY_VIEW }),
    {
      ...empty("without topics", {}),
      set: () => showMoment({ view: { ...moment.peek().view, nodes: player.view?.nodes ?? {}, topics: {}, partitions: {} } }),
    },
    connected("recorded"),
    connected("connecting"),
    {
      tag: "hw-messages",
      set: () => {
        showMoment();
        messages.value = MESSAGES;
      },
      body: () => html`<hw-messages></hw-messages>`,
    },
    { tag: "hw-why", frame: "narrow", set: () => ask(true), body: () => html`<hw-why></hw-why>` },
    { tag: "hw-why", state: "is searched", frame: "narrow", set: () => ask(false), body: () => html`<hw-why></hw-why>` },
    {
      tag: "hw-znode",
      frame: "narrow",
      set: () => {
        why.value = null;
        selection.value = "znode:/controller";
      },
      body: () => html`<hw-znode></hw-znode>`,
    },
    { tag: "hw-console", frame: "low", set: () => (consoleOpen.value = true), body: () => html`<hw-console></hw-console>` },
  ],
};
