// The texts on the cards of the cluster's nodes: title, tag, and at most a few lines.

import { memberLag } from "../core/view/groups.js";
import { ephemerals, familyOf, inFlight, ledBy, outOfIsr, parkedAt, unflushed } from "../core/view/selectors.js";
import { durationText } from "../core/player/timemap.js";
import { uiWidth } from "./svg.js";

/** @import { Texts, Translate } from "../core/texts.js" */
/** @import { Target } from "../core/view/selectors.js" */
/** @import { BrokerNode, ConsumerNode, ProducerNode, View } from "../core/view/view.d.ts" */
/** @typedef {{ target: Target, title: string, tag: string, tag_class: string, lines: [string, string][] }} Card */

export class NodeCards {
  #t;
  #texts;

  /** @param {Translate} t @param {Texts} texts */
  constructor(t, texts) {
    this.#t = t;
    this.#texts = texts;
  }

  /**
   * @param {View} view @param {string} id @param {number} at_us @param {number} width of the card
   * @param {string | null} topic that is chosen: its partitions are named by number
   * @returns {Card}
   */
  card(view, id, at_us, width, topic) {
    const node = view.nodes[id];
    const t = this.#t;
    switch (node.kind) {
      case "broker":
        return this.#broker(view, id, node, at_us, width, topic);
      case "producer":
        return this.#producer(view, id, node, width);
      case "consumer":
        return node.member ? this.#member(view, id, node, at_us, topic) : this.#consumer(id, node, at_us);
      case "client":
        return { target: { type: "client", id }, title: node.settings["client.id"] || id, tag: "", tag_class: "",
          lines: [[node.settings.software ?? "", ""], [`${id} · ${node.settings.host}`, "dim"]] };
      case "zookeeper":
        return { target: { type: "znode", id: "/" }, title: `ZooKeeper · ${t("draw.zookeeper.ephemerals", { n: ephemerals(view) })}`,
          tag: "", tag_class: "", lines: [] };
      case "shell":
        return { target: { type: "client", id }, title: t("draw.shell"), tag: "", tag_class: "", lines: [] };
    }
  }

