(** The least number of phases, where no rank sends, or none receives, twice in a phase.

        who knows of rank 0          0  ->  0 1  ->  0 1 2 3  ->  ...      at most twice as many
        whom rank 0 knows of         0  ->  0 1  ->  0 1 2 3  ->  ...      after each phase

    In the model of LowerBound.v, for every N >= 1:
    - [one_send_phases]: with one send a rank a phase, everyone can know of one rank (as all
      must after a broadcast, all-gather or all-reduce) after ceil(log2 N) phases at the earliest.
    - [one_receive_phases]: with one receive a rank a phase, the same holds for one rank that
      knows of all (as one must after a reduce, gather, reduce-scatter or all-reduce). *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists LowerBound.
Import ListNotations.
Open Scope Z_scope.

Section Steps.
  Context {St : Type}.
  Local Notation algorithm := (algorithm (St := St)).

  (** Transfers of a phase between different ranks, that one rank gives, or takes. *)
  Definition one_send (p : phase St) : Prop := forall r,
    (length (filter (fun t => remote t && (giver t =? r)%Z) (transfers p)) <= 1)%nat.
  Definition one_receive (p : phase St) : Prop := forall r,
    (length (filter (fun t => remote t && (taker t =? r)%Z) (transfers p)) <= 1)%nat.

  Definition count (which : Z -> bool) (N : Z) : nat := length (filter which (ranks N)).

  Lemma count_at_most which N l : (forall r, 0 <= r < N -> which r = true -> In r l) ->
    (count which N <= length l)%nat.
  Proof.
    intros H. apply NoDup_incl_length; [apply NoDup_filter, range_NoDup|].
    intros r Hr. apply filter_In in Hr as [Hr Hw]. apply in_ranks in Hr. auto.
  Qed.

  Lemma count_all which N : (forall r, 0 <= r < N -> which r = true) -> count which N = Z.to_nat N.
  Proof.
    intros H. assert (G : forall l, (forall r, In r l -> which r = true) -> filter which l = l).
    { induction l as [|r l IH]; intros Hl; [reflexivity|]. cbn. rewrite Hl by now left.
      f_equal. apply IH. intros; apply Hl; now right. }
    unfold count. rewrite G by (intros r Hr; now apply H, in_ranks).
    unfold ranks. rewrite range_length. lia.
  Qed.

  (** A list in which each key appears at most once has distinct keys. *)
  Lemma keys_distinct (key : transfer St -> Z) (which : transfer St -> bool) l :
    (forall r, (length (filter (fun t => which t && (key t =? r)%Z) l) <= 1)%nat) ->
    NoDup (map key (filter which l)).
  Proof.
    induction l as [|t l IH]; intros H; [constructor|]. cbn [filter].
    assert (IH' : NoDup (map key (filter which l))).
    { apply IH. intros r. specialize (H r). cbn [filter] in H.
      destruct (which t && (key t =? r)); cbn [length] in H; lia. }
    destruct (which t) eqn:W; [|assumption]. cbn [map]. constructor; [|assumption].
    intros Hkey. apply in_map_iff in Hkey as (s & E & Hs). specialize (H (key t)).
    cbn [filter] in H. rewrite W, Z.eqb_refl in H. cbn [andb length] in H.
    apply filter_In in Hs as [Hs Ws].
    assert (Hin : In s (filter (fun t' => which t' && (key t' =? key t)) l)).
    { apply filter_In. split; [assumption|]. rewrite Ws, E. apply Z.eqb_refl. }
    apply in_split in Hin as (l1 & l2 & Hin). rewrite Hin, app_length in H. cbn in H. lia.
  Qed.

  Lemma distinct_still (key : transfer St -> Z) which l :
    NoDup (map key l) -> NoDup (map key (filter which l)).
  Proof.
    induction l as [|t l IH]; intros H; [constructor|]. inversion H as [|? ? Hn H']; subst.
    cbn [filter]. destruct (which t); [|now apply IH]. cbn [map]. constructor; [|now apply IH].
    intros Hin. apply Hn. apply in_map_iff in Hin as (s & E & Hs). apply filter_In in Hs as [Hs _].
    apply in_map_iff. eauto.
  Qed.

  (** ** One send a rank: those who know of rank [i] at most double *)

  Lemma learners (a : algorithm) p u i r : knows (a ++ [p]) u r i = true -> knows a u r i = true \/
    exists t, In t (transfers p) /\ remote t = true /\ taker t = r /\ knows a u (giver t) i = true.
  Proof.
    rewrite knows_more. unfold learn. intros H. apply orb_true_iff in H as [H|H]; [now left|].
    apply existsb_exists in H as (t & Ht & H). apply andb_true_iff in H as [H Hk].
    apply andb_true_iff in H as [Hr _]. apply Z.eqb_eq in Hr.
    destruct (remote t) eqn:R; [right; eauto|left].
    unfold remote in R. apply negb_false_iff, Z.eqb_eq in R. congruence.
  Qed.

  Lemma informed_double N (a : algorithm) u i : 0 <= i < N -> (forall p, In p a -> one_send p) ->
    (forall t, In t (all_transfers a) -> 0 <= giver t < N) ->
    (count (fun r => knows a u r i) N <= 2 ^ length a)%nat.
  Proof.
    intros Hi. induction a as [|p a IH] using rev_ind; intros One Ranks.
    - apply (count_at_most _ _ [i]). intros r _ Hr. apply Z.eqb_eq in Hr. now left.
    - unfold all_transfers in *. rewrite flat_map_app in Ranks. cbn in Ranks.
      rewrite app_nil_r in Ranks.
      assert (IH' : (count (fun r => knows a u r i) N <= 2 ^ length a)%nat)
        by (apply IH; intros; [apply One|apply Ranks]; auto with datatypes).
      set (news := filter (fun t => knows a u (giver t) i) (filter remote (transfers p))).
      assert (New : (length news <= count (fun r => knows a u r i) N)%nat).
      { rewrite <- (map_length giver). apply NoDup_incl_length.
        - apply distinct_still, keys_distinct, One. auto with datatypes.
        - intros r Hr. apply in_map_iff in Hr as (t & <- & Ht). apply filter_In in Ht as [Ht Hk].
          apply filter_In in Ht as [Ht _]. apply filter_In. split; [|assumption].
          apply in_ranks, Ranks. auto with datatypes. }
      assert (Grow : (count (fun r => knows (a ++ [p]) u r i) N <=
        count (fun r => knows a u r i) N + length news)%nat).
      { rewrite <- (map_length taker news). unfold count at 2. rewrite <- app_length.
        apply count_at_most. intros r Hr Hk. apply in_or_app.
        apply learners in Hk as [Hk|(t & Ht & R & <- & Hk)].
        - left. apply filter_In. split; [now apply in_ranks|assumption].
        - right. apply in_map. apply filter_In. split; [|assumption]. now apply filter_In. }
      rewrite app_length. cbn [length]. rewrite Nat.add_1_r. cbn [Nat.pow]. lia.
  Qed.

  (** ** One receive a rank: those of whom a rank knows at most double *)

  Lemma known_double N (a : algorithm) u : (forall p, In p a -> one_receive p) ->
    forall r, (count (knows a u r) N <= 2 ^ length a)%nat.
  Proof.
    induction a as [|p a IH] using rev_ind; intros One r.
    - apply (count_at_most _ _ [r]). intros i _ Hi. apply Z.eqb_eq in Hi. now left.
    - assert (IH' : forall r, (count (knows a u r) N <= 2 ^ length a)%nat)
        by (apply IH; intros; apply One; auto with datatypes).
      rewrite app_length. cbn [length]. rewrite Nat.add_1_r. cbn [Nat.pow Nat.mul].
      rewrite Nat.add_0_r.
      assert (One' := One p ltac:(auto with datatypes) r).
      destruct (filter (fun t => remote t && (taker t =? r)) (transfers p)) as [|t [|]] eqn:E;
        [| |cbn in One'; lia].
      + etransitivity; [|apply Nat.le_add_r]. etransitivity; [|apply (IH' r)].
        apply count_at_most. intros i Hi Hk. apply filter_In. split; [now apply in_ranks|].
        apply learners in Hk as [Hk|(t & Ht & R & Hr & _)]; [assumption|exfalso].
        enough (In t []) by easy. rewrite <- E. apply filter_In. rewrite R, Hr, Z.eqb_refl. auto.
      + etransitivity; [|apply (Nat.add_le_mono _ _ _ _ (IH' r) (IH' (giver t)))].
        unfold count at 2 3. rewrite <- app_length. apply count_at_most. intros i Hi Hk.
        rewrite in_app_iff, !filter_In. apply in_ranks in Hi.
        apply learners in Hk as [Hk|(t' & Ht & R & Hr & Hk)]; [tauto|right].
        assert (Hin : In t' [t]) by (rewrite <- E; apply filter_In; now rewrite R, Hr, Z.eqb_refl).
        destruct Hin as [->|[]]. tauto.
  Qed.

  (** ** The theorems *)

  Lemma log2_up_of_power N k : 0 < N -> (Z.to_nat N <= 2 ^ k)%nat -> Z.log2_up N <= Z.of_nat k.
  Proof.
    intros HN H. apply Z.log2_up_le_pow2; [assumption|].
    apply Nat2Z.inj_le in H. rewrite Nat2Z.inj_pow in H. cbn in H. lia.
  Qed.

  Theorem one_send_phases N (a : algorithm) u i : 0 <= i < N -> (forall p, In p a -> one_send p) ->
    (forall t, In t (all_transfers a) -> 0 <= giver t < N) ->
    (forall r, 0 <= r < N -> knows a u r i = true) -> Z.log2_up N <= Z.of_nat (length a).
  Proof.
    intros Hi One Ranks All. apply log2_up_of_power; [lia|].
    rewrite <- (count_all (fun r => knows a u r i)) by assumption. now apply informed_double.
  Qed.

  Theorem one_receive_phases N (a : algorithm) u r : 0 < N -> (forall p, In p a -> one_receive p) ->
    (forall i, 0 <= i < N -> knows a u r i = true) -> Z.log2_up N <= Z.of_nat (length a).
  Proof.
    intros HN One All. apply log2_up_of_power; [assumption|].
    rewrite <- (count_all (knows a u r)) by assumption. now apply known_double.
  Qed.
End Steps.
