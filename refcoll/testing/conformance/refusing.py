"""What must fail, and say why; each of these leaves the transport useless."""

from __future__ import annotations

import time

from refcoll.testing.conformance import talking
from refcoll.testing.conformance.talking import (
    error_of,
    filled,
    needs,
    next_rank,
    previous_rank,
    refusal,
)
from refcoll.transport import Incoming, Outgoing, PeerFailedError, Transport


@needs(2)
def reports_silence(transport: Transport) -> None:
    """A wait for a message that nobody sends ends at its deadline, naming peer and bytes."""
    exchange = transport.prepare([], [Incoming(77, previous_rank(transport))], 1)
    exchange.start()
    started = time.monotonic()
    said = refusal(exchange, 0.2)
    assert f"rank {previous_rank(transport)}" in said, said or "a wait for nothing returned"
    assert "77 bytes" in said, said
    assert time.monotonic() - started < talking.PATIENCE


@needs(2)
def reports_wrong_sizes(transport: Transport) -> None:
    """A message of another size than its receive is an error that names both sizes."""
    for sent, expected in ((10, 20), (20, 10)):
        sends = [Outgoing(filled(transport, sent), next_rank(transport))]
        exchange = transport.prepare(sends, [Incoming(expected, previous_rank(transport))], sent)
        exchange.start()
        said = refusal(exchange)
        assert str(expected) in said, said or f"{sent} bytes were taken for {expected}"


@needs(2)
def notices_unclaimed_messages(transport: Transport) -> None:
    """A message that no receive asks for is seen, on its channel and on no other."""
    sends = [Outgoing(filled(transport, 5), next_rank(transport))]
    transport.prepare(sends, [], 3).start()
    until = time.monotonic() + talking.PATIENCE
    while not transport.unclaimed(3):
        assert time.monotonic() < until, "an unclaimed message is not noticed"
    assert transport.unclaimed(4) == 0


@needs(2)
def tells_all_of_a_failure(transport: Transport) -> None:
    """When a rank gives up, those that wait give up too, with its reason and its number."""
    last = transport.size - 1
    if transport.rank == last:
        transport.abort("an accident on the last rank", last)
        return
    exchange = transport.prepare([], [Incoming(77, last)], 1)
    exchange.start()
    heard = error_of(exchange)
    assert isinstance(heard, PeerFailedError), "a rank gave up, and those that wait did not hear"
    assert "an accident on the last rank" in str(heard), str(heard)
    assert heard.culprit == last, f"rank {heard.culprit} is blamed, not rank {last}"
