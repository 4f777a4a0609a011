// The top of the instructor's page: class time, how many are here, the connection, the door.
import { HwElement, html } from "../kit/element.js";
import { t } from "../kit/i18n.js";
import { isAttacked } from "./door_code.js";
import { act, classSlug, clockText, connection, hidesNames, learners, now_us, shed, tree, waiting } from "./store.js";
import { board, show } from "./board_state.js";

/** What is wrong with the connection of this page. */
function lost() {
  const { state, closed, why, outdated } = connection.value;
  if (outdated) return html`<span role="alert"><a class="tag warn" href="">${t("connection.outdated")}</a></span>`;
  if (closed && state !== "open") return html`<span class="tag bad" role="alert">${t("board.closed", { why: closed })}</span>`;
  return why || state === "lost" ? html`<span class="tag bad" role="alert">${why || t("board.lost")}</span>` : "";
}

/** Of a class in this state. @param {typeof tree.value} held */
export function classTop({ door, class: info, recording, audio }) {
  const all = learners();
  const here = all.filter(([, person]) => person.presence === "here").length;
  const away = all.length - here;
  // Each measure is added to those before it.
  const measures = Array.from({ length: shed.value }, (_, index) => t(`board.shed.${index + 1}`));
  const at = clockText(now_us.value);
  const look = !info || info.ended ? "" : recording ? "recorded" : "warn";
  const recorded = t(audio?.p ? "board.recording_sound" : "board.recording", { at });
  const said = { "": at, recorded, warn: t("board.unrecorded", { at }) };
  return html`<span class="chip mono ${look}" title=${t("board.time")}>${said[look]}</span>
    <span class="chip">${away ? t("board.here_away", { here, away }) : t("board.here", { here })}</span>
    ${shed.value ? html`<span class="tag warn" role="status" title=${measures.join(" · ")}>${t("board.shed",
      { what: measures.at(-1) })}</span>` : ""}
    ${isAttacked.value ? html`<a class="chip warn" role="alert" href="/classes/${classSlug.value}/" title=${t("door.attack_hint")}>${
      t("door.attack")}</a>` : ""}
    ${waiting().length && !info?.ended ? html`<button class="chip warn" @click=${() => show({ tab: "people" })}>${t("board.at_door",
      { n: waiting().length })}</button>` : ""}
    ${info?.ended ? "" : html`<button class="chip"
      @click=${() => act(door?.is_open ? { op: "close_door" } : { op: "open_door", admits: door?.admits ?? false })}>${
        t(door?.is_open ? "board.close_door" : "board.open_door")}</button>`}
    ${lost()}`;
}

class HwClassTop extends HwElement {
  render() {
    return classTop(tree.value);
  }
}
customElements.define("hw-class-top", HwClassTop);

class HwWallBar extends HwElement {
  render() {
    const all = learners();
    const steps = tree.value.class?.steps ?? 0;
    const stuck = all.filter(([, person]) => person.stuck && person.stuck !== "asks").length;
    const hands = all.filter(([, person]) => person.hand).length;
    const done = all.filter(([, person]) => steps > 0 && (person.step ?? 1) > steps).length;
    const { tab, sort } = board.value;
    /** @param {"labs" | "heat" | "people"} name */
    const choice = (name) => html`<button aria-pressed=${tab === name ? "true" : "false"}
      @click=${() => show({ tab: name })}>${t(`board.tab.${name}`)}</button>`;
    /** @param {"stuck" | "name"} by */
    const order = (by) => html`<button aria-pressed=${sort === by ? "true" : "false"}
      @click=${() => show({ sort: by })}>${t(`board.sort.${by}`)}</button>`;
    return html`<span class="seg">${choice("labs")}${choice("heat")}${choice("people")}</span>
      ${stuck ? html`<span class="tag bad">${t("board.n_stuck", { n: stuck })}</span>` : ""}
      ${hands ? html`<span class="tag warn">${t("board.n_hands", { n: hands })}</span>` : ""}
      ${done ? html`<span class="tag ok">${t("board.n_done", { n: done })}</span>` : ""}
      <span class="spacer"></span><span class="seg">${order("stuck")}${order("name")}</span>
      <button class="chip" aria-pressed=${hidesNames.value ? "true" : "false"}
        @click=${() => (hidesNames.value = !hidesNames.value)}>${t("board.hide_names")}</button>`;
  }
}
customElements.define("hw-wall-bar", HwWallBar);
