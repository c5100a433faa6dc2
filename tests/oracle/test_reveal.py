"""What is revealed, beside what is known: programs' own expressions, and odd orders on purpose."""

from __future__ import annotations

import numpy as np
import pytest

from refcoll.errors import ArgumentError
from refcoll.oracle.calls import Call
from refcoll.oracle.revealing.agreeing import How
from refcoll.oracle.revealing.masks import DTYPES, MASKS, NoTree, counted, mask, tree_of
from refcoll.oracle.revealing.naming import names
from refcoll.oracle.revealing.orders import orders, tables
from refcoll.oracle.revealing.precision import widths
from refcoll.oracle.revealing.report import told, verdict
from refcoll.oracle.revealing.reveal import reveal
from refcoll.testing.values import dtype_named
from reveal_cases import (
    ByRun,
    broken,
    by_address,
    by_element,
    by_first_value,
    by_peak,
    by_size,
    by_value,
    each_from_itself,
    evaluating,
    everywhere,
    exact,
    expected,
    forwards,
    in_bfloat16,
    in_order,
    kahan,
    programs,
    ring_from_50,
    running,
    three_at_once,
    three_exactly,
    wide,
    wide_in_a_node,
)

COLLECTIVES = ("all_reduce", "reduce", "reduce_scatter", "scan", "exscan")


def revealed(function, size=5, counts=(6,), dtype="float32", collective="all_reduce"):
    return reveal(function, "odd", size, Call(collective, 1, dtype), counts)


def trees(found, rank=0):
    return [str(each.tree) for each in found.at[0].orders[rank]]


# ---- every algorithm ---------------------------------------------------------------------


def by_element_of(found):
    return {
        rank: [each.tree for each in stretches for _ in range(each.start, each.stop)]
        for rank, stretches in found.items()
    }


def require_revealed(collective, size):
    for name, options in programs(collective, size):
        made, ask = evaluating(collective, name, size, **options)
        per_rank = collective == "reduce_scatter"
        count = 2 if per_rank else made.chunks + 1
        call = Call(collective, count)
        found = orders(call, size, tables(ask, call, size))
        whole = count * size if per_rank else count
        wanted = expected(made, whole)
        wanted = {rank: wanted[rank] for rank in found}
        assert by_element_of(found) == wanted, (name, options)
        agreeing = [
            each for each in names(collective, size, 0, count, found) if each.said.startswith(name)
        ]
        assert agreeing, (name, options)
        assert agreeing[0].how == How.EXACTLY


@pytest.mark.parametrize(
    "size", [2, 3, 4, 5, 7, 8, *(pytest.param(size, marks=pytest.mark.long) for size in (6, 9))]
)
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_every_algorithm_is_revealed_and_named(collective, size):
    """Of those between powers of two, 5 folds the fewest ranks and 7 the most."""
    require_revealed(collective, size)


@pytest.mark.long
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_every_algorithm_is_revealed_and_named_on_16_ranks(collective):
    require_revealed(collective, 16)


@pytest.mark.parametrize(("size", "answers"), [(3, running), (4, running), (7, evaluating)])
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_every_algorithm_is_predicted_to_the_bit(collective, size, answers):
    for name, options in programs(collective, size):
        _, ask = answers(collective, name, size, **options)
        found = revealed(ask, size, (512,), collective=collective)
        assert found.holds, (name, verdict(found))
        held = found.at[0].prediction
        assert held.vectors_right == held.vectors == 8
        assert held.elements_right == held.elements >= 8 * 512
        assert held.telling > 0 or (size == 3 and collective == "exscan")  # the order shows
        assert found.at[0].arithmetic in (
            "every partial sum is rounded to float32",
            "there are no partial sums to be told from the result, which is float32",
        )


@pytest.mark.parametrize("root", [0, 2])
def test_a_reduce_to_another_root(root):
    _, ask = running("reduce", "binomial", 6, root=root)
    found = reveal(ask, "", 6, Call("reduce", 1, root=root), (3,))
    assert found.holds
    assert list(found.at[0].orders) == [root]
    assert any(n.said == "binomial" and n.how == "exactly" for n in found.at[0].names)


# ---- masks -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_masks_swamp_and_cancel_and_count(dtype):
    """By the values themselves: units vanish beside M, also in float32, and N are counted."""
    size = 100
    m, other, unit = (float(x[0]) for x in mask(0, 1, 3, 1, dtype))
    kind = dtype_named(dtype).type
    assert other == -m
    assert np.isfinite(kind(m) + kind(size) * kind(unit))
    for wider in {kind, np.float32 if dtype != "float64" else np.float64}:
        assert wider(m) - wider(size) * wider(unit) == wider(m)
    units = [kind(0)]
    for _ in range(size):
        units.append(units[-1] + kind(unit))
    assert list(counted(np.array(units), size, dtype)) == list(range(size + 1))
    assert size < 2 ** MASKS[dtype][2]


