// Alarms: what was violated and where, what explains it, which component guaranteed it and what gave up the guarantee.
import { giverOf, lostRecords, seqBefore, settingsOf, sortedAlarms } from "../../../core/view/alarms.js";
import { durationText } from "../../../core/player/timemap.js";
import { eventAt } from "../../store/changes.js";
import { HwElement, html } from "../../kit/element.js";
import { onKey } from "../../kit/events.js";
import { instant } from "../../kit/format.js";
import { has, t } from "../../kit/i18n.js";
import { computed, effect, moment, select, shown, signal } from "../../store/state.js";
import { seekSeq } from "../../store/time.js";
import { inline, inMyLanguage, labelled, nodeName, sentence } from "../../kit/words.js";

/** The number of the alarm or loss whose card is shown; 0: the first. */
const chosenAlarm = signal(0);

/** @import { Signal } from "@preact/signals-core" */
/** @import { AnyEvent } from "../../../core/events/events.d.ts" */
/** @import { NumberedAlarm } from "../../../core/view/alarms.js" */
/** @import { Alarm, Loss, View } from "../../../core/view/view.d.ts" */

/** @typedef {{ seq: number, alarm?: Alarm, loss?: Loss }} Entry an alarm or a loss */

/** @param {number} seq @param {string} text @param {string} [className] */
const go = (seq, text, className = "") => html`<button class="btn small ${className}" @click=${() => seekSeq(seq)}>${text}</button>`;

/** The subject of an alarm as something that can be selected. @param {View} view @param {string} subject */
function targetOf(view, subject) {
  if (subject in view.replicas) return `replica:${subject}`;
  return subject in view.partitions ? `partition:${subject}` : "";
}

/** @param {Alarm} alarm */
const verdict = ({ explained_by }) => html`<span class="tag ${explained_by ? "warn" : "bad"}">${explained_by
  ? "▲" : "✕"} ${t(explained_by ? "alarm.is_explained" : "alarm.is_unexplained")}</span>`;

/** @param {Loss} loss */
const acksOf = ({ acks }) => `acks=${acks === -1 ? "all" : acks}`;

/** Why records could be lost, by how that happened. @type {Record<Loss["why"], string>} */
const GIVEN_AWAY = { election: "loss.given_away", restart: "loss.restarted", "deposed leader": "loss.deposed" };

/** The list in the inspector: short, each with its two ways to go. */
class HwAlarms extends HwElement {
  render() {
    const { view } = moment.value;
    const { unexplained, explained } = sortedAlarms(view);
    const { records } = lostRecords(view);
    /** @param {NumberedAlarm} numbered */
    const one = ({ seq, alarm }) => html`<li class="message ${alarm.explained_by ? "warn" : "bad"}">
      <b>${alarm.invariant} · ${alarm.subject}</b><span>${inMyLanguage(alarm, "detail")}</span>
      <span class="dim">${instant(alarm.at_us)} · ${alarm.explained_by ? t("alarm.explained", { by: inMyLanguage(alarm, "explained_by") })
        : t("alarm.unexplained")}</span>
      <span class="row">${go(seqBefore(seq, alarm.cause), t("alarm.before"))}${go(seq, t("alarm.at"))}</span></li>`;
    if (!unexplained.length && !explained.length && !records) return html`<p class="empty-note">${t("empty.alarms")}</p>`;
    return html`<ul class="alarms">${[...unexplained, ...explained].map(one)}
      ${records ? html`<li class="message"><b>${t("alarm.losses", { n: records })}</b><span
        class="dim">${t("alarm.losses_said")}</span></li>` : ""}</ul>`;
  }
}
customElements.define("hw-alarms", HwAlarms);

/**
 * Every alarm and loss that this page has seen, by number: at the instant before one, its card is still shown.
 * @type {Signal<Pick<View, "alarms" | "losses">>}
 */
const known = signal({ alarms: {}, losses: {} });
effect(() => {
  const { alarms, losses } = moment.value.view;
  const before = known.peek();
  /** @param {object} all @param {object} old */
  const isNew = (all, old) => Object.keys(all).some((seq) => !(seq in old));
  if (isNew(alarms, before.alarms) || isNew(losses, before.losses))
    known.value = { alarms: { ...before.alarms, ...alarms }, losses: { ...before.losses, ...losses } };
});

/** Everything that has a card, the most severe first. */
const entries = computed(() => {
  const { unexplained, explained } = sortedAlarms(known.value);
  return /** @type {Entry[]} */ ([...unexplained, ...explained, ...lostRecords(known.value).losses]);
});

class HwAlarmScreen extends HwElement {
  /**
   * The probable cause of the alarm that is shown; `event` is null while it is loading.
   * @type {Signal<{ seq: number, event: AnyEvent | null }>}
   */
  #cause = signal({ seq: 0, event: null });

