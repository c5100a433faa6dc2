"""What the tests of logs share: a link, the times of a ring over it, files that hold them."""

from __future__ import annotations

from refcoll.planning.logs import Given

NOTHING = Given()
ALPHA, BETA = 4e-6, 1 / 200e9
SIZES = [2**k for k in range(10, 34, 3)]


def ring(ranks, nbytes, alpha=ALPHA, beta=BETA):
    """Seconds: 2(N-1) alpha + 2(N-1)/N S beta."""
    return 2 * (ranks - 1) * (alpha + nbytes * beta / ranks)


def written(tmp_path, text, name="a.log"):
    path = tmp_path / name
    path.write_text(text)
    return path
