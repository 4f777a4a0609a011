// The instructor's page of a class: /classes/<slug>/board/.
import "./elements.js";
import { HwElement, byId, html } from "../../kit/element.js";
import { board } from "../../classroom/board_state.js";
import { changed, join } from "../../classroom/store.js";
import { ClassRoom } from "../../../core/classroom/class_room.js";

class HwBoardTab extends HwElement {
  render() {
    switch (board.value.tab) {
      case "heat": return html`<hw-heat></hw-heat>`;
      case "people": return html`<hw-people></hw-people>`;
    }
    return html`<hw-wall></hw-wall>`;
  }
}
customElements.define("hw-board-tab", HwBoardTab);

const { slug = "" } = byId("board").dataset;
const scheme = location.protocol === "https:" ? "wss" : "ws";
/** @type {ClassRoom} */
const room = new ClassRoom(`${scheme}://${location.host}/ws/classes/${slug}/`, "board", {
  changed: (what) => changed(what, room),
  isHidden: () => document.hidden,
  now_ms: () => performance.now(),
  WebSocketClass: WebSocket,
});
join(room);
addEventListener("pagehide", () => room.close());
