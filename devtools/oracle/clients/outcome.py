"""What a part of the conformance run comes to."""

import shutil
from dataclasses import dataclass, field


class ToolMissing(Exception):
    """Something that a part needs is not on this machine; the sentence says what, and what to do."""


@dataclass
class Outcome:
    """How many cases of a part passed, failed, and did not apply; `faults` is what there is to say of the failed."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    faults: list[str] = field(default_factory=list)

    def judge(self, fault: str) -> None:
        """One more case: it passed if `fault` is empty."""
        if fault:
            self.failed += 1
            self.faults.append(fault)
        else:
            self.passed += 1


def tool(name: str, why: str) -> str:
    """The path of a program. Raises ToolMissing."""
    path = shutil.which(name)
    if path is None:
        raise ToolMissing(
            f"There is no `{name}` on the PATH. It was expected for {why}. Install it, or leave that out."
        )
    return path
