(** The ring, on contributions: every rank is in every result exactly once.

        chunk 0, N = 4:   [1]  [1;2]  [1;2;3]  [0;1;2;3]      hop by hop from rank 1
                                               rank 0 is lower: its operand goes left

    - [ring_all_reduces]: the ring is an all-reduce.
    - [ring_reduce_scatters]: its first half leaves chunk r on rank r.
    - [ring_all_gathers]: its second half is an all-gather. *)
From Coq Require Import ZArith List Permutation Lia.
From Refcoll Require Import Lists Modulo Schedule Columns Collectives Combinators Ring.
Import ListNotations.
Open Scope Z_scope.

Section RingOnce.
  Variable N : Z.
  Hypothesis HN : 0 < N.

  (** After so many hops, what the ranks from c+1 on hold; in which order is not said here. *)
  Lemma ring_value_hops {X} before (x : state (list X)) c hops : 0 <= hops ->
    Permutation (ring_value N before (@app X) x c hops)
                (flat_map (fun k => x ((c + k) mod N) c) (range 1 (hops + 2))).
  Proof.
    intros H. replace hops with (Z.of_nat (Z.to_nat hops)) by lia.
    induction (Z.to_nat hops) as [|h IH].
    - change (range 1 _) with [1]. cbn [flat_map]. now rewrite app_nil_r.
    - replace (Z.of_nat (S h) + 2) with (Z.of_nat h + 2 + 1) by lia.
      unfold ring_value in *. replace (Z.of_nat (S h) + 1) with (Z.of_nat h + 1 + 1) by lia.
      rewrite (range_last 1 (Z.of_nat h + 1)), fold_left_app by lia. cbn [fold_left].
      rewrite (range_last 1 (Z.of_nat h + 2)), flat_map_app by lia. cbn [flat_map].
      replace (c + (Z.of_nat h + 2)) with (c + (Z.of_nat h + 1) + 1) by lia.
      rewrite app_nil_r. unfold hop at 1. destruct before; [|rewrite Permutation_app_comm];
        (apply Permutation_app; [exact IH|reflexivity]).
  Qed.

  (** All the way round: what all ranks hold. *)
  Lemma ring_value_all {X} before (x : state (list X)) c : 0 <= c < N ->
    Permutation (ring_value N before (@app X) x c (N - 1)) (flat_map (fun q => x q c) (ranks N)).
  Proof.
    intros Hc. rewrite ring_value_hops by lia.
    replace (range 1 (N - 1 + 2)) with (map (fun k => k + 1) (ranks N))
      by (unfold ranks; rewrite range_shift; f_equal; lia).
    rewrite flat_map_concat_map, map_map, <- (map_map (fun k => (c + (k + 1)) mod N)
      (fun q => x q c)), <- flat_map_concat_map.
    apply Permutation_flat_map, ranks_permuted; intros; modlia.
  Qed.

  Lemma everyone_own c : flat_map (fun q => own q c) (ranks N) = everyone N c.
  Proof.
    unfold everyone. induction (ranks N) as [|q l IH]; [reflexivity|]. cbn [flat_map map].
    now rewrite IH.
  Qed.

  Lemma ring_value_everyone before c : 0 <= c < N ->
    Permutation (ring_value N before (@app contribution) own c (N - 1)) (everyone N c).
  Proof. intros Hc. rewrite <- everyone_own. now apply ring_value_all. Qed.

  Theorem ring_all_reduces : all_reduces N N (ring N) (Z.to_nat (2 * (N - 1))).
  Proof.
    intros r c Hr Hc. unfold contributions. rewrite ring_all_reduce_result by assumption.
    now apply ring_value_everyone.
  Qed.

  Theorem ring_reduce_scatters : reduce_scatters N (scatter N) (Z.to_nat (N - 1)).
  Proof.
    intros r Hr. unfold contributions. rewrite ring_reduce_scatter_result by assumption.
    now apply ring_value_everyone.
  Qed.

  Theorem ring_all_gathers : all_gathers N (gather N) (Z.to_nat (N - 1)).
  Proof. intros r c Hr Hc. unfold contributions. now rewrite ring_all_gather_result. Qed.
End RingOnce.
