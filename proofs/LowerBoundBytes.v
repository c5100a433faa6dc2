(** The least that some rank must send, and some rank receive, in the model of LowerBound.v.

        S = weight of all units        total of all ranks     some rank sends, some receives
        all-reduce                     2(N-1) S               2(N-1)/N S
        reduce-scatter, all-gather      (N-1) S                (N-1)/N S

    Each unit needs so many messages (LowerBoundHops.v), so all units together so much traffic,
    and of N ranks one has no less than the N-th part.  The weights are any numbers that are
    not negative; a result may be any function of the inputs that each of them matters to.
    - [all_reduce_traffic], [all_reduce_some_send], [all_reduce_some_receive];
    - [reduce_scatter_...]: unit u's result is wanted at rank [owner u] only;
    - [all_gather_...]: unit u's result, wanted everywhere, is made of [owner u]'s input. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists LowerBound LowerBoundHops.
Import ListNotations.
Open Scope Z_scope.

(** One of N numbers is no less than the N-th part of their sum. *)
Lemma some_share N (f : Z -> Z) least : 0 < N -> least <= zsum (map f (ranks N)) ->
  exists r, 0 <= r < N /\ least <= N * f r.
Proof.
  intros HN H. destruct (existsb (fun r => least <=? N * f r) (ranks N)) eqn:E.
  - apply existsb_exists in E as (r & Hr & E). exists r. rewrite in_ranks in Hr.
    split; [assumption|lia].
  - exfalso. assert (Low : forall r, In r (ranks N) -> N * f r <= least - 1).
    { intros r Hr. apply Z.nlt_ge. intros Hlt. enough (true = false) by discriminate.
      rewrite <- E. symmetry. apply existsb_exists. exists r. split; [assumption|lia]. }
    apply zsum_le in Low. rewrite zsum_scale, zsum_const in Low.
    unfold ranks in Low at 2. rewrite range_length in Low. nia.
Qed.

Section Traffic.
  Context {St : Type}.
  Variable weight : Z -> Z.
  Hypothesis weight_pos : forall u, 0 <= weight u.

  Definition load (t : transfer St) : Z := if remote t then zsum (map weight (units t)) else 0.

  (** What rank [r] gives, and takes, and what all together move. *)
  Definition given (a : algorithm) (r : Z) : Z :=
    zsum (map (fun t => if giver t =? r then load t else 0) (all_transfers a)).
  Definition taken (a : algorithm) (r : Z) : Z :=
    zsum (map (fun t => if taker t =? r then load t else 0) (all_transfers a)).
  Definition moved (a : algorithm (St := St)) : Z := zsum (map load (all_transfers a)).

  Definition among (N : Z) (a : algorithm (St := St)) : Prop := forall t, In t (all_transfers a) ->
    0 <= giver t < N /\ 0 <= taker t < N.

  (** Every transfer is some rank's. *)
  Lemma by_rank N (end_ : transfer St -> Z) a :
    (forall t, In t (all_transfers a) -> 0 <= end_ t < N) ->
    zsum (map (fun r => zsum (map (fun t => if end_ t =? r then load t else 0) (all_transfers a)))
              (ranks N)) = moved a.
  Proof.
    intros H. rewrite zsum_swap. apply zsum_ext. intros t Ht.
    rewrite (zsum_single _ _ (end_ t)); [now rewrite Z.eqb_refl|apply range_NoDup| |].
    - now apply in_ranks, H.
    - intros r _ Hr. destruct (Z.eqb_spec (end_ t) r); congruence.
  Qed.

  Lemma given_total N a : among N a -> zsum (map (given a) (ranks N)) = moved a.
  Proof. intros H. apply by_rank. intros t Ht. now apply H. Qed.

  Lemma taken_total N a : among N a -> zsum (map (taken a) (ranks N)) = moved a.
  Proof. intros H. apply by_rank. intros t Ht. now apply H. Qed.

  (** The units of [data] that some list carries weigh no more than the list. *)
  Lemma carried data l : NoDup data ->
    zsum (map (fun u => if mem u l then weight u else 0) data) <= zsum (map weight l).
  Proof.
    intros ND. induction l as [|i l IH]; [now rewrite zsum_zero|].
    cbn [map]. rewrite zsum_cons. etransitivity; [|apply Zplus_le_compat_l, IH].
    assert (One : zsum (map (fun u => if u =? i then weight u else 0) data) <= weight i).
    { destruct (in_dec Z.eq_dec i data) as [Hi|Hn].
      - rewrite (zsum_single _ _ i); auto; [rewrite Z.eqb_refl; lia|].
        intros u _ Hu. now apply Z.eqb_neq in Hu as ->.
      - rewrite zsum_zero; [apply weight_pos|]. intros u Hu.
        destruct (Z.eqb_spec u i) as [->|]; [contradiction|reflexivity]. }
    etransitivity; [|apply Zplus_le_compat_r, One]. rewrite <- zsum_plus.
    apply zsum_le. intros u _. cbn [mem existsb]. fold (mem u l). specialize (weight_pos u).
    destruct (u =? i), (mem u l); cbn [orb]; lia.
  Qed.

  (** Hops, unit by unit, are paid for. *)
  Lemma hops_are_moved data a : NoDup data ->
    zsum (map (fun u => weight u * Z.of_nat (length (hops a u))) data) <= moved a.
  Proof.
    intros ND. unfold moved, hops. induction (all_transfers a) as [|t l IH];
      [rewrite zsum_zero; intros; cbn; lia|].
    cbn [map]. rewrite zsum_cons. etransitivity; [|apply Zplus_le_compat_l, IH].
    assert (One : zsum (map (fun u => if remote t && mem u (units t) then weight u else 0) data)
                  <= load t).
    { unfold load. destruct (remote t); [now apply carried|now rewrite zsum_zero]. }
    etransitivity; [|apply Zplus_le_compat_r, One]. rewrite <- zsum_plus.
    apply zsum_le. intros u _. cbn [filter].
    destruct (remote t && mem u (units t)); cbn [map length]; lia.
  Qed.

  Lemma moved_at_least data a k : NoDup data ->
    (forall u, In u data -> k <= Z.of_nat (length (hops a u))) ->
    k * zsum (map weight data) <= moved a.
  Proof.
    intros ND H. etransitivity; [|apply (hops_are_moved data a ND)]. rewrite <- zsum_scale.
    apply zsum_le. intros u Hu. specialize (H u Hu). specialize (weight_pos u). nia.
  Qed.
End Traffic.

(** ** The bounds *)

Section Bounds.
  Context {Input St Out : Type}.
  Variables (N : Z) (data : list Z) (weight : Z -> Z) (a : algorithm (St := St)).
  Variables (init : Z -> Z -> Input -> St) (result : St -> Out) (f : Z -> (Z -> Input) -> Out).
  Variable owner : Z -> Z.
  Hypothesis HN : 0 < N.
  Hypothesis data_once : NoDup data.
  Hypothesis weight_pos : forall u, 0 <= weight u.
  Hypothesis ranks_only : among N a.
  Let S := zsum (map weight data).

  (** From whatever inputs, rank [r] ends with what [f] says of unit [u]. *)
  Definition has_result (r u : Z) : Prop :=
    forall x, result (outcome init a x r u) = f u (fun q => x q u).
  Definition all_matter (u : Z) : Prop := forall i, 0 <= i < N -> needs (f u) i.

  Definition all_reduced : Prop := forall u, In u data ->
    all_matter u /\ forall r, 0 <= r < N -> has_result r u.
  Definition reduce_scattered : Prop := forall u, In u data ->
    all_matter u /\ has_result (owner u) u.
  Definition all_gathered : Prop := forall u, In u data ->
    needs (f u) (owner u) /\ forall r, 0 <= r < N -> has_result r u.

  Lemma result_is_heard r u i : has_result r u -> needs (f u) i -> hears (hops a u) r i = true.
  Proof. intros Hr Hi. apply knows_hears. now apply (result_is_known init a u r result (f u)). Qed.

  Lemma some_rank_gives least : least <= moved weight a ->
    exists r, 0 <= r < N /\ least <= N * given weight a r.
  Proof. intros H. apply some_share; [assumption|]. now rewrite given_total. Qed.

  Lemma some_rank_takes least : least <= moved weight a ->
    exists r, 0 <= r < N /\ least <= N * taken weight a r.
  Proof. intros H. apply some_share; [assumption|]. now rewrite taken_total. Qed.

  Theorem all_reduce_traffic : all_reduced -> 2 * (N - 1) * S <= moved weight a.
  Proof.
    intros H. apply moved_at_least; [assumption..|]. intros u Hu. destruct (H u Hu) as [Hm Hr].
    apply gossiping; [assumption|]. intros r i Hr' Hi. apply result_is_heard; auto.
  Qed.

  Theorem reduce_scatter_traffic : reduce_scattered -> (N - 1) * S <= moved weight a.
  Proof.
    intros H. apply moved_at_least; [assumption..|]. intros u Hu. destruct (H u Hu) as [Hm Hr].
    apply (collecting N _ (owner u)). intros i Hi. apply result_is_heard; auto.
  Qed.

  Theorem all_gather_traffic : all_gathered -> (N - 1) * S <= moved weight a.
  Proof.
    intros H. apply moved_at_least; [assumption..|]. intros u Hu. destruct (H u Hu) as [Hm Hr].
    apply (spreading N _ (owner u)). intros r Hr'. apply result_is_heard; auto.
  Qed.

  Theorem all_reduce_some_send : all_reduced ->
    exists r, 0 <= r < N /\ 2 * (N - 1) * S <= N * given weight a r.
  Proof. intros H. now apply some_rank_gives, all_reduce_traffic. Qed.

  Theorem all_reduce_some_receive : all_reduced ->
    exists r, 0 <= r < N /\ 2 * (N - 1) * S <= N * taken weight a r.
  Proof. intros H. now apply some_rank_takes, all_reduce_traffic. Qed.

  Theorem reduce_scatter_some_send : reduce_scattered ->
    exists r, 0 <= r < N /\ (N - 1) * S <= N * given weight a r.
  Proof. intros H. now apply some_rank_gives, reduce_scatter_traffic. Qed.

  Theorem reduce_scatter_some_receive : reduce_scattered ->
    exists r, 0 <= r < N /\ (N - 1) * S <= N * taken weight a r.
  Proof. intros H. now apply some_rank_takes, reduce_scatter_traffic. Qed.

  Theorem all_gather_some_send : all_gathered ->
    exists r, 0 <= r < N /\ (N - 1) * S <= N * given weight a r.
  Proof. intros H. now apply some_rank_gives, all_gather_traffic. Qed.

  Theorem all_gather_some_receive : all_gathered ->
    exists r, 0 <= r < N /\ (N - 1) * S <= N * taken weight a r.
  Proof. intros H. now apply some_rank_takes, all_gather_traffic. Qed.
End Bounds.
