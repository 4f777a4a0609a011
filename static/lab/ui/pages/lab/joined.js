// Connects the drawings with the signals for selection, hover and display, on every page with a picture.
import { byId } from "../../kit/element.js";
import { settlePartition } from "../../store/follow.js";
import { zkMessages } from "../../store/keys.js";
import { effect, hovered, moment, partition, select, selection, split } from "../../store/state.js";
import { stepping } from "../../store/time.js";
import { stage } from "./stage.js";

/** @import { Target } from "../../../core/view/selectors.js" */

/** The number of lanes that fit in the space-time picture; how many more increase its height, and by how much each. */
const LANES_USUAL = 9;
const LANES_MORE = 5;
const LANE_PX = 14;

const lab = byId("lab");

/** @param {string} what */
const partitionOf = (what) => {
  const [type, id] = split(what);
  if (type === "partition") return id;
  return type === "replica" || type === "record" ? id.slice(0, id.lastIndexOf("@")) : "";
};

/**
 * Follows an event of the drawings.
 * @template T
 * @param {string} name
 * @param {(detail: T) => void} follow
 */
export const onStage = (name, follow) =>
  lab.addEventListener(name, (event) => follow(/** @type {CustomEvent<T>} */ (event).detail));

onStage("hw-select", (/** @type {Target | null} */ detail) => select(detail ? `${detail.type}:${detail.id}` : ""));
onStage("hw-hover", (/** @type {Target | null} */ detail) => (hovered.value = detail ? detail.id : ""));
effect(() => void stage.value?.point(hovered.value ? { type: "record", id: hovered.value } : null));
addEventListener("hw-zoom", () => stage.peek()?.zoom());
effect(() => void stage.value?.showZooKeeper(zkMessages.value));
effect(() => void stage.value?.showSteps(stepping.value));

effect(() => {
  const [type, id] = split(selection.value);
  stage.value?.select(type ? { type: /** @type {Target["type"]} */ (type), id } : null);
  if (partitionOf(selection.value)) partition.value = partitionOf(selection.value);
});
effect(() => {
  const topic = partition.value.replace(/-\d+$/, "");
  if (topic && topic !== stage.value?.topic) stage.value?.setTopic(topic);
});
effect(() => {
  // By default the first partition of the topic that the strips show.
  const { partitions } = moment.value.view;
  const topic = stage.value?.topic;
  // They may move on to another topic by themselves: to the one that the page was opened for, once it exists.
  if (topic && partitions[partition.peek()]?.topic !== topic && `${topic}-0` in partitions) settlePartition(`${topic}-0`);
});

effect(() => {
  // The space-time picture keeps its lanes apart.
  const lanes = Object.keys(moment.value.view.nodes).length;
  lab.style.setProperty("--more-lanes", `${LANE_PX * Math.min(LANES_MORE, Math.max(0, lanes - LANES_USUAL))}px`);
});
