"""Bucket rules: exact covers, when a bucket is closed, and values that others have published."""

from __future__ import annotations

from itertools import pairwise

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refcoll.dataparallel.assignment import after_excess, before_overflow, by_size, fused, key
from refcoll.dataparallel.buckets import RULES, assign, bucket_rule
from refcoll.dataparallel.covering import require_cover
from refcoll.dataparallel.libraries import Ddp, Horovod
from refcoll.dataparallel.rules import BucketRule, Own
from refcoll.dataparallel.shapes import parameter_shapes
from refcoll.dataparallel.tensors import Bucket, Tensor
from refcoll.errors import ArgumentError

MIB = 1 << 20
F16, F32, F64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
BF16 = np.dtype(ml_dtypes.bfloat16)


def of(*counts: int, dtype=F32, device="cpu") -> list[Tensor]:
    """Tensors t0, t1, ... of so many elements."""
    return [Tensor(f"t{place}", (count,), dtype, device) for place, count in enumerate(counts)]


def mixed(*counts_and_dtypes) -> list[Tensor]:
    return [
        Tensor(f"t{place}", (count,), dtype)
        for place, (count, dtype) in enumerate(counts_and_dtypes)
    ]


def names(buckets) -> list[list[str]]:
    return [[each.name for each in bucket.tensors] for bucket in buckets]


def counts(buckets) -> list[list[int]]:
    return [[each.count for each in bucket.tensors] for bucket in buckets]


def backwards(tensors) -> list[str]:
    return [each.name for each in tensors][::-1]


# ---- published values --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cap", "sizes"),
    [(25, [2_052_000, 28_852_224, 15_853_824]), (35, [2_052_000, 38_297_600, 6_408_448])],
)
def test_resnet18_as_in_pytorch_issue_48880(cap, sizes):
    """The bucket sizes that pytorch/pytorch#48880 lists for caps of [1, 25] and [1, 35] MiB."""
    model = parameter_shapes("resnet18")
    buckets = assign(model, "ddp", cap_bytes=cap * MIB, first_bytes=MIB)
    assert [each.nbytes for each in buckets] == sizes
    assert buckets[0].tensors[0].name == "fc.bias"
    if cap == 25:
        assert assign(model) == buckets


def test_the_example_of_the_page_on_assignment():
    """3, 2, 2, 4 and 1 with a cap of 5, closed by hand."""
    tensors = of(3, 2, 2, 4, 1)
    assert counts(by_size(tensors, [20])) == [[3, 2], [2, 4], [1]]
    assert counts(after_excess(tensors, 5)) == [[3, 2, 2], [4, 1]]
    assert counts(before_overflow(tensors, 5)) == [[3, 2], [2], [4, 1]]
    assert counts(fused(tensors, 20, 1)) == [[3, 2], [2], [4, 1]]


# ---- PyTorch DDP -------------------------------------------------------------------------


def test_ddp_begins_with_everything_and_then_goes_by_arrival():
    tensors = of(10, 200_000, 100_000, 7_000_000, 5)
    rule = bucket_rule("ddp")
    (first,) = rule.initial(tensors)
    assert names([first]) == [["t0", "t1", "t2", "t3", "t4"]]
    assert (first.limit, first.closed) == (None, "it holds everything")
    arrival = ["t1", "t2", "t0", "t3", "t4"]
    rebuilt = rule.rebuilt(tensors, arrival)
    assert names(rebuilt) == [["t1", "t2"], ["t0", "t3"], ["t4"]]
    assert [each.limit for each in rebuilt] == [MIB, 25 * MIB, 25 * MIB]
    assert [each.closed for each in rebuilt] == ["cap reached", "cap reached", "nothing was left"]


def test_a_bucket_that_holds_exactly_its_cap_is_closed():
    assert counts(by_size(of(3, 2, 1), [5 * 4])) == [[3, 2], [1]]


def test_each_dtype_goes_through_the_caps_by_itself():
    """10 bytes for the first bucket of each dtype, 20 after it."""
    tensors = mixed((3, F32), (1, F64), (5, F32), (1, F64), (2, F64), (1, F64))
    assert names(by_size(tensors, [10, 20])) == [["t0"], ["t2"], ["t1", "t3"], ["t4", "t5"]]


