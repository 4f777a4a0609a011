// What the instructor's page shows of the class: the labs, the steps, or the participants.
import "./elements.js";
import { board } from "../../classroom/board_state.js";
import { HwElement, html } from "../../kit/element.js";

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
