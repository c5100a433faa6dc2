"""Wrong arguments of what reads programs, and of explain, which compares them by their cost."""

from __future__ import annotations

from bad_input_making import (
    MOST,
    collective_name,
    node_lists,
    of,
    programs,
    root_rank,
    unknown,
    whole_number,
)
from bad_input_words import (
    A_DICT,
    A_FLAG,
    CAPACITIES,
    INPUTS,
    LATENCY,
    LINK,
    NEGATIVE,
    NOT_AN_OPERATOR,
    NOT_NUMERIC,
    RATE,
)

INTERPRETERS = [
    *of(
        "check",
        *programs("check({})"),
        ("capacities", "wrong type", "check(ring, 0)", f"capacities=0 {CAPACITIES}"),
        ("capacities", "None", "check(ring, None)", f"capacities=None {CAPACITIES}"),
        ("capacities", "a string", "check(ring, '01')", f"capacities='01' {CAPACITIES}"),
        ("capacities", "empty", "check(ring, [])", f"capacities=[] {CAPACITIES}"),
        ("capacities", "negative", "check(ring, [-1])", f"capacities=[-1] {CAPACITIES}"),
        ("capacities", "no integer", "check(ring, [1.5])", f"capacities=[1.5] {CAPACITIES}"),
        ("capacities", "NaN", "check(ring, [nan])", f"capacities=[nan] {CAPACITIES}"),
        unknown("check(ring, oops=1)"),
    ),
    *of(
        "count",
        *programs("count({}, 8)"),
        *whole_number("count(ring, {})", "elements", 0, negative=NEGATIVE),
        ("elements", "too large", "count(ring, 10**30)", "elements, or bytes ... too many to add"),
        ("elements", "not a multiple", "count(exchange, 5)",
         "count=5 must be a multiple of 4, one equal chunk for each rank"),
        ("elements", "another layout", "count(ring, Layout((1, 2)))",
         "layout=Layout(lengths=(1, 2)) must cut 3 elements into 4 chunks"),
        ("elements", "unequal chunks", "count(exchange, Layout((1, 2, 2, 2)))",
         "layout=Layout(lengths=(1, 2, 2, 2)) must cut 7 elements into 4 equal chunks"),
        unknown("count(ring, 8, oops=1)"),
    ),
    *of(
        "cost",
        *programs("cost({}, 8, latency=0, bandwidth=1)"),
        *whole_number("cost(ring, {}, latency=0, bandwidth=1)", "nbytes", 0, negative=NEGATIVE),
        ("nbytes", "too large", "cost(ring, 10**30, latency=0, bandwidth=1)",
         "elements, or bytes ... too many to add up"),
        ("nbytes", "not a multiple", "cost(exchange, 5, latency=0, bandwidth=1)",
         "count=5 must be a multiple of 4, one equal chunk for each rank"),
        *(
            ("latency", kind, f"cost(ring, 8, latency={given}, bandwidth=1)",
             f"latency={given} {LATENCY}")
            for kind, given in (("negative", "-1"), ("NaN", "nan"), ("infinite", "inf"),
                                ("None", "None"), ("wrong type", "'1'"), ("a bool", "True"),
                                ("complex", "1j"))
        ),
        *(
            (name, kind, f"cost(ring, 8, latency=0, {before}{name}={given})",
             f"{name}={given} {RATE}")
            for name, before in (("bandwidth", ""), ("reduce_bandwidth", "bandwidth=1, "))
            for kind, given in (("zero", "0"), ("negative", "-1"), ("NaN", "nan"),
                                ("None", "None"), ("wrong type", "'1'"), ("a bool", "True"),
                                ("complex", "1j"))
            if (name, kind) != ("reduce_bandwidth", "None")
        ),
        *(
            ("ports", kind, f"cost(ring, 8, latency=0, bandwidth=1, ports={given})",
             f'ports={given} must be "several" or "one"')
            for kind, given in (("unknown name", "'two'"), ("wrong type", "1"), ("None", "None"),
                                ("a list", "['one']"))
        ),
        *(
            ("links", kind, f"cost(ring, 8, latency=0, bandwidth=1, links={given})", said)
            for kind, given, said in (
                ("wrong type", "5", f"links=5 {A_DICT}"),
                ("a list", "[(1, 1)]", f"links=[(1, 1)] {A_DICT}"),
                ("unknown name", "{'by sea': (1, 1)}", f"links['by sea']=(1, 1) {LINK}"),
                ("no pair", "{'between nodes': 1}", f"links['between nodes']=1 {LINK}"),
                ("negative", "{'between nodes': (-1, 1)}",
                 f"latency of links['between nodes']=-1 {LATENCY}"),
                ("zero", "{'between nodes': (0, 0)}",
                 f"bandwidth of links['between nodes']=0 {RATE}"),
                ("NaN", "{'between nodes': (0, nan)}",
                 f"bandwidth of links['between nodes']=nan {RATE}"),
            )
        ),
        *(
            ("rails", kind, f"cost(ring, 8, latency=0, bandwidth=1, rails={given})", said)
            for kind, given, said in (
                ("wrong type", "5", "rails=5 must be a dict, such as {'between nodes': 8}"),
                ("a list", "[1]", "rails=[1] must be a dict, such as {'between nodes': 8}"),
                ("unknown name", "{'by sea': 1}", "rails['by sea']: there are no such links"),
                ("no integer", "{'between nodes': 1.5}",
                 "rails['between nodes']=1.5 is not an integer; use an int"),
                ("zero", "{'between nodes': 0}", "rails['between nodes']=0 must be at least 1"),
            )
        ),
        ("any other", "missing", "cost(ring, 8)", "'latency' and 'bandwidth'", TypeError),
        unknown("cost(ring, 8, latency=0, bandwidth=1, oops=1)"),
    ),
    *of(
        "simulate",
        *programs("simulate({}, [ones] * 4)"),
        ("inputs", "wrong type", "simulate(ring, 5)", "inputs=5 must be a list of 4 arrays"),
        ("inputs", "None", "simulate(ring, None)", "inputs=None must be a list of 4 arrays"),
        ("inputs", "a dict", "simulate(ring, {})", "inputs={} must be a list of 4 arrays"),
        ("inputs", "no arrays", "simulate(ring, [[1, 2]] * 4)",
         "inputs must be numpy arrays, got ['list', ... use numpy.asarray"),
        ("inputs", "empty", "simulate(ring, [])", f"{INPUTS} []"),
        ("inputs", "too few ranks", "simulate(ring, [ones] * 3)", f"{INPUTS} [((4,), 'float64'),"),
        ("inputs", "too many ranks", "simulate(ring, [ones] * 5)", f"{INPUTS} [((4,), 'float64'),"),
        ("inputs", "wrong length", "simulate(ring, [ones, ones, ones, np.ones(5)])",
         f"{INPUTS} [((4,), 'float64'), ... ((5,), 'float64')]"),
        ("inputs", "wrong dtype", "simulate(ring, [ones, ones, ones, np.ones(4, int)])",
         f"{INPUTS} [((4,), 'float64'), ... ((4,), 'int64')]"),
        ("inputs", "wrong shape", "simulate(ring, [np.ones((2, 2))] * 4)",
         "inputs must have one dimension, got shape (2, 2); use reshape(-1)"),
        ("inputs", "objects", "simulate(ring, [np.array([{}] * 4)] * 4)",
         f"dtype=object {NOT_NUMERIC}"),
        ("inputs", "structured", "simulate(ring, [np.zeros(4, 'f4, i4')] * 4)",
         f"dtype=[('f0', ... {NOT_NUMERIC}"),
        ("inputs", "not a multiple", "simulate(exchange, [np.ones(5)] * 4)",
         "count=5 must be a multiple of 4, one equal chunk for each rank"),
        ("op", "unknown name", "simulate(ring, [ones] * 4, 'median')",
         f"op='median' {NOT_AN_OPERATOR}"),
        ("op", "wrong type", "simulate(ring, [ones] * 4, np.add)",
         f"op=<ufunc 'add'> {NOT_AN_OPERATOR}"),
        ("op", "None", "simulate(ring, [ones] * 4, None)", f"op=None {NOT_AN_OPERATOR}"),
        ("op", "not for floats", "simulate(ring, [ones] * 4, 'bitwise_or')",
         "op='bitwise_or' is not defined for dtype=float64, only for bool, integers"),
        ("layout", "wrong type", "simulate(ring, [ones] * 4, layout=(1, 1, 1, 1))",
         "layout=(1, 1, 1, 1) is no Layout; program.layout(elements) makes one"),
        ("layout", "too few chunks", "simulate(ring, [ones] * 4, layout=Layout((2, 2)))",
         "layout=Layout(lengths=(2, 2)) must cut 4 elements into 4 chunks"),
        ("layout", "wrong sum", "simulate(ring, [ones] * 4, layout=Layout((1, 1, 1, 9)))",
         "layout=Layout(lengths=(1, 1, 1, 9)) must cut 4 elements into 4 chunks"),
        unknown("simulate(ring, [ones] * 4, oops=1)"),
    ),
    *of("draw", *programs("draw({})"), unknown("draw(ring, oops=1)")),
    *of(
        "explain",
        *collective_name("collective", "explain({}, 4, 8)"),
        *whole_number("explain('all_reduce', {}, 8)", "size", 1, MOST),
        *whole_number("explain('all_reduce', 4, {})", "nbytes", 0, negative=NEGATIVE),
        ("nbytes", "too large", "explain('all_reduce', 4, 10**30)",
         "elements, or bytes ... too many to add up"),
        *root_rank("explain('broadcast', 4, 8, root={})"),
        ("root", "not applicable", "explain('all_reduce', 4, 8, root=1)",
         "root=1 has no meaning for all_reduce: leave it out"),
        *node_lists("explain('all_reduce', 4, 8, nodes={})"),
        ("in_order", "wrong type", "explain('all_reduce', 4, 8, in_order='yes')",
         f"in_order='yes' {A_FLAG}"),
        ("in_order", "None", "explain('all_reduce', 4, 8, in_order=None)",
         f"in_order=None {A_FLAG}"),
        ("in_order", "order asked of a root", "explain('reduce', 4, 8, root=2, in_order=True)",
         "no algorithm for reduce with root=2 keeps rank order ... use root=0"),
        unknown("explain('all_reduce', 4, 8, oops=1)"),
    ),
]  # fmt: skip