def test_an_explicit_cap_holds_for_the_first_bucket_too():
    tensors = of(200_000, 100_000, 7_000_000)
    assert names(assign(tensors, cap_bytes=25 * MIB)) == [["t2"], ["t1", "t0"]]
    assert [each.limit for each in assign(tensors, cap_bytes=9 * MIB)] == [9 * MIB, 9 * MIB]


def test_to_find_unused_parameters_caps_apply_in_the_models_order_and_stay():
    """1 MiB for the bucket of the first parameters, which is launched last."""
    tensors = of(200_000, 100_000, 7_000_000, 5)
    rule = bucket_rule("ddp", find_unused=True)
    assert names(rule.initial(tensors)) == [["t3"], ["t2"], ["t0", "t1"]]
    assert [each.limit for each in rule.initial(tensors)] == [25 * MIB, 25 * MIB, MIB]
    assert rule.rebuilt(tensors, backwards(tensors)) is None
    assert assign(tensors, "ddp", find_unused=True) == rule.initial(tensors)


def test_a_static_graph_rebuilds_though_unused_parameters_are_found_one_step_later():
    tensors = of(200_000, 100_000, 7_000_000)
    rule = bucket_rule("ddp", find_unused=True, static_graph=True)
    assert len(rule.initial(tensors)) == 1
    assert names(rule.rebuilt(tensors, backwards(tensors))) == [["t2"], ["t1", "t0"]]
    assert (rule.warm_up_steps, bucket_rule("ddp").warm_up_steps) == (2, 1)


def test_several_caps_hold_from_the_first_step_on():
    tensors = of(1, 1, 1, 1, 1, 1)
    rule = bucket_rule("ddp", cap_bytes=(4, 8))
    assert names(rule.initial(tensors)) == [["t5"], ["t3", "t4"], ["t1", "t2"], ["t0"]]
    assert names(rule.rebuilt(tensors, backwards(tensors))) == [
        ["t5"], ["t4", "t3"], ["t2", "t1"], ["t0"],
    ]  # fmt: skip


def test_what_is_left_of_several_dtypes_comes_last_appeared_first():
    tensors = mixed((1, F32), (1, F16), (1, BF16), (1, F32), (1, F64))
    assert names(by_size(tensors, [MIB])) == [["t4"], ["t2"], ["t1"], ["t0", "t3"]]


def test_a_dtype_keeps_its_place_after_a_bucket_of_it_was_closed():
    tensors = mixed((5, F32), (1, F16), (1, F32))
    assert names(by_size(tensors, [20])) == [["t0"], ["t1"], ["t2"]]


def test_before_any_arrival_buckets_are_sorted_by_their_first_parameter_and_turned():
    tensors = mixed((1, F32), (9, F16), (1, F32), (1, F16))
    rule = bucket_rule("ddp", cap_bytes=16, find_unused=True)
    assert names(rule.initial(tensors)) == [["t3"], ["t1"], ["t0", "t2"]]


# ---- DeepSpeed ---------------------------------------------------------------------------


def test_zero_counts_elements_and_closes_before_the_overflow():
    tensors = of(3, 3, 2, 9, 1, 4)
    assert counts(assign(tensors, "deepspeed", arrival=[f"t{i}" for i in range(6)],
                         cap_elements=5)) == [[3], [3, 2], [9], [1, 4]]  # fmt: skip
    assert [each.limit for each in before_overflow(of(1, dtype=F16), 5)] == [10]


def test_zero_by_default_takes_half_a_billion_elements():
    assert names(assign(of(300_000_000, 200_000_001, 5), "deepspeed")) == [["t2", "t1"], ["t0"]]
    assert names(assign(of(300_000_000, 199_999_995, 5), "deepspeed")) == [["t2", "t1", "t0"]]


def test_what_zero_has_left_goes_by_the_dtypes_names():
    tensors = mixed((1, F64), (1, F32), (1, F16), (1, BF16))
    assert names(before_overflow(tensors, 9)) == [["t3"], ["t2"], ["t1"], ["t0"]]


