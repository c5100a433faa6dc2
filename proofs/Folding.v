(** Folding (refcoll/algorithms/folding.py, [folded]): any N from 2^K ranks.

        N = 6, p = 4, two ranks too many:
            0 -> 1   2 -> 3   4   5         each even rank r < 2(N-p) gives its vector to r+1
                 0        1   2   3         and sits out; the others are p ranks, in order
            0 <- 1   2 <- 3   4   5         at the end it gets the result back

    For any [core] that all-reduces among p ranks in [rounds] steps as a balanced tree over
    what the survivors hold, after two more rounds every one of the N ranks holds that tree,
    in whose leaves a folded pair stands merged, lower rank left ([FoldedResult.folded_result]).
    Survivors stay in rank order, so the operator need not commute. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Columns Combinators Groups Traffic Blocks Doubling.
Import ListNotations.
Open Scope Z_scope.

(** ** Python's functions *)

Definition power_below (size : Z) : Z := Z.shiftl 1 (Z.log2 size).

Definition survivors (size : Z) : list Z :=
  let extra := size - power_below size in
  filter (fun r => (2 * extra <=? r) || negb (r mod 2 =? 0)) (range 0 size).

Definition folding (rank size : Z) : bool := rank <? 2 * (size - power_below size).

Definition fold_in (whole : list Z) (rank size : Z) : schedule :=
  if power_below size <? size then
    if negb (folding rank size) then [IDLE]
    else if negb (rank mod 2 =? 0) then [[Reduce whole (rank - 1) None]]
    else [[Send whole (rank + 1)]]
  else [].

Definition folded (core : Z -> Z -> schedule) (whole : list Z) (rounds rank size : Z) : schedule :=
  let extra := size - power_below size in
  if extra =? 0 then core rank size
  else fold_in whole rank size
       ++ padded (on_ranks (survivors size) core rank) rounds
       ++ reverse IntoCopy (fold_in whole rank size).

(** ** Who folds, who survives *)

Section Folding.
  Variable N : Z.
  Hypothesis HN : 0 < N.
  Let K := Z.to_nat (Z.log2 N).
  Let p := power_below N.
  Let extra := N - p.

  Lemma power_between : p = 2 ^ Z.of_nat K /\ 0 < p /\ p <= N < 2 * p.
  Proof.
    assert (L := Z.log2_spec N HN). assert (L' := Z.log2_nonneg N). unfold p, power_below, K.
    rewrite shift_one, Z2Nat.id by assumption. rewrite <- Z.add_1_r, two_pow_succ in L by lia.
    repeat split; lia.
  Qed.

  Lemma survivors_are : survivors N =
    map (fun i => 2 * i + 1) (range 0 extra) ++ range (2 * extra) N.
  Proof.
    destruct power_between as (_ & Hp & Hpn). unfold survivors. fold p extra.
    rewrite (range_split 0 (2 * extra) N), filter_app by lia. f_equal.
    - assert (G : forall e : nat, Z.of_nat e <= extra ->
        filter (fun r => (2 * extra <=? r) || negb (r mod 2 =? 0)) (range 0 (2 * Z.of_nat e)) =
        map (fun i => 2 * i + 1) (range 0 (Z.of_nat e))).
      { induction e as [|e IH]; intros He; [reflexivity|].
        replace (2 * Z.of_nat (S e)) with (2 * Z.of_nat e + 1 + 1) by lia.
        replace (Z.of_nat (S e)) with (Z.of_nat e + 1) by lia.
        rewrite !range_last, !filter_app, map_app, IH, <- app_assoc by lia. f_equal.
        cbn [filter map].
        replace (2 * extra <=? 2 * Z.of_nat e) with false by lia.
        replace (2 * extra <=? 2 * Z.of_nat e + 1) with false by lia.
        replace ((2 * Z.of_nat e) mod 2) with 0 by (rewrite Z.mul_comm, Z.mod_mul; lia).
        replace ((2 * Z.of_nat e + 1) mod 2) with 1; [reflexivity|].
        rewrite Z.add_comm, Z.mul_comm, Z.mod_add by lia. reflexivity. }
      assert (H := G (Z.to_nat extra)). rewrite Z2Nat.id in H by lia. apply H. lia.
    - assert (G : forall l, (forall r, In r l -> 2 * extra <= r) ->
        filter (fun r => (2 * extra <=? r) || negb (r mod 2 =? 0)) l = l).
      { induction l as [|r l IH]; intros H; [reflexivity|]. cbn [filter].
        replace (2 * extra <=? r) with true by (symmetry; apply Z.leb_le, H; now left).
        cbn [orb]. f_equal. apply IH. intros q Hq. apply H. now right. }
      apply G. intros r Hr. apply in_range in Hr. lia.
  Qed.

  Lemma survivors_size : size_of (survivors N) = p.
  Proof.
    destruct power_between as (_ & Hp & Hpn). unfold size_of.
    rewrite survivors_are, app_length, loop_length, range_length. unfold extra in *. lia.
  Qed.

  (** The i-th survivor. *)
  Lemma survivor i : 0 <= i < p ->
    member (survivors N) i = if i <? extra then 2 * i + 1 else i + extra.
  Proof.
    destruct power_between as (_ & Hp & Hpn). intros Hi. unfold member. rewrite survivors_are.
    destruct (Z.ltb_spec i extra) as [H|H].
    - rewrite app_nth1 by (rewrite loop_length; lia). rewrite nth_loop by lia. lia.
    - rewrite app_nth2 by (rewrite loop_length; lia). rewrite loop_length, <- (map_id (range _ _)).
      rewrite nth_loop by (unfold extra in *; lia). lia.
  Qed.

  Lemma survivors_distinct : NoDup (survivors N).
  Proof. apply NoDup_filter, range_NoDup. Qed.

  Lemma survivors_exist r : In r (survivors N) -> 0 <= r < N.
  Proof. intros H. apply filter_In in H as [H _]. now apply in_range. Qed.

  (** Their order is that of their places. *)
  Lemma survivors_order : in_rank_order p (group_before (survivors N) Z.ltb).
  Proof.
    intros i j Hi Hj. unfold group_before. rewrite !survivor by assumption.
    destruct (Z.ltb_spec i extra), (Z.ltb_spec j extra); lia.
  Qed.

  (** Every rank is the even or the odd one of a folded pair, or beyond the pairs. *)
  Lemma fold_cases r : 0 <= r < N ->
    (exists i, 0 <= i < extra /\ r = 2 * i) \/ (exists i, 0 <= i < extra /\ r = 2 * i + 1) \/
    2 * extra <= r < N.
  Proof.
    intros Hr. destruct (Z.lt_ge_cases r (2 * extra)) as [H|H]; [|right; right; lia].
    destruct (Z.Even_or_Odd r) as [[i E]|[i E]]; [left|right; left]; exists i; lia.
  Qed.

  Section Steps.
    Variable whole : list Z.
    Hypothesis folds : 0 < extra.

    Lemma fold_in_even i : 0 <= i < extra -> fold_in whole (2 * i) N = [[Send whole (2 * i + 1)]].
    Proof.
      intros Hi. unfold fold_in, folding. fold p extra.
      replace (p <? N) with true by (unfold extra in folds; lia).
      replace (2 * i <? 2 * extra) with true by lia. rewrite Z.mul_comm, Z.mod_mul by lia.
      now rewrite Z.mul_comm.
    Qed.

    Lemma fold_in_odd i : 0 <= i < extra ->
      fold_in whole (2 * i + 1) N = [[Reduce whole (2 * i) None]].
    Proof.
      intros Hi. unfold fold_in, folding. fold p extra.
      replace (p <? N) with true by (unfold extra in folds; lia).
      replace (2 * i + 1 <? 2 * extra) with true by lia.
      replace ((2 * i + 1) mod 2) with 1
        by (rewrite Z.add_comm, Z.mul_comm, Z.mod_add by lia; reflexivity).
      replace (2 * i + 1 - 1) with (2 * i) by lia. reflexivity.
    Qed.

    Lemma fold_in_beyond r : 2 * extra <= r -> fold_in whole r N = [IDLE].
    Proof.
      intros Hr. unfold fold_in, folding. fold p extra.
      replace (p <? N) with true by (unfold extra in folds; lia).
      now replace (r <? 2 * extra) with false by lia.
    Qed.

    Lemma fold_in_length r : length (fold_in whole r N) = 1%nat.
    Proof.
      unfold fold_in. fold p. replace (p <? N) with true by (unfold extra in folds; lia).
      now destruct (folding r N), (r mod 2 =? 0).
    Qed.
  End Steps.
End Folding.
