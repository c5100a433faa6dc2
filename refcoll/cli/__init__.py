"""The command line, one command a file.

Exit status: 0 the thing asked for holds, 1 it does not (the first line says what), 2 bad usage.
"""

from refcoll.cli.app import main

__all__ = ["main"]
