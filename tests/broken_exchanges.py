"""Transports whose exchanges break one promise of the contract each."""

from __future__ import annotations

import time

import numpy as np

from refcoll import DeadlineError, TransportError


class Broken:
    """All that ``inner`` does; subclasses do one thing wrong."""

    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)


class BrokenExchanges(Broken):
    """A transport whose exchanges are wrapped in ``exchange``."""

    exchange = Broken

    def prepare(self, sends, receives, channel):
        made = self.exchange(self.inner.prepare(sends, receives, channel))
        made.rank, made.receives = self.inner.rank, receives
        return made


class Corrupts(BrokenExchanges):
    class exchange(Broken):  # noqa: N801
        def wait(self, index, timeout):
            came = self.inner.wait(index, timeout).copy()
            came.view(np.uint8)[came.nbytes // 2 :][:1] ^= 1
            return came


class Overruns(BrokenExchanges):
    """Writes a byte too many where a view has room behind it."""

    class exchange(Broken):  # noqa: N801
        def wait(self, index, timeout):
            came = self.inner.wait(index, timeout)
            view = self.receives[index].view
            if view is not None and view.base is not None and view.size < view.base.size:
                view.base[110] = 0
            return came


class ReleasesTooSoon(BrokenExchanges):
    """Sent views are read lazily, after release has returned; odd ranks read late."""

    class exchange(Broken):  # noqa: N801
        def wait(self, index, timeout):
            came = self.inner.wait(index, timeout)
            time.sleep(0.1 * (self.rank % 2))
            return came

        def release(self, timeout):
            for letter in self.inner._arrived:
                self.inner._take(letter)


class SendsOneAfterAnother(BrokenExchanges):
    """Start waits until what it sends is received."""

    class exchange(Broken):  # noqa: N801
        def start(self):
            self.inner.start()
            self.inner.release(0.3)


class Truncates(BrokenExchanges):
    """Makes any message fit its receive."""

    class exchange(Broken):  # noqa: N801
        def wait(self, index, timeout):
            try:
                return self.inner.wait(index, timeout)
            except DeadlineError:
                raise
            except TransportError:
                return np.zeros(self.receives[index].nbytes, np.uint8)


class SwallowsDeadlines(BrokenExchanges):
    class exchange(Broken):  # noqa: N801
        def wait(self, index, timeout):
            try:
                return self.inner.wait(index, timeout)
            except DeadlineError:
                return np.zeros(self.receives[index].nbytes, np.uint8)


class NamesNobody(BrokenExchanges):
    class exchange(Broken):  # noqa: N801
        def wait(self, index, timeout):
            try:
                return self.inner.wait(index, timeout)
            except DeadlineError:
                raise DeadlineError("it took too long") from None


class CallsDeadlinesFailures(BrokenExchanges):
    class exchange(Broken):  # noqa: N801
        def wait(self, index, timeout):
            try:
                return self.inner.wait(index, timeout)
            except DeadlineError as error:
                raise TransportError(error.message, culprit=error.culprit) from None


class BlamesNoSilence(BrokenExchanges):
    class exchange(Broken):  # noqa: N801
        def wait(self, index, timeout):
            try:
                return self.inner.wait(index, timeout)
            except DeadlineError as error:
                raise DeadlineError(error.message) from None


class ReleasesLate(BrokenExchanges):
    """Takes its own time, not its caller's."""

    class exchange(Broken):  # noqa: N801
        def release(self, timeout):
            self.inner.release(timeout + 1.5)


class NamesNobodyInARelease(BrokenExchanges):
    class exchange(Broken):  # noqa: N801
        def release(self, timeout):
            try:
                self.inner.release(timeout)
            except TransportError:
                raise DeadlineError("it took too long") from None


class Miscounts(BrokenExchanges):
    class exchange(Broken):  # noqa: N801
        def received(self, index):
            return self.inner.received(index) + 1


class LendsOneScratch(BrokenExchanges):
    """All ranks' data is lent in the same place."""

    class exchange(Broken):  # noqa: N801
        scratch = np.empty(1 << 22, np.uint8)

        def wait(self, index, timeout):
            came = self.inner.wait(index, timeout)
            if self.receives[index].view is not None:
                return came
            self.scratch[: came.size] = came
            return self.scratch[: came.size]