def test_the_fallback_exceeds_its_cap_goes_forward_and_by_dtype():
    tensors = mixed((1, BF16), (5, F32), (1, F16), (1, F32), (2, F32), (2, BF16))
    rule = bucket_rule("deepspeed_fallback", cap_elements=5)
    assert names(rule.initial(tensors)) == [["t1", "t3"], ["t4"], ["t2"], ["t0", "t5"]]
    assert rule.rebuilt(tensors, backwards(tensors)) is None


# ---- Horovod -----------------------------------------------------------------------------


def test_fusion_passes_over_another_dtype_but_not_over_what_is_too_large():
    """A cap of 16 bytes: the float16 is passed over; then 4 + 16 do not fit, and end it."""
    tensors = mixed((1, F32), (2, F16), (1, F32), (4, F32), (1, F32))
    assert names(fused(tensors, 16, 1)) == [["t0", "t2"], ["t1"], ["t3"], ["t4"]]


def test_fusion_looks_no_further_ahead_than_would_fit():
    tensors = mixed((2, F32), (4, F16), (1, F16), (1, F32))
    assert names(fused(tensors, 16, 1)) == [["t0"], ["t1", "t2"], ["t3"]]
    assert names(fused(tensors, 18, 1)) == [["t0", "t3"], ["t1", "t2"]]


def test_fusion_counts_padding_where_the_build_is_for_gpus():
    tensors = of(1, 1, 1, 1)
    assert names(fused(tensors, 32, 16)) == [["t0", "t1"], ["t2", "t3"]]
    assert len(fused(tensors, 32, 1)) == 1


def test_the_threshold_is_128_mib_rounded_up_for_the_ranks_of_a_node():
    """Of 3 ranks a multiple of 3 x 64 x 8 bytes: 87,382 of them."""
    tensors = of(10)
    assert assign(tensors, "horovod")[0].limit == 128 * MIB
    assert assign(tensors, "horovod", local_size=3)[0].limit == 87_382 * 3 * 64 * 8


def test_cycles_are_not_fused_with_one_another():
    tensors = of(1, 2, 3, 4, 5)
    assert counts(assign(tensors, "horovod", cycles=(2, 0, 1))) == [[5, 4], [3], [2, 1]]


@settings(deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=30), st.integers(0, 60))
def test_of_one_dtype_horovod_in_bytes_is_zero_in_elements(sizes, cap):
    tensors = of(*sizes)
    assert counts(fused(tensors, 4 * cap, 1)) == counts(before_overflow(tensors, cap))


# ---- what every rule promises ------------------------------------------------------------

ROWS = st.tuples(
    st.lists(st.integers(0, 9), max_size=3).map(tuple),
    st.sampled_from([F16, BF16, F32, F64]),
    st.sampled_from(["cpu", "cuda:0"]),
)
TENSORS = st.lists(ROWS, min_size=1, max_size=25).map(
    lambda rows: [Tensor(f"t{place}", *row) for place, row in enumerate(rows)]
)
CAP = st.integers(0, 300)


@st.composite
def rules(draw) -> BucketRule:
    name = draw(st.sampled_from(list(RULES)))
    options = {"deepspeed": {"cap_elements": draw(CAP)}, "horovod": {"cap_bytes": draw(CAP)}}
    options["deepspeed_fallback"] = options["deepspeed"]
    options["ddp"] = {
        "cap_bytes": draw(CAP | st.lists(CAP, min_size=1, max_size=3).map(tuple)),
        "find_unused": draw(st.booleans()),
        "static_graph": draw(st.booleans()),
    }
    return bucket_rule(name, **options.get(name, {}))


@settings(deadline=None)
@given(TENSORS, rules(), st.randoms(use_true_random=False))
def test_every_rule_covers_exactly_in_both_stages(tensors, rule, random):
    arrival = [each.name for each in tensors]
    random.shuffle(arrival)
    for buckets in (rule.initial(tensors), rule.rebuilt(tensors, arrival)):
        if buckets is not None:
            require_cover(tensors, buckets)
            assert all(each.closed for each in buckets)


