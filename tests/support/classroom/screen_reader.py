"""A page used with a keyboard and a screen reader: only the focus and the spoken sentences are known."""

from playwright.sync_api import Page, TimeoutError

MOST_STEPS = 150
HEARD_MS = 30_000
_LISTEN = """() => {
  window.said = [];
  const hear = () => {
    for (const region of document.querySelectorAll("[aria-live], [role=status], [role=alert]")) {
      const text = region.textContent.replace(/\\s+/g, " ").trim();
      if (text && window.said.at(-1) !== text && region.heard !== text) window.said.push(text);
      region.heard = text;
    }
  };
  new MutationObserver(hear).observe(document.body, { subtree: true, childList: true, characterData: true });
  hear();
}"""


class ScreenReader:
    """Moves through a page with Tab, and hears names of elements and sentences of live regions."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._cdp = page.context.new_cdp_session(page)

    def listen(self) -> None:
        """Hears the live regions of the page from now on; again after each navigation."""
        self.page.evaluate(_LISTEN)

    def hears(self, sentence: str) -> None:
        """Waits until a sentence with this in it has been said."""
        try:
            self.page.wait_for_function(
                "(wanted) => window.said.some((sentence) => sentence.includes(wanted))",
                arg=sentence,
                timeout=HEARD_MS,
            )
        except TimeoutError:
            raise AssertionError(f"{sentence!r} was not said, but {self.page.evaluate('window.said')}") from None

    def heard(self, part: str) -> list[str]:
        """The sentences so far with this in them."""
        return [sentence for sentence in self.page.evaluate("window.said") if part in sentence]

    def focused(self) -> tuple[str, str]:
        """The role and the name of what is focused, as the browser tells them to a screen reader."""
        found = self._cdp.send("Runtime.evaluate", {"expression": "document.activeElement"})["result"]
        (node, *_) = self._cdp.send(
            "Accessibility.getPartialAXTree", {"objectId": found["objectId"], "fetchRelatives": False}
        )["nodes"]
        return node.get("role", {}).get("value", ""), node.get("name", {}).get("value", "")

    def go_to(self, role: str, name: str, *, back: bool = False) -> None:
        """Tabs on until an element is focused whose role is this and whose name begins so."""
        met = []
        for _ in range(MOST_STEPS):
            focused = self.focused()
            if focused[0] == role and focused[1].startswith(name):
                return
            met.append(focused)
            self.page.keyboard.press("Shift+Tab" if back else "Tab")
        raise AssertionError(f"no {role} {name!r} among {dict.fromkeys(met)}")

    def press(self, role: str, name: str, key: str = "Enter") -> None:
        """Goes to an element and presses it."""
        self.go_to(role, name)
        self.page.keyboard.press(key)

    def fill(self, name: str, text: str) -> None:
        """Goes to a field and types, in place of what is there."""
        self.go_to("textbox", name)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(text)
