"""ZeRO-2: each rank holds the mean gradients and the optimizer's states of its shard only.

    with Zero2(comm, parameters, Adam(1e-3)) as replica:
        for batch in batches:
            with replica.backward(weight=len(batch)) as ready:
                ...                     # reduce-scatter of each bucket, beside backward
            replica.clip_grad_norm_(1.0)    # if wanted; by the norm over all ranks
            replica.step()              # update one's shard, all-gather the parameters
        saved = replica.state_dict()    # whole, by the names of parameters

A reduce-scatter sends (N-1)/N S, and so does the all-gather of parameters: together no more than
one all-reduce, while gradients and states take 1/N of the memory (``memory``).  (Rajbhandari et
al., ZeRO: Memory Optimizations Toward Training Trillion Parameter Models, 2020.)

A parameter server is the same with one owner of everything: rank 0 receives (N-1) S and sends
as much, over one link.  (Li et al. 2014)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from refcoll.communicator import Communicator
from refcoll.dataparallel.averaging import Averaging
from refcoll.dataparallel.clipping import (
    checked_norm,
    norm_over_ranks,
    require_finite,
    scale,
    squares_of,
)
from refcoll.dataparallel.optimizers import Optimizer, require_optimizer
from refcoll.dataparallel.reductions import AllReduce
from refcoll.dataparallel.replica import Replica
from refcoll.dataparallel.rollcall import agreed_on
from refcoll.dataparallel.setup import Settled, Setup, require_algorithm, rule_of, stable
from refcoll.dataparallel.sharded_states import ShardedStates
from refcoll.dataparallel.sharding import OWNERSHIPS, ReduceScatter, Shards, scattering
from refcoll.dataparallel.states import StateDict
from refcoll.dataparallel.tensors import Bucket, described
from refcoll.errors import ArgumentError, flag
from refcoll.inorder import Handle
from refcoll.operators import Array


class Sharded(Replica):
    """A replica that updates the shard that it owns, and gets the others' from their owners.

    Buckets stay as they are: states belong to shards.  With ``no_sync`` the local gradients of
    all buckets are kept whole until the step ends (as in PyTorch's FSDP).  The optimizer's
    options, ``lr`` for one, may be changed between steps, alike on all ranks: the next roll call
    compares what a step was made with.
    """

    ends_step = "step()"
    ownerships = tuple(OWNERSHIPS)

    def __init__(
        self,
        comm: Communicator,
        parameters: Mapping[str, Array],
        optimizer: Optimizer,
        *,
        ownership: str = "balanced",
        buckets: Any = "ddp",
        bucket_cap_mb: float | None = None,
        average: str = "samples",
        gradients: str = "mean",
        algorithm: str = "auto",
        gather: str = "auto",
        deterministic: bool = False,
        uneven: bool = False,
        divide_by: str = "active",
        overlap: bool = True,
    ) -> None:
        def make() -> Setup:
            fixed = flag(deterministic, "deterministic")
            require_optimizer(optimizer)
            require_algorithm("all_gather", gather, comm.size)
            return Setup(
                type(self).__name__,
                described(parameters),
                Settled(rule_of(buckets, bucket_cap_mb, "error")),
                Averaging(average, gradients, divide_by),
                AllReduce(),
                scattering(ownership, self.ownerships, algorithm, fixed, comm.size),
                "error",
                flag(uneven, "uneven"),
                flag(overlap, "overlap"),
                {"optimizer": stable(optimizer), "gather": gather},
            )

        super().__init__(comm, parameters, make)
        assert isinstance(self.setup.reduction, ReduceScatter)
        self._shards = Shards(self.comm, self.setup.reduction, gather)
        self.optimizer, self._owner = optimizer, object()
        self._steps.made_with = stable(optimizer)
        self.shards: Sequence[Array] = ()
        """The mean gradients of one's shards, by bucket, of the last step."""

    def step(self) -> None:
        """Wait for the shards' mean gradients, update, and gather the parameters.  Collective."""
        self.start_step().wait()

    def start_step(self) -> Handle[None]:
        """``step`` in the background, once the mean gradients are there.

        Leave parameters and optimizer alone until the handle's ``wait()``.  Several replicas may
        start their steps in any order, and wait for them in any.
        """
        self.wait_for_shards()
        self._steps.made_with = stable(self.optimizer)
        pairs = [*zip(self._steps.take().buckets, self.shards, strict=True)]

        def update() -> None:
            for bucket, gradient in pairs:
                self._update(bucket, gradient)

        return self.comm.submit(update)

    def wait_for_shards(self) -> Sequence[Array]:
        """One's shards' mean gradients, flat, by bucket, padding included; until the next backward.

        ``step`` updates with what is in them then.  Leave it out, on all ranks, to skip a step.
        """
        if self._steps.reduced is None:
            self.shards = self.wait_for_buckets().values
        return self.shards

    def wait(self) -> NoReturn:
        """Raises ArgumentError: no rank has all the mean gradients."""
        raise ArgumentError(
            "gradients are sharded here: step() waits for them, and updates; wait_for_shards() "
            "gives this rank's own"
        )

    def clip_grad_norm_(self, max_norm: float, *, error_if_nonfinite: bool = False) -> float:
        """Before ``step``, scale the mean gradients so that their norm, over all ranks, is at most
        ``max_norm``; returns the norm as it was, the same bits on all ranks.  Collective.

        As ``clipping.clip_grad_norm_`` of the whole gradients.  Raises, on all ranks,
        NotFiniteError where that is asked for, ArgumentError for a wrong ``max_norm``.
        """
        shards = self.wait_for_shards()

        def checked() -> tuple[dict[str, object], tuple[float, bool]]:
            wanted, refuse = checked_norm(max_norm), flag(error_if_nonfinite, "error_if_nonfinite")
            return {"max_norm": wanted, "error_if_nonfinite": refuse}, (wanted, refuse)

        wanted, refuse = agreed_on(self.comm, "clip_grad_norm_", checked)
        norm = norm_over_ranks(self.comm, squares_of(shards))  # padding is zeros, and adds nothing
        if refuse:
            require_finite(norm, everywhere=True)
        scale(shards, norm, wanted)
        return norm

    def state_dict(self, root: int | None = None) -> StateDict:
        """The optimizer's options, and its states, whole, by parameter (``states``), to be saved.

        On all ranks, or on rank ``root`` and {} elsewhere.  Collective, between steps.
        """
        return self._states().saved(root, self._steps.require_between)

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Go on from what ``state_dict`` has given, with any ranks and options.  Collective.

        Raises, on all ranks and before anything is changed, ArgumentError for one of another
        kind of optimizer, or of other parameters, shapes or dtypes, DisagreementError where ranks
        have different ones.
        """
        self._states().load(state_dict, self._steps.require_between)
        self._steps.made_with = stable(self.optimizer)

    def _states(self) -> ShardedStates:
        return ShardedStates(
            self.comm, self.optimizer, self.setup.tensors, self.buckets, self._shards, self._owner
        )

    def _update(self, bucket: Bucket, gradient: Array) -> None:
        mine = self._shards.cut([self.parameters[each.name] for each in bucket.tensors], bucket)
        self._states().update(bucket, mine, gradient)
        for name, each in self._shards.gathered(mine, bucket).items():
            self.parameters[name][...] = each


class Zero2(Sharded):
    """Shards alike on all ranks: ``ownership`` is "balanced" or "padded"."""

    ownerships = ("balanced", "padded")


class ParameterServer(Sharded):
    """Rank 0 owns everything.  The baseline that all-reduce was made to beat."""

    def __init__(
        self,
        comm: Communicator,
        parameters: Mapping[str, Array],
        optimizer: Optimizer,
        **options: Any,
    ) -> None:
        if not options.get("deterministic"):
            options = {"algorithm": "direct", **options}
        options = {"gather": "direct", **options, "ownership": "root"}
        super().__init__(comm, parameters, optimizer, **options)
