// Placeholders for brokers in the lines of a lesson: which one is the controller is not known beforehand.

/** @import { View } from "./view.d.ts" */

const CONTROLLER = "@controller";

/** The broker whose link to ZooKeeper is cut; -1 for none. @param {View} view */
function cutOff(view) {
  const cut = Object.keys(view.links).map((id) => id.split("|")).find((ends) => ends.includes("zk"));
  return Number(cut?.find((end) => end !== "zk")?.slice(1) ?? -1);
}

/**
 * A line or a text with the id of the controller's broker in the place of `@controller`. In a line that restores a link it
 * is the broker that was cut off: another one may be the controller since.
 * @param {string} text
 * @param {View} view
 */
export const withController = (text, view) => (text.includes(CONTROLLER) ? text.split("\n").map((line) => {
  const broker = line.includes("restore") && cutOff(view) > 0 ? cutOff(view) : view.controller.broker;
  return broker > 0 ? line.replaceAll(CONTROLLER, String(broker)) : line;
}).join("\n") : text);
