"""Writes docs/times.md: python tests/times_page.py > docs/times.md"""

from refcoll import algorithms
from refcoll.algorithms.declaration import ALWAYS, NEVER
from refcoll.algorithms.symbols import FOLDED, LOG2_N, L, M, N, k, log2_p, p
from refcoll.collectives import COLLECTIVES

HEAD = """# Times in closed form

What `refcoll.cost` finds by playing a schedule, each algorithm also declares as a formula: its time in the
alpha-beta-gamma model. For every N up to 64 the two are equal in rational numbers, to the last bit; where no honest
closed form was found, or only for some N, what is declared is an upper bound, and says so. The formula needs
no schedule: for 16,384 ranks it takes microseconds.

```python
from refcoll import program
from refcoll.rates import Rates, checked_rates

time = program("all_reduce", "ring", 8).claims.time
assert str(time.formula()) == "2(N-1) alpha + 2(N-1)/N S beta + (N-1)/N S gamma"
assert [str(form) for form in time.forms()] == ["14 alpha + 7/4 S beta + 7/8 S gamma"]

rates = checked_rates(latency=3e-6, bandwidth=450e9)  # the words of refcoll.cost
assert abs(time(14 * 10**9, rates) - 54.49e-3) < 1e-5
network = Rates(alpha=3e-6, beta=1 / 450e9, far={{"between nodes": (5e-6, 1 / 50e9)}})
nodes = [range(8 * k, 8 * k + 8) for k in range(2048)]
rails = program("all_reduce", "hierarchical_rails", 16384, nodes=nodes)
assert rails.claims.time(14 * 10**9, network) > 2 * 2047 * 5e-6
```

- S is the vector in bytes; alpha is seconds a message, beta a byte moved, gamma a byte merged. On *several
  ports* the messages of a step pay their alphas together, on *one port* one after another
  (`refcoll/interpreters/clock.py`). `max(...)`: which of these is critical depends on the rates.
- alpha and beta are of the links in use, all alike; where some are slower, a flat algorithm is held to the
  slowest, which is an upper bound (`"time" in claims.bounds`). Algorithms that know nodes have alpha_inter and
  beta_inter for links between nodes, alpha_switch and beta_switch for links between switches.
- The formulas hold for N > 1 (one rank alone takes no time) and for an S that its chunks divide; for another S
  they are near.
- `refcoll count A` prints an algorithm's formula, what it is for one N, and what its letters mean;
  `refcoll list --json FILE` has all of them. Rates in `fractions.Fraction` give exact times.

Everywhere N is the number of ranks, L = log2 N rounded up, p the greatest power of 2 up to N, M the number of
segments, k the radix; `[N>p]` is 1 where that holds, else 0. Other letters stand beside their formula.
*Derived here*: from the schedule, with the reason beside it in the algorithm's file. {exact} of the {total} are exact
for every N and all options, {some} on nodes or switches of equal size, and a bound else; {bounds} is a bound.
`python tests/times_page.py > docs/times.md` writes this page.
"""
KNOWN = {each.name: each.said for each in (N, L, p, log2_p, LOG2_N, FOLDED, M, k)}
"""Those that the head explains."""


def page():
    """The whole of it."""
    every = algorithms()
    exact = sum(each.time_exact is ALWAYS for each in every)
    bounds = sum(each.time_exact is NEVER for each in every)
    head = HEAD.format(
        exact=exact, total=len(every), bounds=bounds, some=len(every) - exact - bounds
    )
    return "\n".join([head, *(line for name in COLLECTIVES for line in _table(name))])


def _table(collective):
    yield f"## {collective}\n"
    yield "| algorithm | time | from |"
    yield "|---|---|---|"
    yield from (_row(each) for each in algorithms(collective))
    yield ""


def _row(each):
    sign = "" if each.time_exact is ALWAYS else "≤ "
    said = [f"{sign}`{each.time}`"]
    if each.one_port:
        said.append(f"one port: {sign}`{each.one_port}`")
    letters = each.time.where | (each.one_port or each.time).where
    said += [f"{name}: {words}" for name, words in letters.items() if KNOWN.get(name) != words]
    if sign and each.time_exact is not NEVER:
        said.append(f"exact for {each.time_exact.said}")
    return f"| `{each.name}` | {'<br>'.join(said)} | {each.time_source} |"


if __name__ == "__main__":
    print(page(), end="")
