"""Planning: what collectives, and training steps, will cost on a described machine.

machine.py         a machine: links, who shares them, what switches add up
files.py           machines as TOML files
presets.py         machines by name; published.py: the figures they stand on
tables.py          measured times: interpolated inside, extrapolated outside
predicting.py      what a collective takes there, by every algorithm
"""
