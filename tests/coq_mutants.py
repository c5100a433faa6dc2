"""Every way to change one index in a definition in Coq, and whether Python's schedules tell.

A definition is stated again, changed, in a module of its own, with all that follow it; the
proofs play no part.  One run of Coq then compares all mutants with what Python does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import coq
from coq_terms import BOUND, Bound, head, instances, named_numbers, program_term, several

DEFINITIONS = {
    "Lists": ("range",),
    "Combinators": ("padded", "turned", "reverse"),
    "Places": ("index_of", "member", "size_of"),
    "Groups": ("with_peer", "on_ranks"),
    "Chunking": ("cut", "widened", "with_chunks", "on_chunks"),
    "SideBySide": ("longest", "together"),
    "Ring": ("ring_reduce_scatter", "ring_all_gather", "ring_all_reduce"),
    "Pairwise": ("pairwise_reduce_scatter",),
    "Doubling": ("doubling",),
    "Halving": ("halving_from", "halving", "halving_doubling"),
    "Folding": ("power_below", "survivors", "folding", "fold_in", "folded"),
    "AnySize": ("recursive_doubling_all_reduce", "rabenseifner_all_reduce"),
    "Tree": ("binomial_broadcast", "binomial_reduce", "binomial_all_reduce"),
    "Nodes": ("node_count", "node_of"),
    "Pieces": ("unit", "insert", "node_cuts", "cuts", "place_of", "pieces", "owners", "shares"),
    "Rails": ("largest", "rail", "rails_over", "rails_all_reduce"),
    "Leaders": ("leaders_of", "leaders_all_reduce"),
}
"""What the bound schedules are made of, each after what it is made of."""
INSTEAD = (
    (r" \+ ", " - "), (r" - ", " + "), (r" \* ", " + "), (r" mod ", " / "), (r" / ", " * "),
    (r"<\?", "<=?"), (r"<=\?", "<?"), (r" =\? ", " <? "), (r"&&", "||"), (r"\|\|", "&&"),
    (r"Z\.lxor", "Z.lor"), (r"Z\.log2 ", "Z.log2_up "), (r"Z\.log2_up ", "Z.log2 "),
    (r"IntoCopy\b(?! =>)", "IntoReduce"), (r"IntoReduce\b(?! =>)", "IntoCopy"),
)  # fmt: skip
SIZES = range(1, 9)


class Mutant(NamedTuple):
    """A definition with one index changed."""

    file: str
    name: str
    change: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}.{self.name}: {self.change}"


def definition(file: str, name: str) -> str:
    """The sentence of the development that defines it."""
    source = (coq.PROOFS / f"{file}.v").read_text()
    found = re.search(rf"^(Definition|Fixpoint) {name}\b.*?\.$", source, re.S | re.M)
    assert found, f"{file}.v does not define {name}"
    return found[0]


def mutants(file: str) -> Iterator[Mutant]:
    """All mutants of the file's definitions."""
    for name in DEFINITIONS[file]:
        text = definition(file, name)
        for start, stop, other in sorted(_changes(text)):
            changed = text[:start] + other + text[stop:]
            line = text.count("\n", 0, start)
            before, after = (each.split("\n")[line].strip() for each in (text, changed))
            yield Mutant(file, name, f"{before} -> {after}", changed)


def _changes(text: str) -> Iterator[tuple[int, int, str]]:
    """Where something could be something else."""
    for number in re.finditer(r"(?<![\w.])\d+\b", text):
        for near in (int(number[0]) + 1, int(number[0]) - 1):
            if near >= 0:
                yield number.start(), number.end(), str(near)
    for pattern, other in INSTEAD:
        for found in re.finditer(pattern, text):
            yield found.start(), found.end(), other


# ---- asking Coq ---------------------------------------------------------------------------


def unnoticed(changed: list[Mutant]) -> list[Mutant]:
    """Those mutants whose schedules are what Python's are, for every bound algorithm."""
    text = head(DEFINITIONS) + _SAME + "".join(map(_python, BOUND))
    modules = "".join(_module(number, mutant) for number, mutant in enumerate(changed))
    asked = [f"Mutant{number}.agrees" for number in range(len(changed))]
    answers = coq.computed(text + modules, asked)
    return [each for each, answer in zip(changed, answers, strict=True) if answer == "true"]


_SAME = """
Definition action_same (a b : action) : {a = b} + {a <> b}.
Proof. repeat decide equality. Defined.
Definition same (a b : list schedule) : bool :=
  if list_eq_dec (list_eq_dec (list_eq_dec action_same)) a b then true else false.
Fixpoint first_to_differ {X} (does : X -> program) (expected : list (X * Z * list schedule)) :=
  match expected with
  | [] => true
  | (x, size, schedules) :: rest =>
      if same (everyone (does x) size) schedules then first_to_differ does rest else false
  end.
"""


def _python(bound: Bound) -> str:
    """What Python does, for each size or shape."""
    rows = [
        f"({_asked(each.schedule, bound)}, {each.size}, {program_term(each.steps())})"
        for each in instances(SIZES, [bound])
    ]
    kind = "list (list Z)" if "{nodes}" in bound.schedule else "Z"
    return (
        f"Definition python_{bound.schedule.split()[0]} : list ({kind} * Z * list schedule) :=\n"
        f"  {named_numbers(several(rows))}.\n"
    )


def _asked(schedule: str, bound: Bound) -> str:
    """The size, or the nodes, of an instance."""
    return schedule.removeprefix(bound.schedule.partition("{")[0])


def _module(number: int, mutant: Mutant) -> str:
    """The changed definition, those that follow it, and whether all is as in Python."""
    order = [(file, name) for file, names in DEFINITIONS.items() for name in names]
    later = order[order.index((mutant.file, mutant.name)) + 1 :]
    defined = [mutant.text, *(definition(*each) for each in later)]
    files = [mutant.file, *(file for file, _ in later)]
    concerned = [bound for bound in BOUND if bound.file in files]
    agreements = [
        f"first_to_differ (fun x rank => {bound.schedule.format(size='x', nodes='x')}) "
        f"python_{bound.schedule.split()[0]}"
        for bound in concerned
    ]
    agrees = "".join(f"if {each} then " for each in agreements)
    closing = "true" + " else false" * len(agreements)
    text = "\n".join([*defined, f"Definition agrees := {agrees}{closing}."])
    return f"Module Mutant{number}.\n{text}\nEnd Mutant{number}.\n"