  /** @param {View} view @param {string} id @param {ProducerNode} node @param {number} width of the card @returns {Card} */
  #producer(view, id, node, width) {
    const t = this.#t;
    const acks = node.settings.acks === "-1" ? "all" : (node.settings.acks ?? "");
    const where = node.partition ? t("draw.producer.to", { partition: node.partition }) : t("draw.producer.idle");
    const waiting = Object.values(node.batches).filter(({ state }) => state !== "sent").length;
    const in_flight = inFlight(view, id);
    const counts = waiting ? t("draw.producer.waits", { waiting, in_flight })
      : fitting(t("draw.producer.counts", { in_flight, acknowledged: node.acknowledged }),
        t("draw.producer.acked", { n: node.acknowledged }), width);
    return {
      target: { type: "client", id }, title: id, tag: acks && `acks=${acks}`, tag_class: "produce",
      lines: [
        [node.rate ? `${where} · ${node.rate}/s` : where, ""],
        node.failed ? [t("draw.producer.failed", { n: node.failed }), "bad"] : [counts, "dim"],
      ],
    };
  }

  /** @param {string} id @param {ConsumerNode} node @param {number} at_us @returns {Card} */
  #consumer(id, node, at_us) {
    const t = this.#t;
    const lag = t("draw.consumer.lag", { n: Math.max(0, node.high_watermark - node.position) });
    return {
      target: { type: "client", id }, title: id, tag: node.position < 0 ? "" : `@ ${node.position}`, tag_class: "fetch",
      lines: [
        [node.partition ? t("draw.consumer.from", { partition: node.partition }) : t("draw.consumer.idle"), ""],
        node.state === "frozen" ? this.#frozen(node, at_us) : node.position < 0 ? ["", ""] : [lag, "dim"],
      ],
    };
  }

  /**
   * A member of a group: the partitions it owns, else its state.
   * @param {View} view @param {string} id @param {ConsumerNode} node @param {number} at_us @param {string | null} topic
   * @returns {Card}
   */
  #member(view, id, node, at_us, topic) {
    const owned = node.assignment ?? [];
    const group = node.settings?.["group.id"] ?? "";
    const state = this.#texts.term(node.member?.state ?? "");
    const owns = owned.length > 3 ? this.#t("draw.consumer.owns", { n: owned.length }) : shorten(owned, topic);
    return {
      target: { type: "client", id }, title: id, tag_class: "fetch",
      tag: owned.length ? this.#t("draw.consumer.lag", { n: memberLag(view, node) }) : "",
      lines: [
        node.state === "frozen" ? this.#frozen(node, at_us) : [`${group} · ${owned.length ? owns : state}`, ""],
        [owned.length ? state : "", "dim"],
      ],
    };
  }

  /** @param {ConsumerNode} node @param {number} at_us @returns {[string, string]} */
  #frozen(node, at_us) {
    return [this.#t("draw.broker.frozen", { time: durationText(at_us - node.since_us) }), "frozen"];
  }

  /**
   * @param {View} view @param {string} id @param {BrokerNode} node @param {number} at_us @param {number} width of the card
   * @param {string | null} topic
   * @returns {Card}
   */
  #broker(view, id, node, at_us, width, topic) {
    const t = this.#t;
    const led = ledBy(view, node.broker_id, topic);
    const outside = outOfIsr(view, node.broker_id);
    const parked = parkedAt(view, id);
    const produce = parked.filter((one) => one.parked.api === "Produce").length;
    const group = parked.filter((one) => familyOf(one.parked.api, "request") === "group").length;
    const dirty = unflushed(view, id);
    const since = durationText(at_us - node.since_us);
    /** @type {[string, string][]} */
    const lines = [];
    if (node.state === "up") {
      if (view.controller.broker === node.broker_id)
        lines.push([t("draw.broker.controller", { epoch: view.controller.controller_epoch }), "control"]);
      if (outside.length) lines.push([t("draw.broker.outside", { partitions: shorten(outside, topic) }), "outisr"]);
      const counts = { produce, fetch: parked.length - produce - group, group };
      const words = t(group ? "draw.broker.purgatory_group" : "draw.broker.purgatory", counts);
      lines.push([fitting(words, t("draw.broker.parked", { n: parked.length }), width), ""]);
      if (dirty) lines.push([fitting(t("draw.broker.dirty", { n: dirty }), t("draw.broker.dirty_short", { n: dirty }), width), "dim"]);
    } else {
      lines.push([t(`draw.broker.${node.state}`, { time: since }), node.state === "frozen" ? "frozen" : "bad"]);
      // No other controller is elected before ZooKeeper expires its session.
      const left_us = node.since_us + 1000 * Number(node.settings?.["zookeeper.session.timeout.ms"]) - at_us;
      if (node.session !== null && left_us > 0 && ["down",
        "frozen"].includes(node.state)) lines.push([t("draw.broker.session", { time: durationText(left_us) }), ""]);
      if (outside.length) lines.push([t("draw.broker.outside", { partitions: shorten(outside, topic) }), "outisr"]);
    }
    return { target: /** @type {Target} */ ({ type: "broker", id }), title: t("draw.broker.title", { id: node.broker_id }),
      tag: led.length ? t("draw.broker.leads", { partitions: shorten(led, topic) }) : "", tag_class: "leader", lines };
  }
}

/**
 * A line of a card, or its short form: a number that is cut reads as another number.
 * @param {string} line
 * @param {string} short
 * @param {number} width of the card
 */
const fitting = (line, short, width) => (uiWidth(line, 10.5) < width - 18 ? line : short);

/**
 * "p0, p2" within the chosen topic, "orders-0" otherwise; "4" when there are many.
 * @param {string[]} partitions
 * @param {string | null} topic
 */
function shorten(partitions, topic) {
  if (partitions.length > 3) return String(partitions.length);
  return partitions.map((id) => (topic !== null && id.startsWith(`${topic}-`) ? `p${id.slice(topic.length + 1)}` : id)).join(", ");
}
