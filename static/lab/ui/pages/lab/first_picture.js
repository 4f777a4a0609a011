// The instant at which the page has its first picture.
import { effect, moment } from "../../store/state.js";

/** Without a picture, the message that explains why is shown after this time. */
const PATIENCE_MS = 400;

/** Resolves when the first view is drawn, the connection does not come about, or after a while. @returns {Promise<void>} */
export function firstPicture() {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, PATIENCE_MS);
    const end = effect(() => {
      const { seq, connection } = moment.value;
      if (!seq && (connection === "connecting" || connection === "open")) return;
      clearTimeout(timer);
      // The next frame draws it; the task after that frame comes when it is on the screen.
      requestAnimationFrame(() => setTimeout(resolve));
      queueMicrotask(() => end());
    });
  });
}
