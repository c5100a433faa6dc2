"""What is found: verdicts, with a diagnosis in words."""

from __future__ import annotations

from dataclasses import dataclass, field

from refcoll.oracle.calls import Call

VERDICTS = (
    "value", "agreement", "repeatability", "input untouched", "guards intact", "finished",
)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """Something wrong, in words."""

    call: Call
    probe: str
    seed: int
    verdict: str
    """Which of ``VERDICTS``."""
    diagnosis: str

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

    @property
    def right(self) -> bool:
        """Tried, and nothing wrong."""
        return self.skipped is None and not self.findings
