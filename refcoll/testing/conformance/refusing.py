"""What must fail, and say why; each of these leaves the transport useless."""

from __future__ import annotations

import time

from refcoll.testing.conformance import talking
from refcoll.testing.conformance.delivering import delivers_to_everyone
from refcoll.testing.conformance.talking import (
    error_of,
    filled,
    needs,
    next_rank,
    previous_rank,
    raised,
    refusal,
    require,
)
from refcoll.transport import (
    DeadlineError,
    Incoming,
    Outgoing,
    PeerFailedError,
    Transport,
    TransportError,
)


@needs(2)
def reports_silence(transport: Transport) -> None:
    """A wait for a message that nobody sends ends at its deadline, naming peer and bytes."""
    exchange = transport.prepare([], [Incoming(77, previous_rank(transport))], 1)
    exchange.start()
    started = time.monotonic()
    said = refusal(exchange, 0.2)
    require(f"rank {previous_rank(transport)}" in said, said or "a wait for nothing returned")
    require("77 bytes" in said, said)
    took = time.monotonic() - started
    require(took < talking.PATIENCE, f"a wait with a timeout of 0.2 s took {took:.1f} s")


@needs(2)
def blames_who_keeps_silent(transport: Transport) -> None:
    """The rank for which all wait, and which waits for nobody, is the culprit."""
    last = transport.size - 1
    if transport.rank == last:
        time.sleep(0.4)
        return
    exchange = transport.prepare([], [Incoming(77, last)], 1)
    exchange.start()
    heard = error_of(exchange, 0.1)
    require(isinstance(heard, DeadlineError), f"{heard!r} is no DeadlineError")
    require_blame(heard, last)


@needs(2)
def ends_a_release_in_time(transport: Transport) -> None:
    """Where nobody receives what was sent, release returns, or names who does not take it."""
    right = next_rank(transport)
    exchange = transport.prepare([Outgoing(filled(transport, talking.LARGE), right)], [], 1)
    exchange.start()
    started = time.monotonic()
    heard = raised(lambda: exchange.release(0.2), "a release with a timeout of 0.2 s")
    took = time.monotonic() - started
    require(took < talking.PATIENCE, f"a release with a timeout of 0.2 s took {took:.1f} s")
    require(heard is None or f"rank {right}" in str(heard), str(heard))


@needs(2)
def reports_wrong_sizes(transport: Transport) -> None:
    """A message of another size than its receive is an error that names both sizes."""
    for sent, expected in ((10, 20), (20, 10)):
        sends = [Outgoing(filled(transport, sent), next_rank(transport))]
        exchange = transport.prepare(sends, [Incoming(expected, previous_rank(transport))], sent)
        exchange.start()
        said = refusal(exchange)
        require(str(expected) in said, said or f"{sent} bytes were taken for {expected}")


@needs(2)
def notices_unclaimed_messages(transport: Transport) -> None:
    """A message that no receive asks for is seen, on its channel and on no other."""
    sends = [Outgoing(filled(transport, 5), next_rank(transport))]
    transport.prepare(sends, [], 3).start()
    until = time.monotonic() + talking.PATIENCE
    while not transport.unclaimed(3):
        require(time.monotonic() < until, "an unclaimed message is not noticed")
    require(transport.unclaimed(4) == 0, "an unclaimed message is noticed on another channel")


@needs(2)
def tells_all_of_a_failure(transport: Transport) -> None:
    """When a rank gives up, those that wait give up too, with its reason and its number."""
    _last_gives_up(transport, transport)


@needs(2)
def tells_parts_of_a_failure(transport: Transport) -> None:
    """When a part gives up, the whole goes on; when the whole does, its parts hear."""
    part, another = (transport.subgroup(range(transport.size), channel) for channel in (5, 6))
    _last_gives_up(part, part)
    delivers_to_everyone(transport)
    _last_gives_up(transport, another)


def _last_gives_up(transport: Transport, waiting: Transport) -> None:
    """The last rank of ``transport`` gives it up while the others wait in ``waiting``."""
    last = transport.size - 1
    if transport.rank == last:
        time.sleep(0.1)
        transport.abort("an accident on the last rank", last)
        return
    exchange = waiting.prepare([], [Incoming(77, last)], 1)
    exchange.start()
    heard = error_of(exchange)
    gave_up = "a rank gave up, and those that wait did not hear"
    require(isinstance(heard, PeerFailedError), f"{gave_up}: {heard!r}")
    require("an accident on the last rank" in str(heard), str(heard))
    require_blame(heard, last)


def require_blame(heard: TransportError | None, rank: int) -> None:
    """Raise AssertionError unless the error has that culprit."""
    blamed = None if heard is None else heard.culprit
    require(blamed == rank, f"culprit={blamed} is blamed, not rank {rank}: {heard}")
