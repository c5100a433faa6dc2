(** How many messages spreading takes: one unit, N ranks, messages [(from, to)] in order.

        to tell one rank all       N-1        each of the others must send
        to tell all of one rank    N-1        each of the others must receive
        to tell all of all         2(N-1)     when the first rank knows all, everyone else has
                                              sent; and everyone else has yet to receive:

           ----------------------------- e ---------------------------
            all but k have sent          k: the first    all but k must
                                         that knows all  still receive

    ([collecting], [spreading], [gossiping]) *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists LowerBound.
Import ListNotations.
Open Scope Z_scope.

Lemma hears_app es es' : hears (es ++ es') = fold_left hear es' (hears es).
Proof. apply fold_left_app. Qed.

(** Who is heard of has sent; who hears has received. *)
Lemma heard_has_sent es : forall r i, hears es r i = true -> r = i \/ In i (map fst es).
Proof.
  induction es as [|e es IH] using rev_ind; intros r i H; [left; now apply Z.eqb_eq|].
  rewrite hears_app in H. cbn in H. unfold hear at 1 in H. rewrite map_app, in_app_iff.
  apply orb_true_iff in H as [H|H]; [apply IH in H; tauto|].
  apply andb_true_iff in H as [_ H]. apply IH in H as [<-|H]; [right; right; now left|tauto].
Qed.

Lemma unheard es : forall known r i, ~ In r (map snd es) -> fold_left hear es known r i = known r i.
Proof.
  induction es as [|e es IH]; intros known r i H; [reflexivity|]. cbn in *. rewrite IH by tauto.
  unfold hear. destruct (Z.eqb_spec (snd e) r); [tauto|]. apply orb_false_r.
Qed.

Lemma hearer_has_received es r i : hears es r i = true -> r = i \/ In r (map snd es).
Proof.
  intros H. destruct (in_dec Z.eq_dec r (map snd es)) as [|Hn]; [now right|left].
  unfold hears in H. rewrite unheard in H by assumption. now apply Z.eqb_eq.
Qed.

(** N - 1 ranks but [r] are among the ends [l] of some messages. *)
Lemma all_but_one N r l : (forall i, 0 <= i < N -> i = r \/ In i l) -> N - 1 <= Z.of_nat (length l).
Proof.
  intros H. assert (L : (length (ranks N) <= length (r :: l))%nat).
  { apply NoDup_incl_length; [apply range_NoDup|]. intros i Hi. apply in_ranks, H in Hi as [->|Hi].
    - now left.
    - now right. }
  unfold ranks in L. rewrite range_length in L. cbn [length] in L. lia.
Qed.

Theorem collecting N es r : (forall i, 0 <= i < N -> hears es r i = true) ->
  N - 1 <= Z.of_nat (length es).
Proof.
  intros H. rewrite <- (map_length fst). apply (all_but_one N r). intros i Hi.
  apply H, heard_has_sent in Hi as [->|Hi]; auto.
Qed.

Theorem spreading N es i : (forall r, 0 <= r < N -> hears es r i = true) ->
  N - 1 <= Z.of_nat (length es).
Proof.
  intros H. rewrite <- (map_length snd). apply (all_but_one N i). intros r Hr.
  now apply H, hearer_has_received in Hr.
Qed.

(** ** The first to know all *)

Section Gossip.
  Variable N : Z.

  Definition knows_all (known : Z -> Z -> bool) (r : Z) : bool := forallb (known r) (ranks N).
  Definition somebody_knows_all (known : Z -> Z -> bool) : bool :=
    existsb (knows_all known) (ranks N).

  Lemma knows_all_spec known r :
    knows_all known r = true <-> forall i, 0 <= i < N -> known r i = true.
  Proof. unfold knows_all. rewrite forallb_forall. split; intros H i Hi; now apply H, in_ranks. Qed.

  Lemma somebody_spec known :
    somebody_knows_all known = true <-> exists r, 0 <= r < N /\ knows_all known r = true.
  Proof.
    unfold somebody_knows_all. rewrite existsb_exists.
    split; intros (r & Hr & H); exists r; now rewrite in_ranks in *.
  Qed.

  (** One message makes the first one. *)
  Lemma first_to_know_all es : 2 <= N -> somebody_knows_all (hears es) = true ->
    exists earlier e later, es = earlier ++ e :: later /\
      somebody_knows_all (hears earlier) = false /\
      somebody_knows_all (hears (earlier ++ [e])) = true.
  Proof.
    intros HN. induction es as [|e es IH] using rev_ind; intros H.
    - apply somebody_spec in H as (r & Hr & H). rewrite knows_all_spec in H.
      assert (H0 := H 0 ltac:(lia)). assert (H1 := H 1 ltac:(lia)).
      apply Z.eqb_eq in H0, H1. lia.
    - destruct (somebody_knows_all (hears es)) eqn:E; [|now exists es, e, []].
      destruct (IH eq_refl) as (earlier & f & later & -> & A & B).
      exists earlier, f, (later ++ [e]). now rewrite <- app_assoc.
  Qed.

  Lemma knows_all_unheard es es' r : ~ In r (map snd es') ->
    knows_all (hears (es ++ es')) r = knows_all (hears es) r.
  Proof.
    intros H. unfold knows_all. rewrite hears_app. induction (ranks N) as [|i l IH]; [reflexivity|].
    cbn [forallb]. now rewrite unheard, IH.
  Qed.

  (** Who knows all once the message has come is its receiver. *)
  Lemma first_is_receiver es e r : somebody_knows_all (hears es) = false -> 0 <= r < N ->
    knows_all (hears (es ++ [e])) r = true -> r = snd e.
  Proof.
    intros Nobody Hr H. destruct (Z.eq_dec r (snd e)) as [|Hne]; [assumption|exfalso].
    enough (somebody_knows_all (hears es) = true) by congruence.
    apply somebody_spec. exists r. split; [assumption|].
    rewrite <- H. symmetry. apply knows_all_unheard. cbn. intros [E|[]]. congruence.
  Qed.

  Theorem gossiping es : 0 < N ->
    (forall r i, 0 <= r < N -> 0 <= i < N -> hears es r i = true) ->
    2 * (N - 1) <= Z.of_nat (length es).
  Proof.
    intros HN H. destruct (Z.eq_dec N 1) as [->|]; [lia|].
    assert (All : forall r, 0 <= r < N -> knows_all (hears es) r = true)
      by (intros r Hr; apply knows_all_spec; auto).
    destruct (first_to_know_all es) as (earlier & e & later & -> & Before & After);
      [lia|apply somebody_spec; exists 0; split; [|apply All]; lia|].
    apply somebody_spec in After as (k & Hk & Kall).
    assert (E := first_is_receiver _ _ _ Before Hk Kall).
    assert (Sent : N - 1 <= Z.of_nat (length (earlier ++ [e]))).
    { apply (collecting N _ k). now apply knows_all_spec. }
    assert (Yet : N - 1 <= Z.of_nat (length later)).
    { rewrite <- (map_length snd). apply (all_but_one N k). intros r Hr.
      destruct (in_dec Z.eq_dec r (map snd later)) as [|Hn]; [now right|left].
      rewrite E. apply (first_is_receiver earlier); [assumption|assumption|].
      rewrite <- (knows_all_unheard _ later) by assumption. rewrite <- app_assoc. now apply All. }
    rewrite app_length in *. cbn [length] in *. lia.
  Qed.
End Gossip.
