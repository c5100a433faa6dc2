"""Two communicators under way at once, each on a thread of its own, and a third thread that
asks for memory: all share lanes and heap."""

import sys
import threading

import numpy as np

import refcoll

one = refcoll.connect("mpi", timeout=60)
two = one.split(0)
ended, wrong = threading.Event(), []


def asks_for_memory():
    number = 0
    while not ended.wait(0.0005):
        number += 1
        mine = one.empty(9000)
        mine[:] = number
        two.empty(20_000)[:] = -1
        if not np.all(mine == number):
            wrong.append(number)


asking = threading.Thread(target=asks_for_memory)
asking.start()
for count, rounds in ((10, 300), (1000, 200), (30_000, 60), (200_000, 15)):
    x, y = one.empty(count, np.int64), np.empty(count, np.int64)
    first = one.plan("all_reduce", x, out=np.empty_like(x))
    second = two.plan("all_reduce", y, out=np.empty_like(y))
    for number in range(rounds):
        x[:], y[:] = number, 7 * number + 1
        handle = first.start()
        assert np.all(second.run() == two.size * (7 * number + 1)), (count, number)
        assert np.all(handle.wait() == one.size * number), (count, number)
ended.set()
asking.join()
assert not wrong, wrong
print(f"{sys.argv[0][-10:]}: both right.", flush=True)
