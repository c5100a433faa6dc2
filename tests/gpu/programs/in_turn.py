"""Other programs, one after another in one job: most of the time of a short one goes into its
start.

Each argument is a program of this folder and what it is given, with colons between.
"""

import runpy
import sys
from pathlib import Path

for each in sys.argv[1:]:
    name, *arguments = each.split(":")
    sys.argv = [name, *arguments]
    runpy.run_path(str(Path(__file__).parent / name), run_name="__main__")
