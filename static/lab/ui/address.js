// Every instant has an address: run, branch, time, selection and view.
import { here } from "./actions.js";
import { partition, player, selection, shown } from "./state.js";

/**
 * The address of what is shown, as a path.
 * @param {{withInstant: boolean}} options `withInstant`: it opens at this instant, paused; else at the newest
 */
export function addressOf({ withInstant }) {
  const query = new URLSearchParams();
  if (withInstant) query.set("t", (player.at_us / 1e6).toFixed(6));
  if (partition.value) query.set("p", partition.value);
  if (selection.value) query.set("sel", selection.value);
  if (shown.value === "table") query.set("view", "table");
  const text = query.toString().replace(/%(3A|40|2F|7C)/g, (code) => decodeURIComponent(code));
  // Several events may share an instant: then the number says after which of them.
  const exact = withInstant && player.event(player.seq)?.at_us === player.at_us;
  return here.page + (text && `?${text}`) + (exact ? `#seq=${player.seq}` : "");
}
