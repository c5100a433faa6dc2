"""Writes docs/oracle-mutants.md: python tests/mutants_page.py > docs/oracle-mutants.md"""

from refcoll.oracle.mutants import MUTANTS, score
from refcoll.oracle.mutants.simple_checks import SIMPLE_CHECKS

HEAD = """# The mutants: what the oracle finds, and what simpler checks find

`refcoll.oracle.mutants` holds {total} faulty implementations of collectives. Each is a right one in
which the mechanism of a fault replaces one method; many model a bug report.
`refcoll judge --mutants` judges them all, and every right algorithm of refcoll's library at
N = 1, 2, 3, 4, 5, 7 and 8, and prints the score: the oracle must find all of them, say what is
wrong with each, and say nothing of what is right.

The checks that test-suites commonly make are tried on the same mutants. They are given the calls
that the oracle needed, odd lengths and in-place calls included, which such suites often miss:

| check | what it does |
|---|---|
| all ones | every input is 1; all ranks compare with the exact result |
| same seed | whole numbers, the same on every rank; all ranks compare |
| rtol 1e-2 | random floats, other ones on every rank; all ranks compare, within 1 % |
| rank 0 only | whole numbers, other ones on every rank; rank 0 alone compares |

None of them poisons outputs, guards buffers, looks at inputs afterwards, repeats a call or compares
ranks with each other. `python tests/mutants_page.py > docs/oracle-mutants.md` writes this page.
"""


def page(found):
    """The whole of it, from the score."""
    names = [check.name for check in SIMPLE_CHECKS]
    return "\n".join(
        [
            HEAD.format(total=found.total),
            *_by_class(found, names),
            "",
            *_one_by_one(found, names),
            "",
        ]
    )


def _by_class(found, names):
    yield "## By class\n"
    yield f"| fault | mutants | oracle | {' | '.join(names)} |"
    yield "|---|" + "---:|" * (len(names) + 2)
    faults = list(dict.fromkeys(row.fault for row in found.rows))
    for fault in faults:
        yield _counts(fault, [row for row in found.rows if row.fault == fault], names)
    yield _counts("**all**", found.rows, names)


def _counts(title, rows, names):
    cells = [len(rows), sum(row.found for row in rows)]
    cells += [sum(row.simple[name] for row in rows) for name in names]
    return f"| {title} | {' | '.join(map(str, cells))} |"


def _one_by_one(found, names):
    yield "## One by one\n"
    yield "`x`: found.  N and count: with how many ranks, and at which counts, the fault shows.\n"
    yield f"| mutant | what goes wrong | collective | N | count | oracle | {' | '.join(names)} |"
    yield "|---|---|---|---:|---|" + ":-:|" * (len(names) + 1)
    yield from rows(found, names)


def rows(found, names):
    """A line for each mutant: what it is, whether the oracle finds it, and simpler checks."""
    for mutant, row in zip(MUTANTS, found.rows, strict=True):
        at = mutant.shows_at
        cells = [row.found, *(row.simple[name] for name in names)]
        marks = " | ".join("x" if cell else "-" for cell in cells)
        where = f"{at.collective} | {at.size} | {at.counts}"
        yield f"| {mutant.name} | {mutant.models} | {where} | {marks} |"


if __name__ == "__main__":
    print(page(score(sizes=())), end="")