  connectedCallback() {
    super.connectedCallback();
    effect(() => void this.toggleAttribute("hidden", shown.value !== "alarms"));
    effect(() => {
      const seq = shown.value === "alarms" ? this.#causeOf(this.#entry()) : 0;
      if (seq !== this.#cause.peek().seq) queueMicrotask(() => this.#look(seq));
    });
  }

  #entry() {
    return entries.value.find(({ seq }) => seq === chosenAlarm.value) ?? entries.value[0];
  }

  /** @param {Entry | undefined} entry */
  #causeOf(entry) {
    return entry?.alarm?.cause ?? entry?.loss?.acknowledged_seq ?? 0;
  }

  /** @param {number} seq */
  async #look(seq) {
    this.#cause.value = { seq, event: null };
    const event = seq > 0 ? await eventAt(seq) : null;
    if (this.#cause.peek().seq === seq) this.#cause.value = { seq, event };
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (!step) return;
    const all = entries.value;
    const next = all[all.findIndex((entry) => entry === this.#entry()) + step];
    event.preventDefault();
    event.stopPropagation();
    if (!next) return;
    chosenAlarm.value = next.seq;
    requestAnimationFrame(() => this.focusOn("[aria-selected=true]"));
  }

  /** @param {Entry} entry */
  line({ alarm, loss }) {
    if (alarm) return this.words(alarm.invariant, alarm.subject, alarm.at_us, inMyLanguage(alarm, "detail"));
    return loss ? this.words(acksOf(loss), loss.partition, loss.at_us, t("loss.line", { n: loss.count, first: loss.first_offset })) : "";
  }

  /** @param {string} rule @param {string} subject @param {number} at_us @param {string} line */
  words(rule, subject, at_us, line) {
    return html`<b class="mono">${rule}</b><span class="mono dim">${subject}</span><span class="mono when">${instant(at_us)}</span>
      <span class="line">${line}</span>`;
  }

  /** @param {Entry} entry @param {Entry} current */
  row(entry, current) {
    const { seq } = entry;
    const isOn = entry === current;
    const isAhead = seq > moment.value.seq;
    return html`<div role="option" class="alarm-row ${isAhead ? "ahead" : ""}" title=${isAhead ? t("alarm.ahead") : ""}
      aria-selected=${isOn} tabindex=${isOn ? 0 : -1} @click=${() => (chosenAlarm.value = seq)}>${this.line(entry)}</div>`;
  }

  /** @param {string} title @param {string} tone @param {Entry[]} list @param {Entry} current */
  group(title, tone, list, current) {
    return list.length ? html`<div class="alarm-group ${tone}" role="presentation">
      <h3>${title}<span class="mono">${list.length}</span></h3>${list.map((entry) => this.row(entry, current))}</div>` : "";
  }

  cause() {
    const { seq, event } = this.#cause.value;
    if (!seq) return html`<p class="dim">${t("alarm.no_cause")}</p>`;
    return event ? html`<button class="ev" @click=${() => seekSeq(seq)} title=${t("changes.go")}><span
      class="mono dim">${instant(event.at_us)}</span> ${sentence(event)}</button>`
      : html`<p class="dim">${t("why.searching")}</p>`;
  }

  /** One step of the explanation of a guarantee. @param {string} sign @param {string} title @param {unknown} body */
  step(sign, title, body) {
    return html`<li><span class="sign" aria-hidden="true">${sign}</span><div><h4>${title}</h4>${body}</div></li>`;
  }

  /** @param {View} view @param {string} subject */
  subject(view, subject) {
    const target = targetOf(view, subject);
    const open = () => {
      select(target);
      shown.value = "picture";
    };
    return target ? html`<button class="val mono" @click=${open}>${subject}</button>` : html`<span class="mono">${subject}</span>`;
  }

  /**
   * Goes to an instant, with the picture and the subject selected.
   * @param {View} view
   * @param {number} seq
   * @param {string} text
   * @param {string} subject
   * @param {string} [className]
   */
  go(view, seq, text, subject, className = "") {
    const press = () => {
      seekSeq(seq);
      select(targetOf(view, subject));
      shown.value = "picture";
    };
    return html`<button class="btn ${className}" @click=${press}>${text}</button>`;
  }

  /** @param {View} view @param {number} seq @param {Alarm} alarm */
  alarm(view, seq, alarm) {
    const { invariant, subject, at_us, cause, setting } = alarm;
    const promise = inMyLanguage(alarm, "promise");
    const by = giverOf(invariant);
    return html`<article class="alarm-card ${alarm.explained_by ? "explained" : "unexplained"}">
      <header><b class="mono">${invariant}</b> ${this.subject(view, subject)} ${verdict(alarm)}<span
        class="mono dim">${t("alarm.first", { at: instant(at_us) })}</span></header>
      <p class="broke">${inMyLanguage(alarm, "detail")}</p>
      <ol class="story">
        ${this.step("1", t("alarm.guarantee"), html`<p>${inline(has(`invariant.${invariant}`) ? t(`invariant.${invariant}`)
          : invariant)}</p>`)}
        ${this.step("2", t("alarm.given_by"), html`<p>${t(`alarm.giver.${by}`)}</p>${promise ? html`<p class="promise">${promise}</p>`
          : ""}`)}
        ${this.step("3", t("alarm.given_away"), alarm.explained_by
          ? html`<p>${inMyLanguage(alarm, "explained_by")}</p>
            <p class="settings">${settingsOf(setting).map((one) => html`<code>${labelled(one)}</code>`)}</p>`
          : html`<p>${t("alarm.unexplained")}</p>`)}
        ${this.step("4", t("alarm.cause"), this.cause())}
      </ol>
      <footer>${this.go(view, seqBefore(seq, cause), t("alarm.before"), subject, "pri")}${this.go(view, seq, t("alarm.at"),
        subject)}</footer></article>`;
  }

  /** @param {View} view @param {number} seq @param {Loss} loss */
  loss(view, seq, loss) {
    const { partition, first_offset, count, leader, leader_epoch, acknowledged_by, acknowledged_seq, acks, why, committed, at_us } = loss;
    const names = { who: nodeName(acknowledged_by), leader: nodeName(leader), epoch: leader_epoch };
    const lostWith = why === "restart" ? "log.flush.interval.messages" : acksOf(loss);
    const cells = Array.from({ length: Math.min(count, 24) }, (_, n) => first_offset + n);
    return html`<article class="alarm-card loss">
      <header><b class="mono">${acksOf(loss)}</b> ${this.subject(view, partition)} ${committed
        ? html`<span class="tag warn">▲ ${t("loss.committed", { n: committed })}</span>`
        : html`<span class="tag">○ ${t("loss.no_guarantee")}</span>`}<span
        class="mono dim">${instant(at_us)}</span></header>
      <p class="broke">${t("loss.said", { n: count, first: first_offset, leader: nodeName(leader), epoch: leader_epoch })}</p>
      <div class="cells">${cells.map((offset) => html`<span class="cell gone">${offset}</span>`)}${count > cells.length
        ? html`<span class="dim">+${count - cells.length}</span>` : ""}</div>
      <ol class="story">
        ${this.step("1", t("alarm.guarantee"), html`<p>${inline(t(acks === -1 ? "loss.guarantee_all" : "loss.guarantee"))}</p>`)}
        ${this.step("2", t("alarm.given_by"), html`<p>${t(acks === -1 ? "loss.given_by_all" : "loss.given_by", names)}</p>`)}
        ${this.step("3", t("alarm.given_away"), html`<p>${t(GIVEN_AWAY[why], names)}</p><p class="settings"><code>${lostWith}</code></p>`)}
        ${this.step("4", t("loss.acknowledged"), this.cause())}
      </ol>
      <footer>${this.go(view, seqBefore(seq, acknowledged_seq), t("alarm.before"), partition, "pri")}${this.go(view, seq, t("alarm.at"),
        partition)}</footer></article>`;
  }

  /** @param {View} view @param {Entry} entry */
  card(view, { seq, alarm, loss }) {
    if (alarm) return this.alarm(view, seq, alarm);
    return loss ? this.loss(view, seq, loss) : "";
  }

  render() {
    if (shown.value !== "alarms") return html``;
    const { view, at_us } = moment.value;
    const current = this.#entry();
    if (!current) return html`<div class="no-alarms"><span class="big" aria-hidden="true">✓</span><p>${t("empty.alarms")}</p>
      <p class="dim">${t("alarm.watched", { time: durationText(at_us) })}</p></div>`;
    const of = (/** @type {(entry: Entry) => unknown} */ test) => entries.value.filter(test);
    return html`<div class="alarm-list" role="listbox" aria-label=${t("stage.alarms")} @keydown=${onKey((event) => this.#key(event))}>
        ${this.group(t("alarm.group.unexplained"), "unexplained", of(({ alarm }) => alarm && !alarm.explained_by), current)}
        ${this.group(t("alarm.group.explained"), "explained", of(({ alarm }) => alarm?.explained_by), current)}
        ${this.group(t("alarm.losses", { n: lostRecords(known.value).records }), "loss", of(({ loss }) => loss), current)}</div>
      <div class="alarm-detail">${this.card(view, current)}</div>`;
  }
}
customElements.define("hw-alarm-screen", HwAlarmScreen);
