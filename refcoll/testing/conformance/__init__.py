"""The conformance kit: does a transport keep the contract of ``refcoll.transport``?

Every check is a function that all ranks call together, each with its own end of the
transport; it raises AssertionError, or what the transport raises, where a promise is broken.

    for check in CHECKS:
        check(transport)

Run it on N ranks of your transport, for several N; ``SPARE_CHECKS`` leave the transport
useless and want a fresh one each.  Views are of the transport's own ``arrays``, and what is
looked at is a copy on the host.  A wait that ignores its timeout holds a check up for ever, after
a word on standard error: let them run under a time limit of your own.
"""

from refcoll.testing.conformance.delivering import (
    counts_what_came,
    delivers_to_everyone,
    holds_back_other_channels,
    keeps_channels_apart,
    keeps_order,
    moves_large_messages_both_ways,
    passes_many_at_once,
    restarts,
    takes_what_it_is_not_waiting_for,
)
from refcoll.testing.conformance.describing import (
    agrees_on_nodes,
    describes_itself,
    makes_subgroups,
)
from refcoll.testing.conformance.lending import (
    gives_memory,
    keeps_what_changes,
    lands_in_views,
    lends_in_a_dtype,
    lends_until_the_next_call,
    moves_its_own_memory,
)
from refcoll.testing.conformance.refusing import (
    blames_who_keeps_silent,
    ends_a_release_in_time,
    notices_unclaimed_messages,
    reports_silence,
    reports_wrong_sizes,
    tells_all_of_a_failure,
    tells_parts_of_a_failure,
)
from refcoll.testing.conformance.talking import Check

__all__ = ["CHECKS", "SPARE_CHECKS", "Check"]

CHECKS: tuple[Check, ...] = (
    describes_itself,
    agrees_on_nodes,
    delivers_to_everyone,
    keeps_order,
    keeps_channels_apart,
    lands_in_views,
    lends_until_the_next_call,
    lends_in_a_dtype,
    keeps_what_changes,
    passes_many_at_once,
    holds_back_other_channels,
    restarts,
    moves_large_messages_both_ways,
    counts_what_came,
    takes_what_it_is_not_waiting_for,
    gives_memory,
    moves_its_own_memory,
    makes_subgroups,
)
SPARE_CHECKS: tuple[Check, ...] = (
    reports_silence,
    blames_who_keeps_silent,
    ends_a_release_in_time,
    reports_wrong_sizes,
    notices_unclaimed_messages,
    tells_all_of_a_failure,
    tells_parts_of_a_failure,
)
"""These break the transport, so each wants one of its own."""
