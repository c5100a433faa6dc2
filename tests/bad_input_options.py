"""What may be wrong with the options of a call that all ranks make together: how, and when."""

from __future__ import annotations

from bad_input_making import Bad, each
from bad_input_words import (
    A_FLAG,
    EACH_ONCE,
    LISTS,
    MEMBERS,
    NARROW,
    NO_INTEGER,
    NOT_NUMERIC,
    SECONDS,
)

OPTIONS = [
    *each(
        "algorithm",
        ("unknown name", "'magic'", "algorithm='magic' does not exist for ... there are"),
        ("empty", "''", "algorithm='' does not exist for ... there are"),
        ("wrong type", "7", "algorithm=7 does not exist for ... there are"),
        ("None", "None", "algorithm=None does not exist for ... there are"),
        ("a list", "['ring']", "algorithm=['ring'] does not exist for ... there are"),
        ("another's", "'dissemination'",
         "algorithm='dissemination' does not exist for ... there are"),
    ),
    Bad("algorithm", "needs more ranks", "'parameter_server_alone'",
        "algorithm='parameter_server_alone' needs 1 more ranks than take part: it can be counted, "
        "checked and simulated, but not run", only=("all_reduce", "plan")),
    Bad("algorithm", "not for N ranks", "'bine'",
        "size=3: bine all_reduce is defined for N a power of two only",
        only=("all_reduce", "plan"), ranks=3),
    Bad("algorithm", "loses the order", "'ring'",
        "op='first' does not commute, and algorithm='ring' does not keep rank order; see "
        "`refcoll list all_reduce`", only=("all_reduce", "plan"), beside={"op": "first"}),
    *each(
        "accumulate",
        ("unknown name", "'wide'", "accumulate='wide' is not a dtype; use one such as 'float32'"),
        ("wrong type", "7", "accumulate=7 is not a dtype; use one such as 'float32'"),
        ("a bool", "True", "accumulate=True is not a dtype; use one such as 'float32'"),
        ("narrower", "'float16'", f"accumulate=float16 {NARROW}"),
        ("another kind", "'int64'", f"accumulate=int64 {NARROW}"),
        ("objects", "'O'", f"accumulate: dtype=object {NOT_NUMERIC}"),
        ("structured", "'f4, i4'", f"accumulate: dtype=[('f0', ... {NOT_NUMERIC}"),
    ),
    *each(
        "async_op",
        ("wrong type", "'yes'", f"async_op='yes' {A_FLAG}"),
        ("None", "None", f"async_op=None {A_FLAG}"),
        ("a number", "1", f"async_op=1 {A_FLAG}"),
    ),
    *each(
        "check",
        ("wrong type", "'no'", f"check='no' {A_FLAG}"),
        ("None", "None", f"check=None {A_FLAG}"),
        ("a number", "0", f"check=0 {A_FLAG}"),
    ),
    *each(
        "timeout",
        ("zero", "0", f"timeout=0 {SECONDS}"),
        ("negative", "-1", f"timeout=-1 {SECONDS}"),
        ("NaN", "nan", f"timeout=nan {SECONDS}"),
        ("infinite", "inf", f"timeout=inf {SECONDS}"),
        ("too large", "10**400", f"timeout=1000 ... {SECONDS}"),
        ("wrong type", "'5'", f"timeout='5' {SECONDS}"),
        ("a bool", "True", f"timeout=True {SECONDS}"),
        ("complex", "np.complex64(5)", f"timeout=np.complex64(5+0j) {SECONDS}"),
        ("a list", "[5]", f"timeout=[5] {SECONDS}"),
    ),
    *each(
        "collective",
        ("unknown name", "'all_to_none'", "collective='all_to_none' does not exist; there are"),
        ("empty", "''", "collective='' does not exist; there are all_reduce"),
        ("wrong type", "7", "collective=7 does not exist; there are all_reduce"),
        ("None", "None", "collective=None does not exist; there are all_reduce"),
        ("a list", "['barrier']", "collective=['barrier'] does not exist; there are all_reduce"),
        ("missing", "", "missing a required argument: 'collective'; it takes collective"),
    ),
    *each(
        "nodes",
        ("wrong type", "2", f"nodes=2 {LISTS}"),
        ("a string", "'2x2'", f"nodes='2x2' {LISTS}"),
        ("not nested", "[*range(size)]", f"nodes=[0, 1 ... {LISTS}"),
        ("no integers", "[[0.0, *range(1, size)]]", f"nodes=[[0.0 ... {LISTS}"),
        ("bools", "[[False, True, *range(2, size)]]", f"nodes=[[False ... {LISTS}"),
        ("None within", "[[*range(size)], None]", f"nodes=[[0 ... {LISTS}"),
        ("empty", "[]", f"nodes=() {EACH_ONCE}"),
        ("an empty node", "[[*range(size)], []]", f"nodes=((0, ... {EACH_ONCE}"),
        ("too few ranks", "[[*range(last)]]", f"nodes=((0, ... {EACH_ONCE}"),
        ("too many ranks", "[[*range(size + 1)]]", f"nodes=((0, ... {EACH_ONCE}"),
        ("a rank twice", "[[*range(size)], [0]]", f"nodes=((0, ... {EACH_ONCE}"),
        ("a negative rank", "[[*range(last), -1]]", f"nodes=((0, ... {EACH_ONCE}"),
        ("an empty switch", "[[[*range(size)]], []]", "nodes=[[[0, ... has a switch without nodes"),
    ),
    *(
        bad
        for option, least in (("segments", 1), ("radix", 2), ("shards", 1))
        for bad in each(
            option,
            ("too small", f"{least - 1}", f"{option}={least - 1} must be at least {least}"),
            ("negative", "-1", f"{option}=-1 must be at least {least}"),
            ("too large", "2**20 + 1", f"{option}=1048577 must be at most 1048576"),
            ("no integer", "2.5", f"{option}=2.5 {NO_INTEGER}"),
            ("wrong type", "'8'", f"{option}='8' {NO_INTEGER}"),
            ("None", "None", f"{option}=None {NO_INTEGER}"),
            ("a bool", "True", f"{option}=True {NO_INTEGER}"),
            ("NaN", "nan", f"{option}=nan {NO_INTEGER}"),
        )
    ),
    *each(
        "color",
        ("wrong type", "'red'", f"color='red', key=0 {MEMBERS}"),
        ("no integer", "1.5", f"color=1.5, key=0 {MEMBERS}"),
        ("NaN", "nan", f"color=nan, key=0 {MEMBERS}"),
        ("a list", "[0]", f"color=[0], key=0 {MEMBERS}"),
        ("missing", "", "missing a required argument: 'color'; it takes color, key"),
    ),
    *each(
        "key",
        ("wrong type", "'first'", f"key='first' {MEMBERS}"),
        ("no integer", "1.5", f"key=1.5 {MEMBERS}"),
        ("None", "None", f"key=None {MEMBERS}"),
    ),
    *each(
        "any other",
        ("unknown option", "oops=1", "unexpected keyword argument 'oops'; it takes"),
    ),
]  # fmt: skip
