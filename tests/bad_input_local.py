"""Wrong arguments of what one rank does by itself: an error there, and nowhere else.

A row is (argument, kind, the call, what is said); an expression and a message with " ... " in
it, as ``bad_input_making`` says.
"""

from __future__ import annotations

from bad_input_interpreters import INTERPRETERS
from bad_input_making import MOST, node_lists, of, time_limits, tunings, unknown, whole_number
from bad_input_programs import PROGRAMS
from bad_input_words import A_FLAG, NO_INTEGER, NOT_NUMERIC, SECONDS, SIZES, TRANSPORTS

FUNCTIONS = [
    *PROGRAMS,
    *INTERPRETERS,
    *of(
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
        unknown("node_shape([4], oops=1)"),
    ),
    *of(
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
        unknown("user_operator(np.add, 'mine', oops=1)"),
    ),
    *of(
        "spawn",
        *whole_number("spawn({}, repr)", "size", 1, MOST),
        ("function", "wrong type", "spawn(2, 5)",
         "function=5 must be a function of a communicator"),
        ("function", "None", "spawn(2, None)",
         "function=None must be a function of a communicator"),
        *node_lists("spawn(4, repr, nodes={})"),
        *time_limits("spawn(2, repr, timeout={})"),
        ("timeout", "None", "spawn(2, repr, timeout=None)", f"timeout=None {SECONDS}"),
        ("checksums", "wrong type", "spawn(2, repr, checksums='yes')", f"checksums='yes' {A_FLAG}"),
        ("checksums", "None", "spawn(2, repr, checksums=None)", f"checksums=None {A_FLAG}"),
        ("arrays", "wrong type", "spawn(2, repr, arrays=5)",
         "arrays=5 must be a name, or a function of a rank"),
        ("arrays", "unknown name", "spawn(2, repr, arrays='pigeon')",
         "arrays='pigeon' does not exist; there are"),
        unknown("spawn(2, repr, oops=1)"),
    ),
    *of(
        "Communicator",
        ("transport", "wrong type", "Communicator('mpi')",
         "transport='mpi' is no Transport; refcoll.connect and refcoll.spawn make communicators"),
        ("transport", "None", "Communicator(None)",
         "transport=None is no Transport; refcoll.connect and refcoll.spawn make communicators"),
        *time_limits("Communicator(end, {})"),
        ("timeout", "None", "Communicator(end, None)", f"timeout=None {SECONDS}"),
        *tunings("Communicator(end, tuning={})"),
        unknown("Communicator(end, oops=1)"),
    ),
    *of(
        "connect",
        *(
            ("name", kind, f"connect({given})", f"transport={given} {TRANSPORTS}")
            for kind, given in (("unknown name", "'pigeon'"), ("empty", "''"), ("wrong type", "7"),
                                ("None", "None"), ("a list", "['mpi']"))
        ),
    ),
]  # fmt: skip
"""Functions that one rank calls by itself."""

SAID_TO_NONE = of(
    "connect",
    ("options", "wrong type", "connect('mpi', comm=7)",
     "comm=7 is no mpi4py.MPI.Intracomm; leave it out for all"),
)  # fmt: skip
"""What is wrong before there is a transport by which other ranks could be told."""
SAID_TO_ALL = of(
    "connect",
    *time_limits("connect('mpi', timeout={})"),
    ("timeout", "None", "connect('mpi', timeout=None)", f"timeout=None {SECONDS}"),
    *tunings("connect('mpi', tuning={})"),
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
    *of(
        "CollectivePlan.run",
        *time_limits("plan.run({})"),
        unknown("plan.run(oops=1)"),
    ),
    *of(
        "CollectivePlan.start",
        *time_limits("plan.start({})"),
        unknown("plan.start(oops=1)"),
    ),
    *of(
        "CollectivePlan.wait",
        ("any other", "a timeout", "plan.wait(5)", "takes 1 positional argument", TypeError),
    ),
    *of(
        "Handle.wait",
        ("any other", "a timeout", "handle.wait(5)", "takes 1 positional argument", TypeError),
    ),
    *of("watch", unknown("comm.watch(oops=1)")),
    *of(
        "submit",
        ("function", "wrong type", "comm.submit(5)",
         "function=5 must be a function without arguments"),
        ("function", "None", "comm.submit(None)",
         "function=None must be a function without arguments"),
        unknown("comm.submit(int, oops=1)"),
    ),
    *of(
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
        unknown("comm.empty(3, oops=1)"),
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
