// Fetches the modules of the page that is likely to be next, once this page has what it needs.

/** Begins with what `prefetch_modules` has left in the page. */
export function fetchAhead() {
  for (const template of document.querySelectorAll("template[data-ahead]"))
    if (template instanceof HTMLTemplateElement) document.head.append(template.content);
}
