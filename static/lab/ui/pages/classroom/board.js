// The instructor's page of a class: /classes/<slug>/board/.
import "./elements.js";
import { HwElement, byId, html } from "../../kit/element.js";
import { board } from "../../classroom/board_state.js";
import { connect } from "../../classroom/connect.js";

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

connect(byId("class").dataset.slug ?? "", "board");
