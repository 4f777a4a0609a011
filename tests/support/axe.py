"""axe-core, which finds what a page withholds from assistive technology. It is in tests/data, as npm publishes it."""

from typing import Any

from playwright.sync_api import Page

from tests.support.paths import DATA

AXE = DATA / "axe-core@4.14.1" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def violations(page: Page, *, within: str = "body") -> list[str]:
    """What axe finds in the page as it is: one line for each element, with the rule. Empty where it finds nothing."""
    if not page.evaluate("'axe' in window"):
        # Not by a script element, which the page's policy refuses.
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = page.evaluate(
        """async ([within, rules]) => {
          const options = { runOnly: { type: "tag", values: rules }, resultTypes: ["violations"] };
          return (await axe.run(within, options)).violations;
        }""",
        [within, RULES],
    )
    return [f"{one['id']}: {node['html'][:120]} {node['failureSummary']}" for one in found for node in one["nodes"]]
