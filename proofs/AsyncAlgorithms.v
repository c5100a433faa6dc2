(** The algorithms that are proved here are orderly: any timing gives what their theorems say.

        ring reduce-scatter, all-gather, all-reduce            every N
        pairwise reduce-scatter                                 every N
        recursive doubling, recursive halving, Rabenseifner     every N, folded where needed
        binomial broadcast, reduce, all-reduce                  every N
        hierarchical all-reduces                                AsyncHierarchical.v

    [..._orderly], for Async.v's [orderly]; then AsyncEnds.v says that every execution, by any
    transport that is no slower than rendezvous, ends, and with the synchronous result:
    [ring_all_reduce_any_timing] spells it out for the ring. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Modulo Schedule Combinators.
From Refcoll Require Import Ring Pairwise Doubling Halving Folding AnySize Tree.
From Refcoll Require Import Async AsyncCheck AsyncCombinators AsyncEnds.
Import ListNotations.
Open Scope Z_scope.

(** ** Steps *)

Lemma race_free_short s : (length s <= 1)%nat -> race_free s.
Proof.
  destruct s as [|a [|b s]]; cbn [length]; intros H; [apply race_free_idle| |lia].
  now apply (race_free_one_receive [] a).
Qed.

Lemma race_free_exchange c to a : apart (chunks a) c -> race_free [Send c to; a].
Proof.
  intros H. apply (race_free_one_receive [Send c to] a).
  - now intros b [<-|[]].
  - intros i Hi. unfold sent_chunks, chunks_where. cbn. rewrite app_nil_r. now apply H.
Qed.

Lemma race_free_merge c to c' source side : race_free [Send c to; Reduce c' source side].
Proof. apply race_free_reduces. now intros a [<-|[<-|[]]]. Qed.

Lemma never_races_reversed s : never_races (reverse IntoReduce s).
Proof.
  intros each H. apply in_rev, in_map_iff in H as (inner & <- & _). apply race_free_reduces.
  intros a Ha. apply in_rev, in_map_iff in Ha as (b & <- & _). now destruct b.
Qed.

(** ** Ring, pairwise *)

Section Ring.
  Variable N : Z.
  Hypothesis HN : 0 < N.

  Lemma scatter_never_races r : never_races (scatter N r).
  Proof. apply never_races_loop. intros t _. apply race_free_merge. Qed.

  Lemma gather_never_races r : 0 <= r < N -> never_races (gather N r).
  Proof.
    intros Hr. apply never_races_loop. intros t Ht. apply in_range in Ht.
    apply race_free_exchange. intros i [<-|[]] [E|[]]. modlia.
  Qed.

  Lemma ring_never_races r : 0 <= r < N -> never_races (ring N r).
  Proof.
    intros Hr. apply never_races_app; [apply scatter_never_races|now apply gather_never_races].
  Qed.

  Theorem ring_reduce_scatter_orderly : orderly N (scatter N) (Z.to_nat (N - 1)).
  Proof.
    apply orderly_if; [now apply ring_reduce_scatter_matches|intros; apply scatter_never_races].
  Qed.

  Theorem ring_all_gather_orderly : orderly N (gather N) (Z.to_nat (N - 1)).
  Proof. apply orderly_if; [now apply ring_all_gather_matches|apply gather_never_races]. Qed.

  Theorem ring_all_reduce_orderly : orderly N (ring N) (Z.to_nat (2 * (N - 1))).
  Proof. apply orderly_if; [now apply ring_all_reduce_matches|apply ring_never_races]. Qed.

  Theorem pairwise_orderly : orderly N (pairwise N) (Z.to_nat (N - 1)).
  Proof.
    apply orderly_if; [now apply pairwise_matches|]. intros r _.
    apply never_races_loop. intros k _. apply race_free_merge.
  Qed.
End Ring.

(** ** Doubling, halving *)

Lemma doubling_never_races r size : never_races (doubling r size).
Proof. apply never_races_loop. intros k _. apply race_free_merge. Qed.

(** What is sent and what is kept are the two halves of a range. *)
Lemma halving_step ks r start stop each : In each (halving_from ks r start stop) ->
  exists c c' other, each = [Send c other; Reduce c' other None] /\ apart c c'.
Proof.
  revert start stop. induction ks as [|k ks IH]; intros start stop; [easy|]. cbn [halving_from].
  destruct (r <? _); intros [<-|H]; try (now apply IH in H); do 3 eexists; (split; [reflexivity|]);
    intros i Hi Hi'; apply in_range in Hi, Hi'; lia.
Qed.