@settings(deadline=None)
@given(TENSORS, st.lists(CAP, min_size=1, max_size=3))
def test_by_size_keeps_the_order_and_closes_at_the_first_chance(tensors, caps):
    buckets = by_size(tensors, caps)
    place = {each.name: number for number, each in enumerate(tensors)}
    closed = dict.fromkeys(map(key, tensors), 0)
    for bucket in buckets:
        within = [place[each.name] for each in bucket.tensors]
        assert within == sorted(within)
        kind = key(bucket.tensors[0])
        cap = caps[min(closed[kind], len(caps) - 1)]
        assert bucket.limit == cap
        assert bucket.nbytes - bucket.tensors[-1].nbytes < cap or len(bucket.tensors) == 1
        assert (bucket.nbytes >= cap) == (bucket.closed == "cap reached")
        closed[kind] += 1
    reached = [each for each in buckets if each.closed == "cap reached"]
    assert buckets[: len(reached)] == reached
    for one, next_one in pairwise(reached):
        assert place[one.tensors[-1].name] < place[next_one.tensors[-1].name]


@settings(deadline=None)
@given(TENSORS, CAP)
def test_before_overflow_only_a_tensor_alone_exceeds_the_cap(tensors, cap):
    of_kind = {}
    for bucket in before_overflow(tensors, cap):
        assert bucket.count <= cap or len(bucket.tensors) == 1
        of_kind.setdefault(key(bucket.tensors[0]), []).append(bucket)
    for buckets in of_kind.values():
        for one, next_one in pairwise(buckets):
            assert one.count + next_one.tensors[0].count > cap


@settings(deadline=None)
@given(TENSORS, CAP)
def test_after_excess_all_but_the_last_of_a_dtype_exceed_the_cap_by_their_last(tensors, cap):
    for bucket in after_excess(tensors, cap):
        assert bucket.count - bucket.tensors[-1].count <= cap
        assert (bucket.count > cap) == (bucket.closed == "cap exceeded")


@settings(deadline=None)
@given(TENSORS, CAP)
def test_fusion_keeps_the_first_first_and_below_the_threshold(tensors, cap):
    buckets = fused(tensors, cap, 1)
    place = {each.name: number for number, each in enumerate(tensors)}
    firsts = [place[bucket.tensors[0].name] for bucket in buckets]
    assert firsts == sorted(firsts)
    assert all(each.nbytes <= cap or len(each.tensors) == 1 for each in buckets)


# ---- the simple rules and one's own ------------------------------------------------------


def test_whole_and_single():
    tensors = mixed((1, F32), (2, F16), (3, F32))
    assert names(assign(tensors, "whole")) == [["t0", "t2"], ["t1"]]
    assert names(assign(tensors, "single")) == [["t2"], ["t1"], ["t0"]]
    assert names(assign(tensors, "single", arrival=["t1", "t0", "t2"])) == [["t1"], ["t0"], ["t2"]]


def test_buckets_of_ones_own():
    tensors = of(1, 2, 3)
    lists = [["t2"], ["t0", "t1"]]
    assert names(assign(tensors, lists)) == lists
    assert names(assign(tensors, lambda given: [[each.name] for each in given])) == [
        ["t0"], ["t1"], ["t2"],
    ]  # fmt: skip
    assert Own(lists).rebuilt(tensors, backwards(tensors)) is None
    assert assign(tensors, Horovod(local_size=2)) == assign(tensors, "horovod", local_size=2)


BAD_BUCKETS = [
    ([["t0"], ["t1", "t0"]], r"rule names 't0' more than once; leaves out 't2': name each"),
    ([["t0", "t1", "t2", "t3"]], r"rule names 't3', which is no parameter"),
    ([["t0", "t1"], [], ["t2"]], r"rule: bucket 1 is empty; leave it out"),
    ([["t0", "t1", "t2"]], r"rule: bucket 0 holds 't0' of float32 on cpu and 't2' of float16"),
    (["t0", "t1", "t2"], r"rule=\['t0', 't1', 't2'\] must be lists of names"),
    (7, r"rule=7 must be lists of names"),
    (lambda tensors: [[each] for each in tensors], r"must be lists of names"),
]


