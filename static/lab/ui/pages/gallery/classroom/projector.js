// The big screen of a class, and captions over a picture.
import { connection, count, said } from "../../../classroom/store.js";
import { show as showCaptions } from "../../../classroom/sound/caption_choice.js";
import { html } from "../../../kit/element.js";
import { NOW_US, POLL, classTree, showClass } from "./state.js";

/** @import { ClassTree, Poll } from "../../../../core/classroom/class.d.ts" */
/** @import { Group, Shown } from "../frame.js" */

/** @param {string} state @param {ClassTree} changes @param {Partial<typeof connection.value>} [to] */
const projector = (state, changes, to = {}) => /** @type {Shown} */ ({
  tag: "hw-projector",
  state,
  frame: "projector",
  set: () => {
    count.value = { learners: 12, observers: 1 };
    connection.value = { state: "open", closed: "", why: "", outdated: false, ...to };
    showClass({ mistakes: undefined, ...changes });
  },
  body: () => html`<hw-projector></hw-projector>`,
});

/** @param {Partial<Poll>} changes @returns {ClassTree} */
const poll = (changes) => ({ polls: { 1: { ...POLL, ...changes } } });

/** @param {string} state @param {"both" | "off" | "en"} choice */
const captions = (state, choice) => /** @type {Shown} */ ({
  tag: "hw-live-captions",
  state,
  frame: "over",
  set: () => {
    showClass();
    said.value = {
      en: [
        { from_us: NOW_US - 6e6, to_us: NOW_US - 4e6, text: "Broker 3 follows broker 2," },
        { from_us: NOW_US - 3e6, to_us: NOW_US + 2e6,
          text: "so its log ends at the high watermark that it learned from the last fetch response." },
      ],
      "zh-CN": [{ from_us: NOW_US - 3e6, to_us: NOW_US + 2e6, text: "因此它的日志末端就是从上一个拉取响应得知的高水位。" }],
    };
    showCaptions(choice);
  },
  body: () => html`<hw-live-captions></hw-live-captions>`,
});

/** @type {Group} */
export const PROJECTOR = {
  shown: [
    projector("poll is open", { ...poll({ phase: "open", until_us: NOW_US + 42e6, splits: [] }) }),
    projector("poll is shown", { ...poll({ shown: true, outcome: "1", by: "lab" }) }),
    projector("mistakes", { polls: {}, mistakes: classTree().mistakes }),
    projector("timer and lost connection", { polls: {}, stage: undefined, paused: true, timer: { from_us: NOW_US - 75e6, seconds: 180 } },
      { state: "lost" }),
    projector("ended", { class: { .../** @type {NonNullable<ClassTree["class"]>} */ (classTree().class), ended: "act" } }),
    captions("of both languages", "both"),
    captions("of one language", "en"),
    captions("off", "off"),
  ],
};
