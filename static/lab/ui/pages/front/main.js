// The front page: starts the recording, then the search field. Everything else is rendered by the server.
import { fetchAhead } from "../../kit/ahead.js";
import { startHero } from "./hero.js";

const recording = document.querySelector("[data-recording]");
try {
  if (recording instanceof HTMLElement) await startHero(recording);
} finally {
  await import("../../parts/search.js");
  fetchAhead();
}
