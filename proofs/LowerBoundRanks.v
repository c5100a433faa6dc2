(** What a particular rank must send or receive: the root of a broadcast, or of a reduce.

        S elements, N >= 2 ranks       the root             every other rank
        broadcast                      sends S at least     receives S at least
        reduce                         receives S           sends S

    In the model of LowerBound.v, a rank whose input is needed elsewhere, unit by unit, gives
    all these units once at least ([wanted_is_given]); one whose result needs an input from
    elsewhere takes them ([wanting_is_taken]).  For programs: [broadcast_root_sends],
    [broadcast_others_receive], [reduce_root_receives], [reduce_others_send]. *)
From Coq Require Import ZArith List Bool Permutation Lia.
From Refcoll Require Import Lists Schedule Collectives Traffic.
From Refcoll Require Import LowerBound LowerBoundHops LowerBoundBytes LowerBoundSchedules.
From Refcoll Require Import LowerBoundCosts LowerBoundPrograms.
Import ListNotations.
Open Scope Z_scope.

Section OneRank.
  Context {St : Type}.
  Variables (weight : Z -> Z) (a : algorithm (St := St)) (data : list Z).
  Hypothesis weight_pos : forall u, 0 <= weight u.
  Hypothesis data_once : NoDup data.

  (** Units that some transfer with [end_] at rank [r] carries are paid for there. *)
  Lemma carried_at (end_ : transfer St -> Z) r :
    (forall u, In u data -> exists t, In t (all_transfers a) /\
       end_ t = r /\ remote t && mem u (units t) = true) ->
    zsum (map weight data) <=
    zsum (map (fun t => if end_ t =? r then load weight t else 0) (all_transfers a)).
  Proof.
    set (carries := fun u t => (end_ t =? r) && (remote t && mem u (units t))). intros H.
    transitivity (zsum (map (fun u =>
      if existsb (carries u) (all_transfers a) then weight u else 0) data)).
    - apply zsum_le. intros u Hu. destruct (H u Hu) as (t & Ht & E & C).
      replace (existsb _ _) with true; [lia|]. symmetry. apply existsb_exists. exists t.
      split; [assumption|]. unfold carries. now rewrite E, Z.eqb_refl.
    - clear H. induction (all_transfers a) as [|t l IH]; [now rewrite zsum_zero|].
      cbn [map existsb]. rewrite zsum_cons. etransitivity; [|apply Zplus_le_compat_l, IH].
      assert (One : zsum (map (fun u => if carries u t then weight u else 0) data) <=
                    if end_ t =? r then load weight t else 0).
      { unfold carries, load. destruct (end_ t =? r), (remote t); cbn [andb];
          [now apply carried|now rewrite zsum_zero..]. }
      etransitivity; [|apply Zplus_le_compat_r, One]. rewrite <- zsum_plus.
      apply zsum_le. intros u _. specialize (weight_pos u).
      destruct (carries u t), (existsb (carries u) l); cbn [orb]; lia.
  Qed.

  Lemma hop_is_transfer u e : In e (hops a u) -> exists t, In t (all_transfers a) /\
    e = (giver t, taker t) /\ remote t && mem u (units t) = true.
  Proof.
    intros H. apply in_map_iff in H as (t & <- & Ht). apply filter_In in Ht as [Ht C]. eauto.
  Qed.

  Theorem wanted_is_given i :
    (forall u, In u data -> exists r, r <> i /\ hears (hops a u) r i = true) ->
    zsum (map weight data) <= given weight a i.
  Proof.
    intros H. apply carried_at. intros u Hu. destruct (H u Hu) as (r & Hr & Hh).
    apply heard_has_sent in Hh as [|Hh]; [contradiction|].
    apply in_map_iff in Hh as (e & <- & He). apply hop_is_transfer in He as (t & Ht & -> & C).
    now exists t.
  Qed.

  Theorem wanting_is_taken r :
    (forall u, In u data -> exists i, r <> i /\ hears (hops a u) r i = true) ->
    zsum (map weight data) <= taken weight a r.
  Proof.
    intros H. apply carried_at. intros u Hu. destruct (H u Hu) as (i & Hi & Hh).
    apply hearer_has_received in Hh as [|Hh]; [contradiction|].
    apply in_map_iff in Hh as (e & <- & He). apply hop_is_transfer in He as (t & Ht & -> & C).
    now exists t.
  Qed.