def test_what_is_no_count_is_unclear():
    odd = np.array([np.nan, np.inf, -1, 0.5, 9, 2], np.float32)
    assert list(counted(odd, 5, "float32")) == [-1, -1, -1, -1, -1, 2]


def test_counts_of_no_tree_are_refused():
    table = {(0, 1): 2, (1, 2): 2, (0, 2): 3}
    with pytest.raises(NoTree, match="ranks 0 and 2 seem to meet among 3"):
        tree_of([0, 1, 2], table)


# ---- odd orders --------------------------------------------------------------------------


def test_an_order_that_depends_on_the_element():
    found = revealed(everywhere(by_element), 4)
    assert trees(found) == ["(((0+1)+2)+3)", "(0+(1+(2+3)))"] * 3
    assert found.at[0].by_element
    assert found.holds  # stable, and predicted
    assert "depends on the element" in "\n".join(told(found))


@pytest.mark.parametrize("function", [by_size, ring_from_50])
def test_an_order_that_depends_on_the_size_and_where_it_changes(function):
    found = revealed(everywhere(function), 4, (1, 7, 90))
    assert [change.last for change in found.changes] == [49]
    assert "up to 49 elements, then" in verdict(found)


@pytest.mark.parametrize("limit", [3, 4, 5, 31, 32, 33, 63, 64])
def test_the_count_at_which_it_changes_is_found_to_the_element(limit):
    def function(x):
        return in_order(x, [0, 1, 2] if x.shape[1] <= limit else [2, 1, 0])

    assert [change.last for change in revealed(everywhere(function), 3, (2, 65)).changes] == [limit]


