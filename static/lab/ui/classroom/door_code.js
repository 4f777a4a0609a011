// The class code, where the page's template shows it: asked for again when the door or the code has changed. Codes are in no event.
import { computed, effect, signal } from "@preact/signals-core";
import { connection, tree } from "./store.js";

/** Whether many wrong codes have come lately. */
export const isAttacked = signal(false);

let asked = 0;

async function renew() {
  const mine = ++asked;
  try {
    const answer = await fetch(location.href);
    const found = answer.ok ? new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[data-door]") : null;
    // Answers may come in another order than they were asked for.
    if (found && mine === asked) document.querySelector("[data-door]")?.replaceChildren(...found.childNodes);
  } catch {
    // The network is down. The next connection asks again.
  }
}

/** Keeps the code up to date; returns what takes the frames of the class. */
export function keepCode() {
  let known = "";
  effect(() => {
    const { door } = tree.value;
    if (!door) return;
    const now = JSON.stringify([door.is_open, door.until_us]);
    if (known && known !== now) {
      isAttacked.value = false;
      void renew();
    }
    known = now;
  });
  // A frame that tells of a new code does not reach a page without a connection.
  const isOpen = computed(() => connection.value.state === "open");
  effect(() => {
    if (isOpen.value) void renew();
  });
  return (/** @type {{ k: string, why?: string }} */ { k, why }) => {
    if (k !== "alarm") return;
    isAttacked.value = why === "wrong_codes";
    if (why === "new_code") void renew();
  };
}
