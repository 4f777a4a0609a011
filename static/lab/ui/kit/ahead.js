// Fetches modules once the page has what it needs first: its own that come later, and those of the page that is likely to be next.

/** Begins with what `prefetch_modules` has left in the page. */
export const fetchAhead = () => add("template[data-ahead]");
/** Begins with what `modules_for_later` has left in the page: all at once, not level by level. */
export const loadLater = () => add("template[data-later]");

/** @param {string} templates */
function add(templates) {
  for (const template of document.querySelectorAll(templates))
    if (template instanceof HTMLTemplateElement) document.head.append(template.content);
}