End OneRank.

Section Rooted.
  Variables (N C : Z) (P : program) (n : nat) (len : Z -> Z).
  Hypothesis HN : 2 <= N.
  Hypothesis HC : 0 < C.
  Hypothesis it_fits : fits N C P n.
  Hypothesis areas_alike : forall i, len (unit_of C i) = len i.
  Hypothesis len_pos : forall i, 0 <= len i.
  Let S := total len C.
  Local Notation model := (model Z.ltb Z.add N C P n).

  (** Everyone ends with the root's input, rank 0's. *)
  Lemma broadcast_is_heard r u : broadcasts N C P n -> 0 <= r < N -> 0 <= u < C ->
    hears (hops model u) r 0 = true.
  Proof.
    intros H Hr Hu. apply knows_hears.
    apply (result_is_known start model u r result (fun g => g 0)); [|apply one_needs_itself].
    intros x. rewrite (outcome_is_run N C) by assumption.
    enough (Some (run Z.add P n (first_state C start x) r u) = Some (x 0 u)) as G
      by now injection G.
    rewrite (run_value Z.add _ Z.add_assoc), H by assumption. cbn [value fold_right fst snd merge].
    now rewrite first_state_input by assumption.
  Qed.

  (** The root ends with everyone's input. *)
  Lemma reduce_is_heard i u : reduces_to_root N C P n -> 0 <= i < N -> 0 <= u < C ->
    hears (hops model u) 0 i = true.
  Proof.
    intros H Hi Hu. apply knows_hears.
    apply (result_is_known start model u 0 result (sum_of_all N u)); [|now apply sum_needs_all].
    apply (everyone_is_sum N C P n); trivial; try lia. now apply H.
  Qed.

  Theorem broadcast_root_sends : broadcasts N C P n -> S <= sent len P 0.
  Proof.
    intros H. etransitivity; [|apply (given_is_sent Z.ltb Z.add N C P n); trivial; lia].
    apply wanted_is_given; [assumption|apply range_NoDup|]. intros u Hu. apply in_ranks in Hu.
    exists 1. split; [lia|]. apply broadcast_is_heard; trivial; lia.
  Qed.

  Theorem broadcast_others_receive r : broadcasts N C P n -> 0 < r < N -> S <= received len P r.
  Proof.
    intros H Hr. etransitivity; [|apply (taken_is_received Z.ltb Z.add N C P n); trivial; lia].
    apply wanting_is_taken; [assumption|apply range_NoDup|]. intros u Hu. apply in_ranks in Hu.
    exists 0. split; [lia|]. apply broadcast_is_heard; trivial; lia.
  Qed.

  Theorem reduce_root_receives : reduces_to_root N C P n -> S <= received len P 0.
  Proof.
    intros H. etransitivity; [|apply (taken_is_received Z.ltb Z.add N C P n); trivial; lia].
    apply wanting_is_taken; [assumption|apply range_NoDup|]. intros u Hu. apply in_ranks in Hu.
    exists 1. split; [lia|]. apply reduce_is_heard; trivial; lia.
  Qed.

  Theorem reduce_others_send r : reduces_to_root N C P n -> 0 < r < N -> S <= sent len P r.
  Proof.
    intros H Hr. etransitivity; [|apply (given_is_sent Z.ltb Z.add N C P n); trivial; lia].
    apply wanted_is_given; [assumption|apply range_NoDup|]. intros u Hu. apply in_ranks in Hu.
    exists 0. split; [lia|]. apply reduce_is_heard; trivial; lia.
  Qed.
End Rooted.