@pytest.mark.parametrize(("rule", "said"), BAD_BUCKETS, ids=[said[:30] for _, said in BAD_BUCKETS])
def test_buckets_of_ones_own_that_are_no_partition_are_refused(rule, said):
    with pytest.raises(ArgumentError, match=said):
        assign(mixed((1, F32), (2, F32), (3, F16)), rule)


def test_devices_do_not_mix():
    tensors = [Tensor("a", (1,)), Tensor("b", (1,), device="cuda:0")]
    with pytest.raises(ArgumentError, match="'a' of float32 on cpu and 'b' of float32 on cuda:0"):
        assign(tensors, [["a", "b"]])


@pytest.mark.parametrize("name", ["deepspeed", "horovod", "single"])
def test_what_goes_by_arrival_expects_the_models_order_backwards(name):
    tensors, rule = of(1, 2, 3), bucket_rule(name)
    assert rule.initial(tensors) == rule.rebuilt(tensors, backwards(tensors))
    assert rule.initial(tensors)[0].tensors[0].name == "t2"


def test_a_strangers_rule_is_checked_too():
    class Forgetful:
        warm_up_steps = 1

        def initial(self, tensors):
            return (Bucket(1, tuple(tensors)),)

        def rebuilt(self, tensors, arrival):
            return (Bucket(0, tuple(tensors[1:])),)

    with pytest.raises(ArgumentError, match="rule leaves out 't0'"):
        assign(of(1, 2), Forgetful())
    with pytest.raises(ArgumentError, match="bucket 0 has index=1; number them from 0"):
        require_cover(of(1, 2), Forgetful().initial(of(1, 2)))


BAD_ARGUMENTS = [
    ({"rule": "dpp"}, r"rule='dpp' is not known: use one of ddp, deepspeed, "),
    ({"cap_elements": 5}, r"cap_elements=5 is no option of a rule 'ddp', but of deepspeed, "),
    ({"rule": "whole", "find_unused": True}, r"find_unused=True is no option of a rule 'whole'"),
    ({"rule": [["t0", "t1"]], "cap_bytes": 0}, r"cap_bytes=0 is no option of a rule of one's own"),
    ({"cap_mb": 25}, r"cap_mb=25 is no option of a rule 'ddp', but of none"),
    ({"cap_bytes": -1}, r"cap_bytes=-1 must not be negative"),
    ({"cap_bytes": 2.5}, r"cap_bytes=2.5 is not an integer"),
    ({"cap_bytes": (5, True)}, r"cap_bytes=True is not an integer"),
    ({"cap_bytes": ()}, r"cap_bytes=\(\) must hold a cap"),
    ({"cap_bytes": (5, 6), "first_bytes": 1}, r"cap_bytes=\(5, 6\) .* without first_bytes"),
    ({"first_bytes": 26 * MIB}, r"first_bytes=27262976 must not exceed cap_bytes=26214400"),
    ({"find_unused": "yes"}, r"find_unused='yes' must be True or False"),
    ({"rule": "horovod", "local_size": 0}, r"local_size=0 must be at least 1"),
    ({"arrival": ["t0"]}, r"arrival leaves out 't1': name each parameter exactly once"),
    ({"rule": "whole", "arrival": "t0"}, r"arrival='t0' must be a list of names"),
]


@pytest.mark.parametrize(("arguments", "said"), BAD_ARGUMENTS, ids=lambda each: str(each)[:40])
def test_bad_arguments_are_refused(arguments, said):
    with pytest.raises(ArgumentError, match=said):
        assign(of(1, 2), **arguments)


@pytest.mark.parametrize("tensors", [[], [1], [*of(1), *of(2)]])
def test_tensors_are_at_least_one_and_distinct(tensors):
    with pytest.raises(ArgumentError, match=r"^tensors"):
        assign(tensors)


def test_every_rule_keeps_the_contract():
    for name in RULES:
        assert isinstance(bucket_rule(name), BucketRule)
    assert bucket_rule("ddp", cap_bytes=None, find_unused=False) == Ddp()
