// The front page: the recording that plays by itself, and then the search field. All else is the server's.
import { fetchAhead } from "../../kit/ahead.js";
import { startHero } from "./hero.js";

const recording = document.querySelector("[data-recording]");
try {
  if (recording instanceof HTMLElement) await startHero(recording);
} finally {
  await import("../../parts/search.js");
  fetchAhead();
}
