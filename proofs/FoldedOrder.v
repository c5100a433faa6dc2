(** A folded all-reduce's leaves are all ranks, in rank order.

        N = 6:    survivor 0: x0 + x1    1: x2 + x3    2: x4    3: x5

    So a core that merges its ranks in order makes the whole merge all ranks in order. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Collectives Folding FoldedResult.
Import ListNotations.
Open Scope Z_scope.

(** All survivors' leaves: every rank once, in rank order. *)
Lemma leaves_everyone N c : 0 < N ->
  flat_map (leaf N (@app contribution) own c) (range 0 (power_below N)) = everyone N c.
Proof.
  intros HN. destruct (power_between N HN) as (_ & Hp & Hpn).
  set (p := power_below N) in *. set (extra := N - p).
  rewrite (range_split 0 extra p), flat_map_app by (unfold extra; lia).
  unfold everyone, ranks. rewrite (range_split 0 (2 * extra) N), map_app by (unfold extra; lia).
  unfold leaf. fold p extra. f_equal.
  - assert (G : forall e : nat, Z.of_nat e <= extra ->
      flat_map (fun i => if i <? extra then own (2 * i) c ++ own (2 * i + 1) c
                         else own (i + extra) c) (range 0 (Z.of_nat e)) =
      map (fun q => (q, c)) (range 0 (2 * Z.of_nat e))).
    { induction e as [|e IH]; intros He; [reflexivity|].
      replace (2 * Z.of_nat (S e)) with (2 * Z.of_nat e + 1 + 1) by lia.
      replace (Z.of_nat (S e)) with (Z.of_nat e + 1) by lia.
      rewrite !range_last, flat_map_app, !map_app, IH, <- app_assoc by lia. cbn [flat_map].
      now replace (Z.of_nat e <? extra) with true by lia. }
    assert (H := G (Z.to_nat extra)). rewrite Z2Nat.id in H by (unfold extra; lia). apply H. lia.
  - replace (range (2 * extra) N) with (map (fun i => i + extra) (range extra p))
      by (rewrite range_shift; f_equal; unfold extra; lia).
    assert (H : forall i, In i (range extra p) -> extra <= i) by (intros i; rewrite in_range; lia).
    revert H. generalize (range extra p) as l. induction l as [|i l IH]; intros H; [reflexivity|].
    cbn [flat_map map]. rewrite IH by (intros; apply H; now right).
    assert (extra <= i) by (apply H; now left). now replace (i <? extra) with false by lia.
Qed.
