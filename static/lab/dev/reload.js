// For `make dev`: reloads the page when a template, a style, a module or a text of a lesson has changed.

const LOOK_MS = 400;

/** The name of what the server serves now; null while it restarts. @returns {Promise<string | null>} */
const build = async () => {
  try {
    return (await (await fetch("/dev/build", { cache: "no-store" })).json()).build;
  } catch {
    return null; // the server is being restarted
  }
};

/** The build that this page was rendered from: files may have changed since, even before this module was loaded. */
const shown = document.querySelector("[data-build]")?.getAttribute("data-build");
const look = async () => {
  const found = await build();
  if (shown && found && found !== shown) location.reload();
  else setTimeout(look, LOOK_MS);
};
look();
