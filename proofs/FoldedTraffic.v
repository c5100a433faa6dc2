(** What folding costs.  (The schedule: Folding.v.)

        r even, r < 2(N-p):   sends S at the start, receives S at the end
        r odd,  r < 2(N-p):   receives S at the start, sends S at the end, and the core's
        r >= 2(N-p):          the core's

    [folded_sent], [folded_received]: the core's traffic at the rank's place among the
    survivors, if it has one, and the whole vector once each way for a rank of a folded pair. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Columns Combinators Groups Traffic Blocks
  Doubling Folding FoldedResult.
Import ListNotations.
Open Scope Z_scope.

(** A rank's number among the survivors; none for one that sits out. *)
Definition place_after_folding (rank size : Z) : option Z :=
  let extra := size - power_below size in
  if 2 * extra <=? rank then Some (rank - extra)
  else if negb (rank mod 2 =? 0) then Some (rank / 2) else None.

Section FoldedTraffic.
  Variable N : Z.
  Hypothesis HN : 0 < N.
  Let p := power_below N.
  Let extra := N - p.

  Variables (core : Z -> Z -> schedule) (whole : list Z) (R : nat) (len : Z -> Z).
  Hypothesis core_length : forall i, 0 <= i < p -> length (core i p) = R.
  Hypothesis core_matches : matches p (fun i => core i p) R.

  Lemma place_is_index r : 0 <= r < N -> place_after_folding r N = index_of r (survivors N).
  Proof.
    intros Hr. destruct (power_between N HN) as (_ & Hp & Hpn). fold p in Hp, Hpn.
    assert (Size := survivors_size N HN). fold p in Size.
    assert (At : forall i, 0 <= i < p -> index_of (member (survivors N) i) (survivors N) = Some i)
      by (intros i Hi; apply index_of_member; [apply survivors_distinct|now rewrite Size]).
    unfold place_after_folding. fold p extra.
    destruct (fold_cases N r Hr) as [(i & Hi & ->)|[(i & Hi & ->)|H]].
    - fold p extra in Hi. replace (2 * extra <=? 2 * i) with false by lia.
      rewrite Z.mul_comm, Z.mod_mul by lia.
      cbn [Z.eqb negb]. symmetry. apply index_of_none. rewrite survivors_are by assumption.
      fold p extra. rewrite in_app_iff, in_map_iff, in_range.
      intros [(j & E & _)|H]; lia.
    - fold p extra in Hi. replace (2 * extra <=? 2 * i + 1) with false by lia.
      replace ((2 * i + 1) mod 2) with 1
        by (rewrite Z.add_comm, Z.mul_comm, Z.mod_add by lia; reflexivity).
      replace ((2 * i + 1) / 2) with i
        by (rewrite Z.add_comm, Z.mul_comm, Z.div_add by lia; reflexivity).
      cbn [Z.eqb negb]. rewrite <- (At i) by (unfold extra in *; lia). f_equal.
      rewrite survivor by (assumption || (unfold extra in *; fold p; lia)). fold p extra.
      now replace (i <? extra) with true by lia.
    - fold p extra in H. replace (2 * extra <=? r) with true by lia.
      rewrite <- (At (r - extra)) by (unfold extra in *; lia). f_equal.
      rewrite survivor by (assumption || (unfold extra in *; fold p; lia)). fold p extra.
      replace (r - extra <? extra) with false by lia. lia.
  Qed.

  Lemma place_in_range r i : 0 <= r < N -> place_after_folding r N = Some i -> 0 <= i < p.
  Proof.
    intros Hr E. rewrite place_is_index in E by assumption. apply index_of_some in E as [Hi _].
    now rewrite survivors_size in Hi.
  Qed.

  (** The core's part: its traffic at a survivor's place. *)
  Lemma core_part (traffic : program -> Z -> Z) r : 0 <= r < N ->
    (forall P q, P q = [] -> traffic P q = 0) ->
    (forall i, 0 <= i < p -> traffic (on_ranks (survivors N) core) (member (survivors N) i) =
                             traffic (fun i => core i p) i) ->
    traffic (on_ranks (survivors N) core) r =
    match place_after_folding r N with Some i => traffic (fun i => core i p) i | None => 0 end.
  Proof.
    intros Hr Hnone Hmember. rewrite place_is_index by assumption.
    destruct (index_of r (survivors N)) as [i|] eqn:E.
    - apply index_of_some in E as [Hi <-]. rewrite survivors_size in Hi by assumption.
      now apply Hmember.
    - apply Hnone. unfold on_ranks. now rewrite E.
  Qed.

  Lemma survivors_core :
    matches (size_of (survivors N)) (fun i => core i (size_of (survivors N))) R /\
    ends_after (size_of (survivors N)) (fun i => core i (size_of (survivors N))) R.
  Proof.
    rewrite survivors_size by assumption. split; [exact core_matches|].
    intros i Hi. now rewrite core_length.
  Qed.

  Lemma fold_in_traffic r : 0 <= r < N -> 0 < extra ->
    sent_where len (others r) (fold_in whole r N) +
      sent_where len (others r) (reverse IntoCopy (fold_in whole r N)) =
      (if folding r N then volume len whole else 0) /\
    received_where len (others r) (fold_in whole r N) +
      received_where len (others r) (reverse IntoCopy (fold_in whole r N)) =
      (if folding r N then volume len whole else 0).
  Proof.
    intros Hr E. rewrite reverse_sent, reverse_received. unfold folding. fold p extra.
    destruct (fold_cases N r Hr) as [(i & Hi & ->)|[(i & Hi & ->)|H]].
    - fold p extra in Hi. rewrite fold_in_even by assumption.
      replace (2 * i <? 2 * extra) with true by lia.
      assert (O : others (2 * i) (2 * i + 1) = true) by (apply negb_true_iff, Z.eqb_neq; lia).
      unfold sent_where, received_where, step_sends, step_receives, action_sends, action_receives.
      cbn [map is_send negb andb peer chunks]. rewrite O. cbn. lia.
    - fold p extra in Hi. rewrite fold_in_odd by assumption.
      replace (2 * i + 1 <? 2 * extra) with true by lia.
      assert (O : others (2 * i + 1) (2 * i) = true) by (apply negb_true_iff, Z.eqb_neq; lia).
      unfold sent_where, received_where, step_sends, step_receives, action_sends, action_receives.
      cbn [map is_send negb andb peer chunks]. rewrite O. cbn. lia.
    - fold p extra in H. rewrite fold_in_beyond by (fold p extra; lia).
      now replace (r <? 2 * extra) with false by lia.
  Qed.

  Let inner : program := fun i => core i p.
  Let folded_ : program := folded_program N core whole R.

  (** What a survivor's place costs it in the core, and what folding costs. *)
  Definition with_folding (core_traffic : Z -> Z) (r : Z) : Z :=
    match place_after_folding r N with Some i => core_traffic i | None => 0 end
    + if folding r N then volume len whole else 0.

  Lemma with_folding_ext f g r : 0 <= r < N -> (forall i, 0 <= i < p -> f i = g i) ->
    with_folding f r = with_folding g r.
  Proof.
    intros Hr E. unfold with_folding. f_equal.
    destruct (place_after_folding r N) as [i|] eqn:P; [|reflexivity].
    apply E. now apply (place_in_range r).
  Qed.

  Lemma no_folding r : 0 <= r < N -> extra = 0 ->
    place_after_folding r N = Some r /\ folding r N = false.
  Proof.
    intros Hr E. unfold place_after_folding, folding. fold p extra. rewrite E, Z.sub_0_r.
    replace (2 * 0 <=? r) with true by lia. replace (r <? 2 * 0) with false by lia. now split.
  Qed.

  Theorem folded_sent r : 0 <= r < N ->
    sent len folded_ r = with_folding (sent len inner) r.
  Proof.
    intros Hr. unfold with_folding, inner. destruct (extra_cases N HN) as [E|E]; fold p extra in E.
    - destruct (no_folding r Hr E) as [-> ->]. unfold sent, folded_.
      rewrite folded_no_extra by assumption. unfold p. lia.
    - rewrite <- (core_part (sent len) r Hr).
      + unfold sent, folded_. rewrite folded_parts by assumption. unfold then_.
        rewrite !sent_where_app, padded_sent.
        destruct (fold_in_traffic r Hr E) as [<- _]. lia.
      + intros P q H. unfold sent. now rewrite H.
      + intros i Hi. destruct survivors_core as [M En].
        rewrite (on_ranks_sent _ core R); try assumption;
          rewrite ?survivors_size by assumption; try assumption; try reflexivity;
          now apply survivors_distinct.
  Qed.

  Theorem folded_received r : 0 <= r < N ->
    received len folded_ r = with_folding (received len inner) r.
  Proof.
    intros Hr. unfold with_folding, inner. destruct (extra_cases N HN) as [E|E]; fold p extra in E.
    - destruct (no_folding r Hr E) as [-> ->]. unfold received, folded_.
      rewrite folded_no_extra by assumption. unfold p. lia.
    - rewrite <- (core_part (received len) r Hr).
      + unfold received, folded_. rewrite folded_parts by assumption. unfold then_.
        rewrite !received_where_app, padded_received.
        destruct (fold_in_traffic r Hr E) as [_ <-]. lia.
      + intros P q H. unfold received. now rewrite H.
      + intros i Hi. destruct survivors_core as [M En].
        rewrite (on_ranks_received _ core R); try assumption;
          rewrite ?survivors_size by assumption; try assumption; try reflexivity;
          now apply survivors_distinct.
  Qed.
End FoldedTraffic.
