// Moving through a list of tabs by keyboard.

/** Arrow keys, Home and End walk a list of tabs. */
export function walkTabs(event, names, current, choose) {
  const place = names.indexOf(current);
  const next = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: names.length - 1 }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  const list = event.currentTarget;
  choose(names[(next + names.length) % names.length]);
  requestAnimationFrame(() => list.querySelector("[aria-selected=true]")?.focus());
}