def test_chunks_that_are_empty_are_no_other_order():
    """Five elements in four chunks of two, two, one and none."""

    def by_chunk(x):
        width = -(-x.shape[1] // 4)
        rows = [in_order(x, [(k + j) % 4 for j in range(4)]) for k in range(4)]
        return np.choose(np.arange(x.shape[1]) // width, rows)

    assert not revealed(everywhere(by_chunk), 4, (1, 2, 5, 9, 100)).changes


def test_an_order_that_depends_on_the_run():
    found = revealed(everywhere(ByRun()))
    assert not found.holds
    assert "depends on the run" in verdict(found)


def test_an_order_that_depends_on_the_address():
    found = revealed(by_address)
    assert not found.holds
    assert "depends on the address of the buffers (in 30 elements)" in verdict(found)


def test_an_order_that_depends_on_the_values():
    found = revealed(everywhere(by_first_value))
    assert not found.holds
    assert "depends on the values" in verdict(found)


@pytest.mark.parametrize("function", [by_value, by_peak])
def test_sorting_is_told_by_its_results(function):
    """Its masks look like one sum of all values, exact or not; random floats show that it is
    neither."""
    found = revealed(everywhere(function))
    assert not found.holds
    held = found.at[0].prediction
    assert held.elements_right < held.elements
    assert held.mismatches[0].startswith("rank 0, element ")


def test_ranks_that_sum_in_different_orders():
    found = revealed(each_from_itself, 4)
    assert found.at[0].by_rank
    assert trees(found, 2) == ["(((0+(2+3))+1))"[1:-1]]
    assert found.holds


def test_what_is_no_sum():
    found = revealed(everywhere(broken))
    assert not found.holds
    assert "no fixed order" in verdict(found)


# ---- how precisely -----------------------------------------------------------------------


def test_three_values_that_meet_at_once():
    found = revealed(everywhere(three_at_once))
    assert trees(found) == ["(((0+1+2)+3)+4)"]


def test_three_values_that_are_summed_exactly():
    found = revealed(everywhere(three_exactly))
    assert trees(found) == ["(({0+1+2}+3)+4)"]
    assert found.holds


def test_an_exact_sum():
    found = revealed(everywhere(exact))
    assert trees(found) == ["{0+1+2+3+4}"]
    assert found.holds
    assert "it is exact, and rounded once to float32" in verdict(found)


def test_kahan_is_told_from_plain_addition():
    found = revealed(everywhere(kahan), 7)
    assert trees(found) == ["((((((0+1)+2)+3)+4)+5)+6)"]
    assert found.holds
    assert "Kahan" in verdict(found)


@pytest.mark.parametrize(
    ("function", "dtype", "said"),
    [
        (forwards, "float32", "every partial sum is rounded to float32"),
        (forwards, "float64", "every partial sum is rounded to float64"),
        (forwards, "bfloat16", "every partial sum is rounded to bfloat16"),
        (forwards, "float16", "every partial sum is rounded to float16"),
        (wide, "float32", "partial sums are kept in float64, and rounded once, to float32"),
        (wide, "bfloat16", "partial sums are kept in float64, and rounded once, to bfloat16"),
        (wide, "float16", "it is exact, and rounded once to float16"),
        (in_bfloat16, "float32", "partial sums are kept in bfloat16, and rounded once, to float32"),
        (wide_in_a_node, "float32", "((0+1)+2) kept in float32; (0+1) kept in float64"),
    ],
)  # fmt: skip
def test_precision_is_told_and_predicts(function, dtype, said):
    found = revealed(everywhere(function), dtype=dtype)
    assert said in verdict(found)
    assert found.holds


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", ["ring", "recursive_doubling"])
def test_accumulating_in_float32_is_told(name, dtype):
    made, _ = running("all_reduce", name, 4)

    def ask(call, inputs, shift=0):
        from refcoll.interpreters.simulate import simulate

        wider = simulate(made, [x.astype(np.float32) for x in inputs])
        return [x.astype(inputs[0].dtype) for x in wider]

    found = revealed(ask, 4, dtype=dtype)
    assert f"kept in float32, and rounded once, to {dtype}" in verdict(found)
    assert found.holds


def mixed_elements(call, inputs, shift=0):
    """Every other element has its partial sums in float64."""
    return everywhere(lambda x: np.where(np.arange(x.shape[1]) % 2, wide(x), forwards(x)))(
        call, inputs
    )


def mixed_ranks(call, inputs, shift=0):
    """Rank 0 has its partial sums in float64."""
    return [*everywhere(wide)(call, inputs)[:1], *everywhere(forwards)(call, inputs)[1:]]


@pytest.mark.parametrize("ask", [mixed_elements, mixed_ranks])
def test_precision_is_the_least_that_a_tree_has_anywhere(ask):
    call = Call("all_reduce", 6)
    (tree,) = widths(ask, call, 4, orders(call, 4, tables(ask, call, 4))).values()
    assert set(tree.values()) == {24}


# ---- names -------------------------------------------------------------------------------


def test_ranks_relabelled():
    """A ring over the ranks in another order: 0, 2, 4, 1, 3."""
    order = [0, 2, 4, 1, 3]
    _, ring = running("all_reduce", "ring", 5)

    def ask(call, inputs, shift=0):
        return ring(call, [inputs[rank] for rank in order])

    found = revealed(ask, 5, (10,))
    named = {each.said: each for each in found.at[0].names}
    assert named["ring"].how == "with ranks relabelled"
    assert named["ring"].agreement.relabelled == tuple(order)
    assert named["ring"].words == (
        "with ranks relabelled: rank 2 does the part of 1, 4 of 2, 1 of 3, ...; its own first "
        "element is (0+(((1+2)+3)+4))"
    )


@pytest.mark.parametrize(
    ("first", "name", "said"),
    [
        ("reduce", "chain", "reduce chain, then a broadcast"),
        ("reduce_scatter", "pairwise", "reduce_scatter pairwise, then any all-gather"),
    ],
)
def test_what_is_put_together_is_named(first, name, said):
    """An all_reduce by a reduce and a broadcast, and by a reduce_scatter and an all_gather."""
    size = 5
    _, ask = running(first, name, size)

    def both(call, inputs, shift=0):
        parts = ask(Call(first, call.count // size if first != "reduce" else call.count), inputs)
        whole = np.concatenate([part for part in parts if part is not None])
        return [whole] * size

    named = {each.said.partition(" (")[0]: each for each in revealed(both, size, (10,)).at[0].names}
    assert named[said].how == "exactly"


def test_a_ring_that_runs_the_other_way():
    """Rank r does what rank -r does, and so chunk c is made as chunk -c is."""
    size = 5
    _, ring = running("all_reduce", "ring", size)

    def ask(call, inputs, shift=0):
        blocks = [x.reshape(size, -1)[[-c % size for c in range(size)]] for x in inputs]
        turned = ring(call, [blocks[-rank % size].reshape(-1) for rank in range(size)])
        return [x.reshape(size, -1)[[-c % size for c in range(size)]].reshape(-1) for x in turned]

    found = revealed(ask, size, (10,))
    name = found.at[0].names[0]
    assert (name.said, name.how) == ("ring", "run the other way")
    assert name.words == (
        "run the other way: rank 4 does the part of 1, 3 of 2, 2 of 3, ...; chunks in the order "
        "0, 4, 3, 2, 1; its own first element is (0+(((1+2)+3)+4))"
    )


def started(by):
    """A ring of which every chunk starts ``by`` ranks later: of 4 ranks and 8 elements."""

    def ask(call, inputs, shift=0):
        with np.errstate(all="ignore"):
            chunks = [
                in_order(
                    [x[2 * c : 2 * c + 2] for x in inputs], [(c + 1 + by + k) % 4 for k in range(4)]
                )
                for c in range(4)
            ]
        return [np.concatenate(chunks)] * 4

    return ask


@pytest.mark.parametrize(
    ("by", "said"),
    [
        (-1, "started 1 rank earlier: rank 3 does the part of 0, 0 of 1, 1 of 2, ...; its own"),
        (1, "started 1 rank later: rank 1 does the part of 0, 2 of 1, 3 of 2, ...; its own"),
        (2, "started 2 ranks later: rank 2 does the part of 0, 3 of 1, 0 of 2, ...; its own"),
    ],
)  # fmt: skip
def test_a_ring_that_starts_elsewhere(by, said):
    found = revealed(started(by), 4, (8,))
    name = found.at[0].names[0]
    assert (name.said, name.how) == ("ring", "started at another rank")
    assert not name.adds_alike  # other bits than those of MPICH's ring
    assert name.words.startswith(said)
    assert name.words.endswith("first element is (0+((1+2)+3))")
    assert f"on 4 ranks: {name.short}" in verdict(found)


def chunks_from_themselves(x):
    """As in Open MPI's ring of three ranks: chunk c is added from rank c on."""
    ways = [in_order(x, [(c + k) % 3 for k in range(3)]) for c in range(3)]
    return np.choose(np.arange(x.shape[1]) * 3 // x.shape[1], ways)


def test_the_plainest_name_comes_first():
    """On three ranks that is also, and exactly, what Bruck's reduce-scatter has."""
    at = revealed(everywhere(chunks_from_themselves), 3, (9,)).at[0]
    first, *others = at.names
    assert (first.said, first.how) == ("ring", "started at another rank")
    assert ("reduce_scatter bruck, then any all-gather", "exactly") in [
        (each.said, each.how) for each in others
    ]
    lines = list(told(revealed(everywhere(chunks_from_themselves), 3, (9,))))
    at = lines.index("  also consistent:")
    assert lines[at - 1].startswith("  name: ring, started 1 rank earlier")
    assert lines[at + 1].startswith("    segmented_ring (segments=1; ")


def test_of_names_that_agree_exactly_the_best_known_comes_first():
    """All that fold neighbours and double add alike; everybody's are named in front."""
    _, ask = running("all_reduce", "swing", 8)
    assert revealed(ask, 8).at[0].names[0].said == "swing"
    _, ask = running("all_reduce", "rabenseifner_half_folding", 7)
    named = [each.said for each in revealed(ask, 7).at[0].names]
    assert named[:3] == ["recursive_doubling", "rabenseifner", "binomial"]


def test_fewer_ranks_that_do_anothers_part_come_first():
    """From the last rank down: `chain` has it so, `linear` only run the other way."""

    def ask(call, inputs, shift=0):
        with np.errstate(all="ignore"):
            return [in_order(inputs, [4, 3, 2, 1, 0])] * 5

    named = revealed(ask, 5).at[0].names
    assert [each.short for each in named[:2]] == [
        "reduce chain, then a broadcast", "linear, run the other way",
    ]  # fmt: skip


def test_two_ranks_tell_nothing():
    _, ask = running("all_reduce", "ring", 2)
    found = revealed(ask, 2)
    assert found.holds
    assert "one order is possible on 2 ranks" in verdict(found)


def test_an_order_of_no_algorithm():
    def mixed(x):
        pairs = (x[0] + x[3]) + (x[1] + x[4]) + (x[2] + x[5])
        return np.where(np.arange(x.shape[1]) % 2, pairs, forwards(x))

    found = revealed(everywhere(mixed), 6)
    assert found.at[0].names == ()
    assert "no algorithm here" in verdict(found)


def test_calls_are_counted():
    """Four tables of N (N - 1) / 2; 5 precisions at N - 2 edges; 64 vectors."""
    found = revealed(everywhere(forwards))
    assert found.at[0].calls == 4 * 10 + 5 * 3 + 64


@pytest.mark.parametrize(
    ("size", "call", "counts", "said"),
    [
        (1, Call("all_reduce", 1), [1], "ranks=1"),
        (4, Call("all_gather", 1, op=None), [1], "collective='all_gather'"),
        (4, Call("all_reduce", 1, "int32"), [1], "dtype='int32'"),
        (4, Call("all_reduce", 1), [0], "sizes=\\[0\\]"),
        (300, Call("all_reduce", 1, "bfloat16"), [1], "ranks=300"),
    ],
)
def test_where_there_is_nothing_to_reveal(size, call, counts, said):
    with pytest.raises(ArgumentError, match=said):
        reveal(everywhere(forwards), "", size, call, counts)
