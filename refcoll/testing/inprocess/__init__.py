"""The in-process transport: N ranks as threads that lend one another their memory.

    world = World(4)
    ends = [InProcess(world, rank) for rank in range(4)]      # one for each thread

On a device too (``arrays``): then letters also carry moments, of what was queued before they
were sent and before they were marked as taken, and nobody waits for those but the device.

A send puts a letter into the receiver's mailbox: a view of the sender's bytes.  The receiver
copies from it, or reads it where it lies, and marks it as taken; the sender's release waits
for that.  Nothing is buffered, so whoever relies on buffering hangs here, up to the deadline;
but while a rank waits for one receive of an exchange, it copies what has come for the later
ones, so that their senders can go on.
"""

from refcoll.testing.inprocess.end import InProcess
from refcoll.testing.inprocess.world import World

__all__ = ["InProcess", "World"]
