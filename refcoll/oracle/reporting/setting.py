"""What was judged, where, and by which command line."""

from __future__ import annotations

import os
import platform
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from refcoll.oracle.adapters.mpi import library_name

_STEERING = re.compile(
    r"MPIR_CVAR_\w+_ALGORITHM|MPIR_CVAR_DEVICE_COLLECTIVES|OMPI_MCA_coll_tuned_\w+"
)
"""Variables by which a library's algorithms are chosen."""


@dataclass(frozen=True)
class Setting:
    """What was judged, and where."""

    implementation: str
    """As on the command line."""
    name: str
    """As it calls itself."""
    size: int
    launched: bool
    """By mpirun; else the ranks are threads."""
    seed: int = 0
    options: Sequence[str] = ()
    """Others that the command line needs for the same implementation."""
    typed: Sequence[str] = ()
    """The words of the command line that this comes from, behind the program's name."""
    known: Mapping[str, str] | None = None
    """The environment, where that of another process is meant."""

    def command(self, *options: str) -> str:
        """A command line that judges it again, in the same way."""
        ranks = ["-n", str(self.size)]
        words = ["judge", self.implementation, *self.options]
        return self._line([*words, *([] if self.launched else ranks), *options])

    def command_typed(self) -> str:
        """The command line that this comes from; options of mpirun's own are not known."""
        return self._line(self.typed)

    def command_cut(self, first: int) -> str:
        """The command line that this comes from, for so many of its calls; it writes no files."""
        words, kept = iter(self.typed), list[str]()
        for word in words:
            name, is_value, _ = word.partition("=")
            if name not in ("--json", "--markdown", "--first"):
                kept.append(word)
            elif not is_value:
                next(words, None)
        return self._line([*kept, "--first", str(first)])

    def _line(self, words: Sequence[str]) -> str:
        chosen = (
            f"{key}={shlex.quote(value)}"
            for key, value in sorted(os.environ.items())
            if _STEERING.fullmatch(key)
        )
        launcher = ["mpirun", "-n", str(self.size)] if self.launched else []
        return " ".join([*chosen, *launcher, "refcoll", shlex.join(words)])

    def environment(self) -> dict[str, str]:
        """Versions and the like, for whoever reads the report elsewhere."""
        if self.known is not None:
            return dict(self.known)
        return {
            "implementation": self.name,
            "ranks": f"{self.size} {'processes' if self.launched else 'threads of one process'}",
            "platform": platform.platform(),
            "processor": platform.machine(),
            "python": platform.python_version(),
            **dict(_versions()),
        }


def _versions() -> Iterator[tuple[str, str]]:
    for package in ("refcoll", "numpy", "mpi4py", "torch"):
        try:
            yield package, version(package)
        except PackageNotFoundError:
            continue
    mpi = sys.modules.get("mpi4py.MPI")  # loaded where it is in use
    if mpi is not None:
        yield "MPI", library_name(mpi.Get_library_version())
