"""Is *your* all-reduce right, and if not, what is wrong with it, in words?

implementation.py   what is judged              adapters/     of MPI, torch.distributed, refcoll
calls.py            by which calls              lengths.py, history.py
probes.py           with which inputs           probing/
truth.py            what is right               merging.py, comparing.py, special_values.py
bounds.py           how far from it is right    doubled.py, floats.py
guarded.py          in which buffers            buffers.py
judging.py          the verdict on a call       trial.py, run.py, agreement.py, verdicts.py
courts.py           on threads                  processes.py  in jobs, with bell.py
making.py           made by all ranks           watchdog.py   what does not return: hanging.py
endings.py          how a call ended            apart.py      in a process that may crash
diagnosing/         what went wrong             reporting/    told, with xfails.py declared
revealing/          the order of a sum          monitoring.py bytes, by Open MPI
mutants/            faults to be found          vectors/      for other languages
replaying.py        what must come before   spelling.py    calls from their words
suite.py            a test-suite for pytest
"""
