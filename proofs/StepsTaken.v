(** How many steps each rank takes, algorithm by algorithm.  (The ring's: RingTraffic.v.)

        binomial             a rank's links in the tree, twice that for an all-reduce
        recursive doubling   log2 p for a survivor, two more in a folded pair
        Rabenseifner         2 log2 p for a survivor, two more in a folded pair

    Hierarchical ones: HierarchicalSteps.v. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Columns Combinators Groups Traffic Chunking SideBySide
  Steps Ring RingTraffic Blocks Doubling Halving Rabenseifner Folding FoldedResult FoldedTraffic
  AnySize Tree TreeTraffic.
Import ListNotations.
Open Scope Z_scope.

(** ** Binomial trees *)

Section Tree.
  Variables (N r : Z).
  Hypothesis HN : 0 < N.
  Hypothesis Hr : 0 <= r < N.

  Theorem binomial_broadcast_steps : Z.of_nat (steps (broadcast N) r) = links N r.
  Proof.
    unfold steps. rewrite broadcast_reversed, reverse_steps. now apply binomial_reduce_steps.
  Qed.

  Theorem binomial_all_reduce_steps : Z.of_nat (steps (tree N) r) = 2 * links N r.
  Proof.
    assert (U := binomial_reduce_steps N r HN Hr). assert (D := binomial_broadcast_steps).
    unfold steps in *. unfold tree, binomial_all_reduce. rewrite busy_steps_app.
    fold (reduce N r) (broadcast N r). lia.
  Qed.
End Tree.

(** ** Exchange by bits *)

Lemma doubling_busy K r s : 0 <= r < 2 ^ Z.of_nat K ->
  In s (doubling_program K r) -> busy r s = true.
Proof.
  intros Hr Hs. apply (In_nth _ _ IDLE) in Hs as (k & Hk & <-). rewrite doubling_depth in Hk.
  fold (round (doubling_program K) k r). rewrite doubling_round by assumption. cbn.
  now rewrite (partner_differs K r Hr) by lia.
Qed.

Theorem doubling_steps K r : 0 <= r < 2 ^ Z.of_nat K -> steps (doubling_program K) r = K.
Proof.
  intros Hr. unfold steps. rewrite <- (doubling_depth K r) at 2. apply always_busy.
  intros s. now apply doubling_busy.
Qed.

Lemma halving_busy K r s : 0 <= r < 2 ^ Z.of_nat K ->
  In s (halving_program K r) -> busy r s = true.
Proof.
  intros Hr Hs. apply (In_nth _ _ IDLE) in Hs as (k & Hk & <-). rewrite halving_depth in Hk.
  fold (round (halving_program K) k r). rewrite halving_round by (assumption || lia). cbn.
  unfold partner. now rewrite (partner_differs K r Hr) by lia.
Qed.

Theorem halving_doubling_steps K r : 0 <= r < 2 ^ Z.of_nat K ->
  steps (halving_doubling_program K) r = (K + K)%nat.
Proof.
  intros Hr. change (busy_steps r (halving_program K r ++ reverse IntoCopy (halving_program K r)) =
    (K + K)%nat). rewrite busy_steps_app, reverse_steps.
  assert (E : busy_steps r (halving_program K r) = K).
  { rewrite <- (halving_depth K r) at 2. apply always_busy. intros s. now apply halving_busy. }
  now rewrite E.
Qed.

(** ** Folded *)

Section Folded.
  Variable N : Z.
  Hypothesis HN : 0 < N.
  Let p := power_below N.
  Variables (core : Z -> Z -> schedule) (whole : list Z) (R : nat).
  Hypothesis core_length : forall i, 0 <= i < p -> length (core i p) = R.
  Hypothesis core_matches : matches p (fun i => core i p) R.
  Hypothesis core_busy : forall i, 0 <= i < p -> busy_steps i (core i p) = R.

  (** A survivor's in the core; two more in a folded pair. *)
  Definition steps_with_folding (r : Z) : nat :=
    ((match place_after_folding r N with Some _ => R | None => O end)
     + if folding r N then 2 else 0)%nat.

  Lemma fold_in_steps r : 0 <= r < N -> 0 < N - p ->
    busy_steps r (fold_in whole r N) = if folding r N then 1%nat else O.
  Proof.
    intros Hr E. unfold folding. fold p.
    destruct (fold_cases N r Hr) as [(i & Hi & ->)|[(i & Hi & ->)|H]].
    - fold p in Hi. rewrite fold_in_even by assumption.
      replace (2 * i <? 2 * (N - p)) with true by lia.
      unfold busy_steps, busy, others. cbn [filter existsb peer orb].
      now replace (2 * i + 1 =? 2 * i) with false by lia.
    - fold p in Hi. rewrite fold_in_odd by assumption.
      replace (2 * i + 1 <? 2 * (N - p)) with true by lia.
      unfold busy_steps, busy, others. cbn [filter existsb peer orb].
      now replace (2 * i =? 2 * i + 1) with false by lia.
    - fold p in H. rewrite fold_in_beyond by (fold p; lia).
      now replace (r <? 2 * (N - p)) with false by lia.
  Qed.

  Lemma survivor_steps r : 0 <= r < N -> busy_steps r (on_ranks (survivors N) core r) =
    match place_after_folding r N with Some _ => R | None => O end.
  Proof.
    intros Hr. rewrite (place_is_index N HN r Hr).
    destruct (index_of r (survivors N)) as [i|] eqn:E.
    - apply index_of_some in E as [Hi E]. rewrite survivors_size in Hi by assumption.
      rewrite <- E. rewrite (on_ranks_steps _ core R); rewrite ?survivors_size by assumption;
        try assumption; [now apply core_busy|now apply survivors_distinct|].
      intros j Hj. now rewrite core_length.
    - apply on_ranks_no_steps. now apply index_of_none.
  Qed.

  Theorem folded_steps r : 0 <= r < N ->
    steps (folded_program N core whole R) r = steps_with_folding r.
  Proof.
    intros Hr. unfold steps, steps_with_folding. destruct (extra_cases N HN) as [E|E]; fold p in E.
    - destruct (no_folding N r Hr E) as [-> ->]. rewrite folded_no_extra by assumption.
      assert (N = p) by lia. unfold p in *. rewrite core_busy by lia. lia.
    - rewrite folded_parts by assumption. unfold then_.
      rewrite !busy_steps_app, padded_steps, reverse_steps, survivor_steps, !fold_in_steps
        by assumption. destruct (folding r N); lia.
  Qed.
End Folded.

Theorem recursive_doubling_steps N r : 0 < N -> 0 <= r < N ->
  steps (recursive_doubling N) r = steps_with_folding N (log2_below N) r.
Proof.
  intros HN Hr. rewrite recursive_doubling_is by assumption. apply folded_steps; try assumption.
  - intros i. now apply doubling_core_length.
  - now apply doubling_core_matches.
  - intros i Hi. rewrite (p_is N HN) in *. now apply doubling_steps.
Qed.

Theorem rabenseifner_steps N r : 0 < N -> 0 <= r < N ->
  steps (rabenseifner N) r = steps_with_folding N (log2_below N + log2_below N) r.
Proof.
  intros HN Hr. rewrite rabenseifner_is by assumption. apply folded_steps; try assumption.
  - intros i. now apply halving_core_length.
  - now apply halving_core_matches.
  - intros i Hi. rewrite (p_is N HN) in *. now apply halving_doubling_steps.
Qed.
