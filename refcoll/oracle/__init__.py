"""Is *your* all-reduce right, and if not, what is wrong with it, in words?

implementation.py   what is judged              adapters/     of MPI, torch.distributed, refcoll
calls.py            by which calls              probes.py     with which inputs
truth.py            what is right               guarded.py    in which buffers
judging.py          the verdict on a call       trial.py, run.py, verdicts.py, endings.py
courts.py           on threads                  processes.py  in jobs, with bell.py
making.py           made by all ranks           watchdog.py   what does not return: hanging.py
diagnosing/         what went wrong             reporting/    told, with xfails.py declared
revealing/          the order of a sum          monitoring.py bytes, by Open MPI
mutants/            faults to be found          vectors/      for other languages
suite.py            a test-suite for pytest
"""
