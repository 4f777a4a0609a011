// Handlers of events for templates, with what they read of the event.

/** Of a field that was changed: takes its value. @param {(value: string) => unknown} take @returns {(event: Event) => void} */
export const onValue = (take) => (event) => {
  take(/** @type {HTMLInputElement} */ (event.currentTarget).value);
};

/** Of a form: acts in the place of sending it. @param {(form: HTMLFormElement) => unknown} act @returns {(event: Event) => void} */
export const onSubmit = (act) => (event) => {
  event.preventDefault();
  act(/** @type {HTMLFormElement} */ (event.currentTarget));
};

/** Of a key. @param {(event: KeyboardEvent) => unknown} act @returns {(event: KeyboardEvent) => void} */
export const onKey = (act) => (event) => {
  act(event);
};

/** Of the key Enter, in the place of its usual effect. @param {() => unknown} act @returns {(event: KeyboardEvent) => void} */
export const onEnter = (act) => (event) => {
  if (event.key !== "Enter") return;
  event.preventDefault();
  act();
};

/**
 * Of any event: the element that it happened on or in, if that matches.
 * @param {Event} event
 * @param {string} selector
 * @returns {HTMLElement | null}
 */
export const closest = ({ target }, selector) => (target instanceof Element ? target.closest(selector) : null);
