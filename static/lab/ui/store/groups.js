// Which consumer group is shown.
import { groupNames } from "../../core/view/groups.js";
import { signal } from "./state.js";

/** @import { View } from "../../core/view/view.d.ts" */

/** The group that is shown, as "group@broker"; "" = the first. */
export const chosen = signal("");
/** Its key in the view, undefined without a group. @param {View} view @returns {string | undefined} */
export function chosenKey(view) {
  const names = groupNames(view);
  return names.includes(chosen.value) ? chosen.value : names[0];
}