Lemma halving_doubling_never_races r size : never_races (halving_doubling r size).
Proof.
  apply never_races_app; intros each H.
  - apply halving_step in H as (c & c' & other & -> & _). apply race_free_merge.
  - apply in_rev, in_map_iff in H as (inner & <- & H).
    apply halving_step in H as (c & c' & other & -> & Apart). now apply race_free_exchange.
Qed.

Theorem doubling_orderly K : orderly (2 ^ Z.of_nat K) (doubling_program K) K.
Proof. apply orderly_if; [apply doubling_matches|intros; apply doubling_never_races]. Qed.

Theorem halving_doubling_orderly K :
  orderly (2 ^ Z.of_nat K) (halving_doubling_program K) (K + K).
Proof.
  apply orderly_if; [apply halving_doubling_matches|intros; apply halving_doubling_never_races].
Qed.

(** ** Folded: any N *)

Definition short_steps (s : schedule) : Prop := forall each, In each s -> (length each <= 1)%nat.

Lemma short_never_races s : short_steps s -> never_races s.
Proof. intros H each Hin. now apply race_free_short, H. Qed.

Lemma short_reversed into s : short_steps s -> short_steps (reverse into s).
Proof.
  intros H each Hin. apply in_rev, in_map_iff in Hin as (inner & <- & Hin).
  rewrite rev_length, map_length. now apply H.
Qed.

Lemma fold_in_short whole r size : short_steps (fold_in whole r size).
Proof.
  intros each H. unfold fold_in in H.
  destruct (_ <? _), (folding r size), (r mod 2 =? 0); cbn in H;
    repeat (destruct H as [<-|H]); try easy; cbn; lia.
Qed.

Lemma folded_never_races core whole rounds r size :
  (forall place size, never_races (core place size)) ->
  never_races (folded core whole rounds r size).
Proof.
  intros H. unfold folded. destruct (_ =? 0); [apply H|].
  apply never_races_app; [|apply never_races_app].
  - apply short_never_races, fold_in_short.
  - apply never_races_padded, never_races_on_ranks. auto.
  - apply short_never_races, short_reversed, fold_in_short.
Qed.

Section AnySize.
  Variable N : Z.
  Hypothesis HN : 0 < N.

  Theorem recursive_doubling_orderly :
    orderly N (recursive_doubling N) (recursive_doubling_rounds N).
  Proof.
    apply orderly_if; [now apply recursive_doubling_matches|]. intros r _.
    apply folded_never_races, doubling_never_races.
  Qed.

  Theorem rabenseifner_orderly : orderly N (rabenseifner N) (rabenseifner_rounds N).
  Proof.
    apply orderly_if; [now apply rabenseifner_matches|]. intros r _.
    apply folded_never_races, halving_doubling_never_races.
  Qed.

  (** ** Binomial trees *)

  Lemma broadcast_short r : short_steps (broadcast N r).
  Proof.
    intros each H. apply in_map_iff in H as (k & <- & _).
    cbv zeta beta. destruct (andb _ _); [|destruct (Z.eqb _ _)]; cbn; lia.
  Qed.

  Theorem binomial_broadcast_orderly : orderly N (broadcast N) (levels N).
  Proof.
    apply orderly_if; [now apply binomial_broadcast_matches|]. intros r _.
    apply short_never_races, broadcast_short.
  Qed.

  Theorem binomial_reduce_orderly : orderly N (reduce N) (levels N).
  Proof.
    apply orderly_if; [now apply binomial_reduce_matches|]. intros r _.
    apply never_races_reversed.
  Qed.

  Theorem binomial_all_reduce_orderly : orderly N (tree N) (levels N + levels N).
  Proof.
    apply orderly_if; [now apply binomial_all_reduce_matches|]. intros r _. apply never_races_app.
    - apply never_races_reversed.
    - apply short_never_races, broadcast_short.
  Qed.
End AnySize.

(** ** What follows, for the ring *)

(** Whatever the transport and the timing: an execution that can go no further leaves, on every
    rank, the merge in ring order. *)
Theorem ring_all_reduce_any_timing {A} before (op : A -> A -> A) N (may_read : transport A) x k m :
  0 < N -> let rounds := Z.to_nat (2 * (N - 1)) in
  (forall m q r k, rendezvous (ring N) m q r k -> may_read m q r k) ->
  reaches before op N (ring N) rounds may_read x k m ->
  (forall m', ~ move before op N (ring N) rounds may_read m m') ->
  forall r c, 0 <= r < N -> 0 <= c < N -> memory m r c = ring_value N before op x c (N - 1).
Proof.
  intros HN rounds Slow H Stuck r c Hr Hc.
  rewrite (any_timing before op N (ring N) rounds may_read x k m); trivial.
  - now apply ring_all_reduce_result.
  - now apply ring_all_reduce_orderly.
Qed.
