// The presenter's lab beside the learner's own, in wide windows: a second, read-only player with its own drawings. The page keeps its own
// player, and acts on that.
import { t } from "../kit/i18n.js";
import { isFollowing, isHeld, lead, leave, ledView, watch } from "./follow.js";
import { isNarrow } from "./room.js";
import { speech } from "./speech.js";
import { computed, effect, signal } from "./state.js";
import { moveTime } from "./view.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Player } from "../../core/player/player.js" */

/** Whether the window has room for two labs. */
export const isWide = computed(() => !isNarrow.value);

/** Whether the presenter's lab is shown beside the page's own. */
export const isBeside = signal(false);
/** The lab that is shown there; null before its first view. @type {Signal<Player | null>} */
export const theirs = signal(null);

/** Shows both labs, or only the page's own. A page that follows returns to its own lab. */
export function toggleBeside() {
  if (isHeld.peek() || !lead.peek()) return;
  if (isFollowing.peek()) leave();
  isBeside.value = !isBeside.peek();
  speech.say("follow", t(isBeside.peek() ? "beside.began" : "beside.ended", { name: lead.peek()?.name }));
}

// It ends with the lead, where there is no room any more, and while the whole page is theirs.
effect(() => {
  if (!lead.value || !isWide.value || isFollowing.value) isBeside.value = false;
});

effect(() => {
  const view = isBeside.value ? ledView.value : null;
  const shown = theirs.peek();
  if (!view) {
    if (!isBeside.value) close();
    return;
  }
  const [run, branch] = view.branch.split("/");
  if (shown?.run !== run || shown.branch !== branch) {
    close();
    theirs.value = watch(run, branch, () => ledView.peek(), () => (isBeside.value = false));
  }
  const now = theirs.peek();
  if (now) moveTime(now, view);
});

function close() {
  theirs.peek()?.close();
  theirs.value = null;
}
