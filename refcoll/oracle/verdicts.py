"""What is found: verdicts, with a diagnosis in words."""

from __future__ import annotations

from dataclasses import dataclass, field

from refcoll.oracle.calls import Call

VERDICTS = (
    "value", "agreement", "repeatability", "input untouched", "guards intact", "finished",
)  # fmt: skip
ANY = "any"
"""The inputs of a call that never returned: it does not matter which."""


@dataclass(frozen=True)
class Standing:
    """Where a rank stands when a call has not returned on all of them."""

    status: str
    """How the call ended here, or that it has not: see ``endings``."""
    stack: tuple[str, ...] = ()
    """Of the implementation, where it is still in the call: a line a frame, innermost last."""
    tries: int = 1
    """How often the implementation has been called here since all ranks met: inputs are tried
    several times, and a rank that has returned goes on to the next."""


@dataclass(frozen=True)
class Finding:
    """Something wrong, in words."""

    call: Call
    probe: str
    seed: int
    verdict: str
    """Which of ``VERDICTS``."""
    diagnosis: str
    standing: tuple[Standing, ...] = ()
    """By rank, of a call that hangs."""

    def __str__(self) -> str:
        return f"{self.call}, {self.probe} inputs: {self.verdict}: {self.diagnosis}"


@dataclass
class Judgement:
    """What came of one call."""

    call: Call
    skipped: str | None = None
    """Why it was not tried: not supported."""
    probes: tuple[str, ...] = ()
    findings: list[Finding] = field(default_factory=list)
    last: bool = False
    """Whether nothing can be judged after it."""

    @property
    def right(self) -> bool:
        """Tried, and nothing wrong."""
        return self.skipped is None and not self.findings

    @property
    def hangs(self) -> bool:
        """Whether the implementation has not returned on some rank."""
        return any(finding.standing for finding in self.findings)
