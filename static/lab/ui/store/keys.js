// The keys of the lab page, as the list of keys shows them. What they do is in pages/lab/keys.js.
import { isAlone } from "./api.js";
import { effect, signal } from "./state.js";

/** @import { Signal } from "@preact/signals-core" */

const STORED = "highwater.keys";

/** Whether single letters act as keys; a visitor can switch them off. */
export const keysOn = signal(localStorage.getItem(STORED) !== "off");
effect(() => localStorage.setItem(STORED, keysOn.value ? "on" : "off"));

const ZK_STORED = "highwater.zookeeper";

/** Whether requests to ZooKeeper are shown as messages. */
export const zkMessages = signal(localStorage.getItem(ZK_STORED) === "on");
effect(() => localStorage.setItem(ZK_STORED, zkMessages.value ? "on" : "off"));

/** The key of each screen; pressed again, it returns to the picture. */
export const SCREEN_KEYS = {
  disk: "D", zookeeper: "N", groups: "G", producers: "O", transactions: "R", alarms: "L", table: "V",
};

/** The keys of what a page without a lab does not have. */
const OF_THE_LAB = ["disk", "exercise", "act", "console", "fork", "bookmark", "pause_when", "share", "produce", "fault", "cut", "hint"];

/**
 * What the visitor's role in the class has keys for; nothing until the role is known.
 * @type {Signal<{ asks: boolean, hand: boolean, leads: boolean }>}
 */
export const classKeys = signal({ asks: false, hand: false, leads: false });

/** Each key, and its name in the texts (`key.<name>`). */
export const keys = () => [
  { key: "Space", name: "play" },
  { key: "Enter", name: "rpc" },
  { key: ".", name: "forward" },
  { key: ",", name: "back" },
  { key: "Shift+. Shift+,", name: "lane" },
  { key: "[ ]", name: "speed" },
  { key: "T", name: "paced" },
  { key: "Home", name: "home" },
  { key: "End", name: "end" },
  { key: "0…9", name: "tenths" },
  { key: "Alt+1…7", name: "broker" },
  { key: "/", name: "find" },
  { key: "Z", name: "zoom" },
  { key: "Q", name: classKeys.value.asks ? "ask" : "zk_messages" },
  ...Object.entries(SCREEN_KEYS).map(([name, key]) => ({ key, name })),
  { key: "\\", name: "panels" },
  { key: "E", name: "exercise" },
  { key: "A", name: "act" },
  { key: "C", name: "console" },
  { key: "B", name: "fork" },
  { key: "M", name: "bookmark" },
  { key: "U", name: "pause_when" },
  { key: "S", name: "share" },
  { key: "P", name: "produce" },
  { key: "K", name: "fault" },
  { key: "X", name: "cut" },
  { key: "W", name: "why" },
  { key: "H", name: "hint" },
  ...(classKeys.value.hand ? [{ key: "J", name: "hand" }] : []),
  ...(classKeys.value.leads ? [{ key: "Y", name: "point" }, { key: "I", name: "ink" }] : []),
  { key: "?", name: "help" },
  { key: "Esc", name: "escape" },
].filter(({ name }) => !isAlone || !OF_THE_LAB.includes(name));
