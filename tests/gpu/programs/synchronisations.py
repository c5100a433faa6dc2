"""Each synchronisation of the two ways over MPI, left out in turn: then something is wrong."""

from operations import (
    copies_overlap,
    kept_is_what_it_was,
    pinned_memory_is_used_again,
    replaced,
    runtime,
    sent_is_what_was_queued,
    transport,
    what_lay_where_it_lands_was_read,
)

from late_stream import LateEvent
from refcoll_cupy import staged
from refcoll_cupy.direct import Direct
from refcoll_cupy.pinned import Piece
from refcoll_cupy.staged import Inlet


class Never:
    """An event that nobody waits for."""

    done = True


def nothing(*_):
    pass


def early(stream):
    """What is queued on it waits for nothing."""

    def leave_out(end):
        getattr(end.way, stream).wait_event = nothing

    return leave_out


def unordered(end):
    end.way.down.record = Never


def on_the_merges_stream(stream):
    def leave_out(end):
        setattr(end.way, stream, runtime.current())

    return leave_out


CASES = [
    ("direct: before a send", sent_is_what_was_queued, 0, (Direct, "order", nothing)),
    ("direct: before a receive", what_lay_where_it_lands_was_read, 1, (Direct, "order", nothing)),
    ("staged: copies to the host follow what is queued", sent_is_what_was_queued, 0, early("down")),
    ("staged: copies to the device follow what is queued", what_lay_where_it_lands_was_read, 1,
     early("up")),
    ("staged: a copy is over before it is sent", sent_is_what_was_queued, 0, unordered),
    ("staged: a piece was read before a message lands there", sent_is_what_was_queued, 1,
     (Piece, "free", lambda self: True)),
    ("staged: a piece was read before a copy lands there", pinned_memory_is_used_again, 1,
     (Piece, "follow", nothing)),
    ("staged: what goes on follows what has landed", sent_is_what_was_queued, 1,
     (Inlet, "follow", nothing)),
    ("staged: two copies at a time", copies_overlap, 0, (staged, "AT_ONCE", 1)),
    ("staged: copies to the host beside merges", copies_overlap, 0, on_the_merges_stream("down")),
    ("staged: copies to the device beside merges", copies_overlap, 1, on_the_merges_stream("up")),
    ("staged: the host waits for no copy", copies_overlap, 1,
     (LateEvent, "done", property(lambda self: self.synchronize() or True))),
]  # fmt: skip
OPERATIONS = (sent_is_what_was_queued, what_lay_where_it_lands_was_read, kept_is_what_it_was)
STAGED = (pinned_memory_is_used_again, copies_overlap)

for mode, operations in (("direct", OPERATIONS), ("staged", (*OPERATIONS, *STAGED))):
    for operation in operations:
        end = transport(mode)
        assert all(end.host.comm.allgather(operation(end))), (mode, operation.__name__)
for name, operation, culprit, left_out in CASES:
    end = transport(name.split(":")[0])
    if end.rank != culprit:
        right = operation(end)
    elif callable(left_out):
        left_out(end)
        right = operation(end)
    else:
        with replaced(*left_out):
            right = operation(end)
    caught = not all(end.host.comm.allgather(right))
    if end.rank == 0:
        print(f"{'caught' if caught else 'NOT SEEN'}: {name}.", flush=True)
