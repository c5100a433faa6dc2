"""What an implementation is known to get wrong, declared in a file, a pattern a line.

    # collective  operator  dtype    count  inputs   verdict
    all_reduce    min,max   float*   *      special  value    # NaN: depends on the order
    *             *         uint64                            # taken for int64
    reduce_scatter

Words are shell patterns, alternatives with commas between; those left out match anything, and
``-`` matches no operator.  Inputs are those of ``refcoll.oracle.probes``: coded, rough, special,
tiny, huge, extremes, bits; verdicts those of ``refcoll.oracle.verdicts``, with ``-`` for a space.
What stands behind ``#`` is the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from refcoll.errors import ArgumentError
from refcoll.operators import OPERATORS
from refcoll.oracle.calls import COLLECTIVES, Call
from refcoll.oracle.probes import PROBES
from refcoll.oracle.verdicts import VERDICTS, Finding, Judgement
from refcoll.testing.values import DTYPES

_FIELDS = ("collective", "operator", "dtype", "count", "inputs", "verdict")
_KNOWN: Sequence[Sequence[str]] = (
    COLLECTIVES, (*OPERATORS, "-"), DTYPES, (), PROBES,
    [each.replace(" ", "-") for each in VERDICTS],
)  # fmt: skip
"""What the words may match; counts may be any."""


@dataclass(frozen=True)
class Pattern:
    """One line."""

    words: tuple[str, ...]
    reason: str
    line: int

    def covers(self, call: Call) -> bool:
        """Whether it speaks of the call, with whatever inputs."""
        said = (call.collective, call.op or "-", call.dtype, str(call.count))
        return all(map(_matches, self.words[:4], said))

    def explains(self, finding: Finding) -> bool:
        """Whether it declares this."""
        said = (finding.probe, finding.verdict.replace(" ", "-"))
        return self.covers(finding.call) and all(map(_matches, self.words[4:], said))

    def __str__(self) -> str:
        words = list(self.words)
        while len(words) > 1 and words[-1] == "*":
            words.pop()
        return " ".join(words)


def _matches(word: str, said: str) -> bool:
    return any(fnmatchcase(said, each) for each in word.split(","))


@dataclass(frozen=True)
class Xfails:
    """All patterns of a file."""

    patterns: Sequence[Pattern] = ()

    def reason(self, finding: Finding) -> str | None:
        """Why the finding was to be expected, or None."""
        for pattern in self.patterns:
            if pattern.explains(finding):
                return pattern.reason or str(pattern)
        return None

    def unneeded(self, judgements: Iterable[Judgement]) -> list[Pattern]:
        """Patterns of which calls were tried, and none failed."""
        tried = [each for each in judgements if each.skipped is None]
        return [pattern for pattern in self.patterns if _unneeded(pattern, tried)]


def _unneeded(pattern: Pattern, tried: Sequence[Judgement]) -> bool:
    spoken_of = [each for each in tried if pattern.covers(each.call)]
    found = [finding for each in spoken_of for finding in each.findings]
    return bool(spoken_of) and not any(map(pattern.explains, found))


def read(path: str | Path | None) -> Xfails:
    """The patterns of a file; none without a file.

    Raises ArgumentError, with the line, for what is no pattern.
    """
    if path is None:
        return Xfails()
    try:
        text = Path(path).read_text()
    except OSError as error:
        raise ArgumentError(f"xfails={str(path)!r} cannot be read: {error}") from error
    return parsed(text, str(path))


def parsed(text: str, name: str = "xfails") -> Xfails:
    """The patterns of a text; ``name`` is for errors."""
    patterns = []
    for number, line in enumerate(text.splitlines(), 1):
        said, _, reason = line.partition("#")
        words = said.split()
        if words:
            _require_sense(words, f"{name}, line {number}")
            words += ["*"] * (len(_FIELDS) - len(words))
            patterns.append(Pattern(tuple(words), reason.strip(), number))
    return Xfails(patterns)


def _require_sense(words: Sequence[str], place: str) -> None:
    if len(words) > len(_FIELDS):
        raise ArgumentError(f"{place}: {len(words)} words; there are {', '.join(_FIELDS)}")
    for word, field, known in zip(words, _FIELDS, _KNOWN, strict=False):
        for each in word.split(","):
            if known and not any(fnmatchcase(name, each) for name in known):
                raise ArgumentError(
                    f"{place}: {each!r} is no {field}; there are {', '.join(known)}"
                )
