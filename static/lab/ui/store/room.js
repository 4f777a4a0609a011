// What the window has room for, as in the stylesheets: in the large view it is as if it were a fifth narrower.
import { signal } from "./state.js";

const laptop = matchMedia("(max-width: 1279px)");
const largeLaptop = matchMedia("(max-width: 1599px)");
const phone = matchMedia("(max-width: 820px)");
const now = () => {
  const isLarge = document.documentElement.dataset.density === "comfortable";
  return (isLarge ? largeLaptop : laptop).matches;
};

/** Whether there is no room for the inspector next to the side panel. */
export const isNarrow = signal(now());
/** The same, but not on a phone. */
export const isTablet = signal(now() && !phone.matches);

function read() {
  isNarrow.value = now();
  isTablet.value = now() && !phone.matches;
}
for (const query of [laptop, largeLaptop, phone]) query.addEventListener("change", read);
addEventListener("densitychange", read);
