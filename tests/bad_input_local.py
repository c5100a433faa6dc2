"""Wrong arguments of what one rank does by itself: an error there, and nowhere else.

A row is (argument, kind, the call, what is said); an expression and a message with " ... " in
it, as in ``bad_input_values``.  Names in the expressions: all of refcoll's, and those at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import refcoll
from bad_input_values import (
    A_FLAG,
    NAMES,
    NO_INTEGER,
    NOT_AN_OPERATOR,
    NOT_NUMERIC,
    SECONDS,
)
from refcoll.chunks import Layout
from refcoll.testing.inprocess import InProcess, World


@dataclass(frozen=True)
class Local:
    """One wrong call of a function or method."""

    of: str
    argument: str
    kind: str
    call: str
    said: str
    error: type[Exception] = refcoll.ArgumentError

    @property
    def name(self) -> str:
        return f"{self.of}: {self.argument} {self.kind}"

    def make(self, **names: object) -> object:
        return eval(self.call, {**NAMES, **_MORE}, names)

    @property
    def words(self) -> list[str]:
        return self.said.split(" ... ")


def _of(name, *rows):
    return [Local(name, *row) for row in rows]


def _options(call, argument, least=None, most=None, negative=None):
    """Rows for a whole number: the least that is allowed, the most, and what is said of less
    than none, if it is not that."""
    for kind, given in (
        ("no integer", "2.5"), ("wrong type", "'4'"), ("None", "None"), ("a bool", "True"),
        ("NaN", "nan"), ("a list", "[4]"),
    ):  # fmt: skip
        yield argument, kind, call.format(given), f"{argument}={given} {NO_INTEGER}"
    if least is not None:
        said = negative or f"must be at least {least}"
        yield argument, "negative", call.format(-1), f"{argument}=-1 {said}"
    if least:
        said = f"{argument}={least - 1} must be at least {least}"
        yield argument, "too small", call.format(least - 1), said
    if most is not None:
        said = f"{argument}=1000 ... must be at most {most}"
        yield argument, "too large", call.format("10**30"), said


MOST = 1 << 20
NEGATIVE = "must not be negative"
A_DICT = "must be a dict, such as {'between nodes': (2e-05, 1000000000.0)}"
TRANSPORTS = "does not exist; there are ... (and, for ranks within this process, refcoll.spawn)"
COLLECTIVE = "does not exist; there are all_reduce"
ALGORITHM = "does not exist for all_reduce; there are"
PROGRAM = "is no Program; refcoll.program(...) makes one ... refcoll.from_steps(...)"
LISTS = "must be a list of lists of ranks; refcoll.node_shape((4, 4)) makes them from sizes"
NODES = "must hold each of the ranks 0 to 3 once, and no empty node"
SIZES = "must be a list of numbers of ranks, such as (4, 4, 3)"
STEP = "a step is a tuple of Send, Copy and Reduce, such as (Send(0, 1),) with its comma"
WHOLE = "must name a rank and chunks by integers"
CAPACITIES = "must be a list of numbers of messages that a channel holds, such as (0, 1, math.inf)"
RATE = "must be above 0 bytes per second"
LATENCY = "must be seconds, not negative, and finite"
LINK = "must be (latency, bandwidth), of one of within a node, between nodes"
INPUTS = "inputs must be 4 arrays of one shape and dtype, got"
NO_FILE = "cannot be read"


def _names(argument, call):
    """Rows for the name of a collective."""
    for kind, given in (("unknown name", "'all_to_none'"), ("empty", "''"), ("wrong type", "7"),
                        ("None", "None"), ("a list", "['ring']")):  # fmt: skip
        yield argument, kind, call.format(given), f"{argument}={given} {COLLECTIVE}"


def _nodes(call):
    for kind, given, said in (
        ("wrong type", "5", f"nodes=5 {LISTS}"),
        ("a string", "'2x2'", f"nodes='2x2' {LISTS}"),
        ("not nested", "[0, 1, 2, 3]", f"nodes=[0, 1, 2, 3] {LISTS}"),
        ("bools", "[[False, True], [2, 3]]", f"nodes=[[False, True], [2, 3]] {LISTS}"),
        ("empty", "[]", f"nodes=() {NODES}"),
        ("a rank twice", "[[0, 1], [1, 2, 3]]", f"nodes=((0, 1), (1, 2, 3)) {NODES}"),
        ("too few ranks", "[[0, 1], [2]]", f"nodes=((0, 1), (2,)) {NODES}"),
        ("too many ranks", "[[0, 1], [2, 3, 4]]", f"nodes=((0, 1), (2, 3, 4)) {NODES}"),
        ("an empty node", "[[0, 1], [], [2, 3]]", f"nodes=((0, 1), (), (2, 3)) {NODES}"),
        ("an empty switch", "[[[0, 1], [2, 3]], []]", "has a switch without nodes"),
    ):
        yield "nodes", kind, call.format(given), said


def _root(call):
    yield from _options(call, "root", 0, negative="must be a rank from 0 to 3")
    yield "root", "too large", call.format("4"), "root=4 must be a rank from 0 to 3"


def _program(call):
    for kind, given in (("wrong type", "'ring'"), ("None", "None"), ("a list", "[ring]")):
        yield (
            "program",
            kind,
            call.format(given),
            f"program={given[:2]} ... {PROGRAM}".replace("[r", "[<Program"),
        )


def _timeouts(call):
    for kind, given, said in (
        ("zero", "0", "timeout=0"), ("negative", "-1", "timeout=-1"), ("NaN", "nan", "timeout=nan"),
        ("infinite", "inf", "timeout=inf"), ("too large", "10**400", "timeout=1000 ... "),
        ("wrong type", "'5'", "timeout='5'"), ("a bool", "True", "timeout=True"),
        ("complex", "5j", "timeout=5j"), ("a list", "[5]", "timeout=[5]"),
    ):  # fmt: skip
        yield "timeout", kind, call.format(given), f"{said} {SECONDS}".replace("...  ", "... ")


def _tunings(call):
    for kind, given in (("wrong type", "7"), ("a list", "[]"), ("no such file", "'missing'"),
                        ("a directory", "'/'"), ("a NUL within", "'a\\0b'")):  # fmt: skip
        said = f"tuning='{eval(given)}' {NO_FILE}" if "NUL" not in kind else NO_FILE
        yield "tuning", kind, call.format(given), said


def _unknown(call, said="unexpected keyword argument 'oops'"):
    return "any other", "unknown option", call, said, TypeError


FUNCTIONS = [
    *_of(
        "program",
        *_names("collective", "program({}, 'ring', 4)"),
        ("name", "unknown name", "program('all_reduce', 'magic', 4)",
         f"algorithm='magic' {ALGORITHM}"),
        ("name", "empty", "program('all_reduce', '', 4)", f"algorithm='' {ALGORITHM}"),
        ("name", "wrong type", "program('all_reduce', 7, 4)", f"algorithm=7 {ALGORITHM}"),
        ("name", "None", "program('all_reduce', None, 4)", f"algorithm=None {ALGORITHM}"),
        ("name", "half a pair", "program('all_reduce', 'ring+', 4)",
         "algorithm='' does not exist for all_gather; there are"),
        *_options("program('all_reduce', 'ring', {})", "size", 1, MOST),
        ("size", "not for N ranks", "program('all_reduce', 'bine', 6)",
         "size=6: bine all_reduce is defined for N a power of two only"),
        *_root("program('broadcast', 'chain', 4, root={})"),
        ("root", "not applicable", "program('all_reduce', 'ring', 4, root=1)",
         "root=1 has no meaning for all_reduce: leave it out"),
        *_nodes("program('all_reduce', 'ring', 4, nodes={})"),
        *_options("program('all_reduce', 'ring', 4, segments={})", "segments", 1, MOST),
        *_options("program('all_reduce', 'ring', 4, radix={})", "radix", 2, MOST),
        *_options("program('all_reduce', 'ring', 4, shards={})", "shards", 1, MOST),
        _unknown("program('all_reduce', 'ring', 4, oops=1)"),
    ),
    *_of(
        "algorithms",
        *(row for row in _names("collective", "algorithms({})") if row[1] != "None"),
        ("name", "wrong type", "algorithms(name=7)", "name=7 must be a string, or None for all"),
        ("name", "a list", "algorithms(name=['ring'])", "name=['ring'] must be a string, or None"),
        _unknown("algorithms(oops=1)"),
    ),
    *_of(
        "from_steps",
        *_names("collective", "from_steps({}, [[], []], 1)"),
        ("steps", "wrong type", "from_steps('all_reduce', 5, 1)", "steps=5 must be a list"),
        ("steps", "None", "from_steps('all_reduce', None, 1)", "steps=None must be a list"),
        ("steps", "a string", "from_steps('all_reduce', 'ab', 1)", "steps='ab' must be a list"),
        ("steps", "empty", "from_steps('all_reduce', [], 1)",
         "helpers=0 of 0 ranks must leave at least one"),
        ("steps", "no list within", "from_steps('all_reduce', [[], 3], 1)",
         "steps[1]=3 is no list of steps; call it, if a function"),
        ("steps", "no step within", "from_steps('all_reduce', [[Send(0, 1)], []], 1)",
         f"rank 0 step 1 is Send(chunks=0, to=1); {STEP}"),
        ("steps", "no integer", "from_steps('all_reduce', [[(Send(0, 1.5),)], []], 1)",
         f"rank 0 step 1: Send(chunks=0, to=1.5) {WHOLE}"),
        ("steps", "a bool", "from_steps('all_reduce', [[(Copy((True, 0), 1),)], []], 1)",
         f"rank 0 step 1: Copy(chunks=(True, 0), source=1) {WHOLE}"),
        ("steps", "unknown side", "from_steps('all_reduce', [[(Reduce(0, 1, 'up'),)], []], 1)",
         "rank 0 step 1: ... incoming must be \"left\", \"right\" or None"),
        *_options("from_steps('all_reduce', [[], []], {})", "chunks", 1, MOST),
        ("chunks", "not one a rank", "from_steps('scatter', [[], []], 3)",
         "chunks=3 must be 2, one a rank, for scatter on 2 ranks"),
        ("name", "wrong type", "from_steps('all_reduce', [[], []], 1, name=7)",
         "name=7 must be a string"),
        ("name", "None", "from_steps('all_reduce', [[], []], 1, name=None)",
         "name=None must be a string"),
        *_root("from_steps('broadcast', [[]] * 4, 1, root={})"),
        *_options("from_steps('all_reduce', [[], []], 1, helpers={})",
                  "helpers"),
        ("helpers", "negative", "from_steps('all_reduce', [[], []], 1, helpers=-1)",
         "helpers=-1 of 2 ranks must leave at least one"),
        ("helpers", "too large", "from_steps('all_reduce', [[], []], 1, helpers=2)",
         "helpers=2 of 2 ranks must leave at least one"),
        *_options("from_steps('all_reduce', [[], []], 1, areas={})", "areas", 1, MOST),
        *_options("from_steps('all_reduce', [[], []], 1, result_area={})",
                  "result_area", 0, negative="must be one of the areas=1"),
        ("result_area", "too large", "from_steps('all_reduce', [[], []], 1, result_area=1)",
         "result_area=1 must be one of the areas=1"),
        _unknown("from_steps('all_reduce', [[], []], 1, oops=1)"),
    ),
    *_of(
        "check",
        *_program("check({})"),
        ("capacities", "wrong type", "check(ring, 0)", f"capacities=0 {CAPACITIES}"),
        ("capacities", "None", "check(ring, None)", f"capacities=None {CAPACITIES}"),
        ("capacities", "a string", "check(ring, '01')", f"capacities='01' {CAPACITIES}"),
        ("capacities", "empty", "check(ring, [])", f"capacities=[] {CAPACITIES}"),
        ("capacities", "negative", "check(ring, [-1])", f"capacities=[-1] {CAPACITIES}"),
        ("capacities", "no integer", "check(ring, [1.5])", f"capacities=[1.5] {CAPACITIES}"),
        ("capacities", "NaN", "check(ring, [nan])", f"capacities=[nan] {CAPACITIES}"),
        _unknown("check(ring, oops=1)"),
    ),
    *_of(
        "count",
        *_program("count({}, 8)"),
        *_options("count(ring, {})", "elements", 0, negative=NEGATIVE),
        ("elements", "too large", "count(ring, 10**30)", "elements, or bytes ... too many to add"),
        ("elements", "not a multiple", "count(exchange, 5)",
         "count=5 must be a multiple of 4, one equal chunk for each rank"),
        ("elements", "another layout", "count(ring, Layout((1, 2)))",
         "layout=Layout(lengths=(1, 2)) must cut 3 elements into 4 chunks"),
        ("elements", "unequal chunks", "count(exchange, Layout((1, 2, 2, 2)))",
         "layout=Layout(lengths=(1, 2, 2, 2)) must cut 7 elements into 4 equal chunks"),
        _unknown("count(ring, 8, oops=1)"),
    ),
    *_of(
        "cost",
        *_program("cost({}, 8, latency=0, bandwidth=1)"),
        *_options("cost(ring, {}, latency=0, bandwidth=1)", "nbytes", 0, negative=NEGATIVE),
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
        _unknown("cost(ring, 8, latency=0, bandwidth=1, oops=1)"),
    ),
    *_of(
        "simulate",
        *_program("simulate({}, [ones] * 4)"),
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
        _unknown("simulate(ring, [ones] * 4, oops=1)"),
    ),
    *_of("draw", *_program("draw({})"), _unknown("draw(ring, oops=1)")),
    *_of(
        "explain",
        *_names("collective", "explain({}, 4, 8)"),
        *_options("explain('all_reduce', {}, 8)", "size", 1, MOST),
        *_options("explain('all_reduce', 4, {})", "nbytes", 0, negative=NEGATIVE),
        ("nbytes", "too large", "explain('all_reduce', 4, 10**30)",
         "elements, or bytes ... too many to add up"),
        *_root("explain('broadcast', 4, 8, root={})"),
        ("root", "not applicable", "explain('all_reduce', 4, 8, root=1)",
         "root=1 has no meaning for all_reduce: leave it out"),
        *_nodes("explain('all_reduce', 4, 8, nodes={})"),
        ("in_order", "wrong type", "explain('all_reduce', 4, 8, in_order='yes')",
         f"in_order='yes' {A_FLAG}"),
        ("in_order", "None", "explain('all_reduce', 4, 8, in_order=None)",
         f"in_order=None {A_FLAG}"),
        ("in_order", "order asked of a root", "explain('reduce', 4, 8, root=2, in_order=True)",
         "no algorithm for reduce with root=2 keeps rank order ... use root=0"),
        _unknown("explain('all_reduce', 4, 8, oops=1)"),
    ),
    *_of(
        "node_shape",
        ("sizes", "wrong type", "node_shape(4)", f"sizes=4 {SIZES}"),
        ("sizes", "None", "node_shape(None)", f"sizes=None {SIZES}"),
        ("sizes", "a string", "node_shape('44')", f"sizes='44' {SIZES}"),
        ("sizes", "bytes", "node_shape(b'44')", f"sizes=b'44' {SIZES}"),
        ("sizes", "empty", "node_shape([])", f"sizes=[] {SIZES}"),
        ("sizes", "zero", "node_shape([4, 0])", "sizes=0 must be at least 1"),
        ("sizes", "negative", "node_shape([4, -1])", "sizes=-1 must be at least 1"),
        ("sizes", "no integer", "node_shape([4, 2.5])", f"sizes=2.5 {NO_INTEGER}"),
        ("sizes", "a bool", "node_shape([4, True])", f"sizes=True {NO_INTEGER}"),
        ("sizes", "too large", "node_shape([10**30])", f"sizes=1000 ... must be at most {MOST}"),
        _unknown("node_shape([4], oops=1)"),
    ),
    *_of(
        "user_operator",
        ("function", "wrong type", "user_operator('sum', 'mine')",
         "function='sum' must be a function of two arrays"),
        ("function", "None", "user_operator(None, 'mine')",
         "function=None must be a function of two arrays"),
        ("name", "wrong type", "user_operator(np.add, 7)", "name=7 must be a string"),
        ("name", "None", "user_operator(np.add, None)", "name=None must be a string"),
        ("name", "empty", "user_operator(np.add, '')", "name='' must be a string"),
        ("commutative", "wrong type", "user_operator(np.add, 'mine', commutative='yes')",
         f"commutative='yes' {A_FLAG}"),
        ("commutative", "None", "user_operator(np.add, 'mine', commutative=None)",
         f"commutative=None {A_FLAG}"),
        _unknown("user_operator(np.add, 'mine', oops=1)"),
    ),
    *_of(
        "spawn",
        *_options("spawn({}, repr)", "size", 1, MOST),
        ("function", "wrong type", "spawn(2, 5)",
         "function=5 must be a function of a communicator"),
        ("function", "None", "spawn(2, None)",
         "function=None must be a function of a communicator"),
        *_nodes("spawn(4, repr, nodes={})"),
        *_timeouts("spawn(2, repr, timeout={})"),
        ("timeout", "None", "spawn(2, repr, timeout=None)", f"timeout=None {SECONDS}"),
        ("checksums", "wrong type", "spawn(2, repr, checksums='yes')", f"checksums='yes' {A_FLAG}"),
        ("checksums", "None", "spawn(2, repr, checksums=None)", f"checksums=None {A_FLAG}"),
        ("arrays", "wrong type", "spawn(2, repr, arrays=5)",
         "arrays=5 must be a name, or a function of a rank"),
        ("arrays", "unknown name", "spawn(2, repr, arrays='pigeon')",
         "arrays='pigeon' does not exist; there are"),
        _unknown("spawn(2, repr, oops=1)"),
    ),
    *_of(
        "Communicator",
        ("transport", "wrong type", "Communicator('mpi')",
         "transport='mpi' is no Transport; refcoll.connect and refcoll.spawn make communicators"),
        ("transport", "None", "Communicator(None)",
         "transport=None is no Transport; refcoll.connect and refcoll.spawn make communicators"),
        *_timeouts("Communicator(end, {})"),
        ("timeout", "None", "Communicator(end, None)", f"timeout=None {SECONDS}"),
        *_tunings("Communicator(end, tuning={})"),
        _unknown("Communicator(end, oops=1)"),
    ),
    *_of(
        "connect",
        *(
            ("name", kind, f"connect({given})", f"transport={given} {TRANSPORTS}")
            for kind, given in (("unknown name", "'pigeon'"), ("empty", "''"), ("wrong type", "7"),
                                ("None", "None"), ("a list", "['mpi']"))
        ),
    ),
]  # fmt: skip
"""Functions that one rank calls by itself."""

SAID_TO_NONE = _of(
    "connect",
    ("options", "wrong type", "connect('mpi', comm=7)",
     "comm=7 is no mpi4py.MPI.Intracomm; leave it out for all"),
)  # fmt: skip
"""What is wrong before there is a transport by which other ranks could be told."""
SAID_TO_ALL = _of(
    "connect",
    *_timeouts("connect('mpi', timeout={})"),
    ("timeout", "None", "connect('mpi', timeout=None)", f"timeout=None {SECONDS}"),
    *_tunings("connect('mpi', tuning={})"),
    ("checksums", "wrong type", "connect('mpi', checksums='yes')", f"checksums='yes' {A_FLAG}"),
    ("checksums", "None", "connect('mpi', checksums=None)", f"checksums=None {A_FLAG}"),
    ("options", "unknown option", "connect('mpi', oops=1)",
     "oops is no option: there are comm and shared_memory"),
    ("options", "a number", "connect('mpi', shared_memory=1)",
     "shared_memory=1 must be True or False"),
    ("options", "None", "connect('mpi', shared_memory=None)",
     "shared_memory=None must be True or False"),
)  # fmt: skip
"""What is told to all once there is one."""

METHODS = [
    *_of(
        "CollectivePlan.run",
        *_timeouts("plan.run({})"),
        _unknown("plan.run(oops=1)"),
    ),
    *_of(
        "CollectivePlan.start",
        *_timeouts("plan.start({})"),
        _unknown("plan.start(oops=1)"),
    ),
    *_of(
        "CollectivePlan.wait",
        ("any other", "a timeout", "plan.wait(5)", "takes 1 positional argument", TypeError),
    ),
    *_of(
        "Handle.wait",
        ("any other", "a timeout", "handle.wait(5)", "takes 1 positional argument", TypeError),
    ),
    *_of("watch", _unknown("comm.watch(oops=1)")),
    *_of(
        "submit",
        ("function", "wrong type", "comm.submit(5)",
         "function=5 must be a function without arguments"),
        ("function", "None", "comm.submit(None)",
         "function=None must be a function without arguments"),
        _unknown("comm.submit(int, oops=1)"),
    ),
    *_of(
        "empty",
        ("shape", "None", "comm.empty(None)", f"shape=None {NO_INTEGER}"),
        ("shape", "wrong type", "comm.empty('a')", f"shape='a' {NO_INTEGER}"),
        ("shape", "no integer", "comm.empty(2.5)", f"shape=2.5 {NO_INTEGER}"),
        ("shape", "NaN", "comm.empty([3, nan])", f"shape=nan {NO_INTEGER}"),
        ("shape", "a bool", "comm.empty(True)", f"shape=True {NO_INTEGER}"),
        ("shape", "negative", "comm.empty([3, -1])", "shape=[3, -1] must not be negative"),
        ("shape", "too large", "comm.empty(10**30)",
         "shape=1000 ... is more than there is memory for"),
        ("dtype", "unknown name", "comm.empty(3, 'wide')", "dtype='wide' is no dtype"),
        ("dtype", "wrong type", "comm.empty(3, 7)", "dtype=7 is no dtype"),
        ("dtype", "objects", "comm.empty(3, object)", f"dtype=object {NOT_NUMERIC}"),
        ("dtype", "structured", "comm.empty(3, 'f4, i4')", f"dtype=[('f0', ... {NOT_NUMERIC}"),
        _unknown("comm.empty(3, oops=1)"),
    ),
]  # fmt: skip
"""Methods that one rank calls by itself: of a communicator ``comm``, a ``plan``, a ``handle``."""

CLOSED = [
    "comm.submit(int).wait()",
    "comm.all_reduce(x)", "comm.reduce_scatter(x)", "comm.all_gather(x)", "comm.broadcast(x)",
    "comm.reduce(x)", "comm.gather(x)", "comm.scatter(x)", "comm.all_to_all(x)", "comm.scan(x)",
    "comm.exscan(x)", "comm.barrier()", "comm.all_reduce(x, async_op=True).wait()",
    "comm.all_reduce([1])", "comm.all_reduce(oops=1)", "comm.plan('all_reduce', x)",
    "comm.split(0)", "comm.empty(3)", "plan.run()", "plan.start().wait()",
]  # fmt: skip
"""What a communicator that was closed refuses, with PoisonedError, on the rank that asks."""

ACCEPTED = [
    "comm.broadcast(x, np.int64(0))", "comm.broadcast(x, np.uint8(0))",
    "comm.reduce_scatter(x, counts=(12 // size,) * size)",
    "comm.reduce_scatter(x, counts=np.full(size, 12 // size))",
    "comm.all_reduce(x, timeout=np.float32(5))", "comm.all_reduce(x, timeout=5)",
    "comm.all_reduce(x, async_op=np.bool(True)).wait()", "comm.all_reduce(x, check=np.bool(True))",
    "comm.all_reduce(x, accumulate=float)", "comm.all_reduce(x, accumulate=np.dtype('f8'))",
    "comm.all_reduce(np.array(3.0))", "comm.all_reduce(np.empty(0))", "comm.all_reduce(x, first)",
    "comm.split(comm.rank == 0)", "comm.split(None)", "comm.split(0, key=-1)",
    "comm.plan('broadcast', x, segments=np.int16(3))", "comm.plan('barrier')",
    "comm.plan('all_reduce', x, nodes=np.arange(size).reshape(1, size))",
    "comm.plan('all_reduce', x, algorithm='ring', radix=99)",
    "comm.empty(0)", "comm.empty((2, 3), 'f4')", "comm.empty(3, None)", "plan.run(timeout=7)",
]  # fmt: skip
"""What looks odd and is right: whole numbers and flags of numpy's, no elements, 0 dimensions, a
color that is a bool, an option that the algorithm does not take."""

_MORE = {
    "ring": refcoll.program("all_reduce", "ring", 4),
    "exchange": refcoll.program("all_to_all", "pairwise", 4),
    "ones": np.ones(4), "Layout": Layout, "end": InProcess(World(1), 0),
}  # fmt: skip
