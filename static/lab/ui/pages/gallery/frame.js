// How a page of the gallery draws the elements of one group: one after the other, each in its state.
import { nothing, render } from "lit";
import { HwElement, byId, html } from "../../kit/element.js";

/**
 * @typedef {{ tag: string, state?: string, frame?: string, set?: () => unknown, act?: (frame: HTMLElement) => unknown, until?: string,
 *             body: () => unknown }} Shown
 *   An element in a state. `state`: its name, where there are several; `frame`: classes of the frame around it; `set`: brings about the
 *   state before the element is drawn; `act`: what is pressed once it is drawn; `until`: what the frame contains when it has the state.
 *   With `set`, `act` or `until` the element is not redrawn afterwards, because the next one sets another state
 * @typedef {{ shown: Shown[], screen?: string, after?: () => void }} Group `screen`: the value of the signal `shown` (store/state.js)
 *   that its elements need; `after`: what is undone when another group is drawn
 * @typedef {{ stays?: boolean, before?: (group: Group) => void }} How `stays`: another group is drawn without loading the page again,
 *   as modules keep no state of it; `before`: called before a group is drawn
 */

const query = new URLSearchParams(location.search);
/** Pages that move the playhead also change the address. */
const { pathname } = location;
const frame = () => new Promise(requestAnimationFrame);

/** @param {string} group */
const addressOf = (group) => `${pathname}?${new URLSearchParams({ ...Object.fromEntries(query), group })}`;

/** The name of an element in a state, as in tests/data/gallery. @param {Shown} shown */
const nameOf = ({ tag, state }) => (state ? `${tag} ${state}` : tag);

/** @param {HTMLElement} host @returns {HwElement[]} */
const elementsIn = (host) => /** @type {HwElement[]} */ ([...host.querySelectorAll("*")].filter((one) => one instanceof HwElement));

/** Resolves when nothing in the frame waits to be drawn. @param {HTMLElement} host @param {string} [until] */
async function drawn(host, until) {
  do await frame();
  while (elementsIn(host).some((one) => one.isUpdatePending) || (until && !host.querySelector(until)));
  await frame();
}

/** Draws an element into its frame. @param {Shown} item @param {HTMLElement} host */
async function drawItem({ set, act, until, body }, host) {
  await set?.();
  // What draws only what is in sight draws it.
  host.scrollIntoView({ block: "center", behavior: "instant" });
  render(body(), host);
  if (!set && !act && !until) return;
  if (act) {
    await drawn(host);
    await act(host);
  }
  await drawn(host, until);
  for (const one of elementsIn(host)) {
    one.disconnectedCallback();
    one.requestUpdate = () => {};
  }
}

let drawing = 0;

/** @param {Group} group @param {string} name */
async function drawGroup(group, name) {
  const mine = ++drawing;
  delete document.body.dataset.group;
  const host = byId("gallery");
  render(nothing, host);
  render(group.shown.map((item) => html`<section class="gallery-item" data-component=${nameOf(item)}><h2>${nameOf(item)}</h2>
    <div class="gallery-frame ${item.frame ?? ""}"></div></section>`), host);
  const frames = /** @type {NodeListOf<HTMLElement>} */ (host.querySelectorAll(".gallery-frame"));
  for (const [at, item] of group.shown.entries()) {
    await drawItem(item, frames[at]);
    if (mine !== drawing) return;
  }
  // Forms take the focus; its ring would be in the picture of the last one.
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  scrollTo(0, 0);
  document.body.dataset.group = name;
}

/**
 * Shows the group that the address names, or the first one, with a chip for each.
 * @param {Record<string, Group>} groups
 * @param {How} [how]
 */
export function showGroups(groups, { stays = false, before = () => {} } = {}) {
  // In the frame of its element, where all of them can be looked at.
  HTMLDialogElement.prototype.showModal = function showModal() {
    this.open = true;
  };
  if (stays) document.body.dataset.stays = "yes";
  const wanted = query.get("group") ?? "";
  let name = Object.hasOwn(groups, wanted) ? wanted : Object.keys(groups)[0];

  /** @param {MouseEvent} event @param {string} one */
  const choose = (event, one) => {
    if (!stays || event.ctrlKey || event.metaKey || event.shiftKey || !document.body.dataset.group) return;
    event.preventDefault();
    history.replaceState(null, "", addressOf(one));
    groups[name].after?.();
    name = one;
    draw();
  };

  const draw = () => {
    render(Object.keys(groups).map((one) => html`<a class="chip" aria-current=${one === name ? "page" : "false"} href=${addressOf(one)}
      @click=${(/** @type {MouseEvent} */ event) => choose(event, one)}>${one}</a>`), byId("gallery-groups"));
    before(groups[name]);
    void drawGroup(groups[name], name);
  };
  draw();
}
