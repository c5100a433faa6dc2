(** Schedules that cannot race, built from such: for proofs that a program is orderly.

        then_, padded, together (on chunks that do not meet), on_ranks, on_chunks

    [never_races s]: no step of the schedule has a race (Async.v).  Each combinator of
    refcoll/schedule.py keeps that, so that [orderly] of a composed program follows from
    [matches] and from its parts ([orderly_if]). *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Combinators Groups Chunking SideBySide.
From Refcoll Require Import Async AsyncCheck.
Import ListNotations.
Open Scope Z_scope.

Definition never_races (s : schedule) : Prop := forall each, In each s -> race_free each.

Lemma race_free_idle : race_free IDLE.
Proof. intros earlier c source later E. now destruct earlier. Qed.

Lemma never_races_round P r t : never_races (P r) -> race_free (round P t r).
Proof.
  intros H. unfold round. destruct (nth_in_or_default t (P r) IDLE) as [Hin| ->].
  - now apply H.
  - apply race_free_idle.
Qed.

Theorem orderly_if N P n : matches N P n -> (forall r, 0 <= r < N -> never_races (P r)) ->
  orderly N P n.
Proof.
  intros M H. split; [now apply matches_pairs|]. intros t r _ Hr. now apply never_races_round, H.
Qed.

(** ** One after another *)

Lemma never_races_app s s' : never_races s -> never_races s' -> never_races (s ++ s').
Proof. intros H H' each Hin. apply in_app_or in Hin as [Hin|Hin]; auto. Qed.

Lemma never_races_padded s n : never_races s -> never_races (padded s n).
Proof.
  intros H. apply never_races_app; [assumption|]. intros each Hin.
  apply repeat_spec in Hin as ->. apply race_free_idle.
Qed.

Lemma never_races_loop {X} (f : X -> step) l : (forall x, In x l -> race_free (f x)) ->
  never_races (map f l).
Proof. intros H each Hin. apply in_map_iff in Hin as (x & <- & Hx). auto. Qed.

(** ** Races, pair by pair *)

Definition apart (c c' : list Z) : Prop := forall i, In i c -> ~ In i c'.

Lemma race_free_pairwise s : race_free s <->
  forall earlier a later, s = earlier ++ a :: later -> is_copy a = true ->
    (forall b, In b s -> is_send b = true -> apart (chunks a) (chunks b)) /\
    (forall b, In b earlier -> is_send b = false -> apart (chunks a) (chunks b)).
Proof.
  split.
  - intros H earlier a later E Ca. destruct a as [|c p|]; try discriminate.
    split; intros b Hb Sb i Hi Hib; destruct (H earlier c p later E i Hi) as [Hs Hr].
    + apply Hs, in_chunks_where. eauto.
    + apply Hr, in_chunks_where. exists b. now rewrite Sb.
  - intros H earlier c p later E i Hi. destruct (H earlier (Copy c p) later E eq_refl) as [Hs Hr].
    split; intros Hin; apply in_chunks_where in Hin as (b & Hb & Sb & Hib).
    + now apply (Hs b Hb Sb i).
    + apply negb_true_iff in Sb. now apply (Hr b Hb Sb i).
Qed.

(** Actions renamed one by one: kinds stay, and chunks that were apart are apart. *)
Lemma race_free_renamed (f : action -> action) s :
  (forall a, is_copy (f a) = is_copy a /\ is_send (f a) = is_send a) ->
  (forall a b, apart (chunks a) (chunks b) -> apart (chunks (f a)) (chunks (f b))) ->
  race_free s -> race_free (map f s).
Proof.
  intros Kind Apart. rewrite !race_free_pairwise. intros H earlier a later E Ca.
  apply map_eq_app in E as (s1 & s2 & -> & <- & E).
  apply map_eq_cons in E as (a' & s3 & -> & <- & _).
  rewrite (proj1 (Kind a')) in Ca. destruct (H s1 a' s3 eq_refl Ca) as [Hs Hr].
  split; intros b Hb Sb; apply in_map_iff in Hb as (b' & <- & Hb');
    rewrite (proj2 (Kind b')) in Sb; apply Apart; auto.
Qed.

(** Two steps in one, on chunks that do not meet. *)
Lemma race_free_app s s' : race_free s -> race_free s' ->
  (forall a b, In a s -> In b s' -> apart (chunks a) (chunks b)) -> race_free (s ++ s').
Proof.
  rewrite !race_free_pairwise. intros H H' Apart earlier a later E Ca.
  assert (Second : forall l, s' = l ++ a :: later -> earlier = s ++ l ->
    (forall b, In b (s ++ s') -> is_send b = true -> apart (chunks a) (chunks b)) /\
    (forall b, In b earlier -> is_send b = false -> apart (chunks a) (chunks b))).
  { intros l E' ->. destruct (H' l a later E' Ca) as [Hs Hr].
    assert (Ha : In a s') by (rewrite E'; auto with datatypes).
    assert (Back : forall b, In b s -> apart (chunks a) (chunks b))
      by (intros b Hb i Hi Hib; now apply (Apart b a Hb Ha i)).
    split; intros b Hb Sb; apply in_app_or in Hb as [Hb|Hb]; auto. }
  apply app_eq_app in E as (l & [[-> E]|[-> E]]); [|now apply (Second l)].
  destruct l as [|a' l]; cbn [app] in E.
  - apply (Second []); [now symmetry|now rewrite !app_nil_r].
  - injection E as <- ->. destruct (H earlier a l eq_refl Ca) as [Hs Hr]. split; [|assumption].
    intros b Hb Sb. apply in_app_or in Hb as [Hb|Hb]; [now apply Hs|].
    apply Apart; auto with datatypes.
Qed.

(** ** The combinators *)

Lemma never_races_on_ranks group core r :
  (forall place, 0 <= place < size_of group -> never_races (core place (size_of group))) ->
  never_races (on_ranks group core r).
Proof.
  intros H each Hin. unfold on_ranks in Hin. destruct (index_of r group) as [place|] eqn:E; [|easy].
  apply index_of_some in E as [Hp _]. apply in_map_iff in Hin as (s & <- & Hs).
  apply race_free_renamed; [now intros []| |now apply (H place)].
  intros a b Hab. now destruct a, b.
Qed.

Lemma never_races_on_chunks cuts s : (forall i, cut cuts i <= cut cuts (i + 1)) ->
  never_races s -> never_races (on_chunks cuts s).
Proof.
  intros Increasing H each Hin. apply in_map_iff in Hin as (inner & <- & Hs).
  apply race_free_renamed; [now intros []| |now apply H].
  assert (Wide : forall c c', apart c c' -> apart (widened cuts c) (widened cuts c')).
  { intros c c' Hcc i Hi Hi'. apply in_flat_map in Hi as (k & Hk & Hi).
    apply in_flat_map in Hi' as (k' & Hk' & Hi'). apply in_range in Hi, Hi'.
    apply (Hcc k Hk). now rewrite (block_unique cuts Increasing i k k'). }
  intros a b Hab. destruct a, b; now apply Wide.
Qed.

(** Parts whose steps of one number name chunks that do not meet. *)
Lemma never_races_together parts : (forall s, In s parts -> never_races s) ->
  (forall earlier s later t a b, parts = earlier ++ s :: later -> In a (nth t s IDLE) ->
     In b (concat (map (fun s => nth t s IDLE) later)) -> apart (chunks a) (chunks b)) ->
  never_races (together parts).
Proof.
  intros Each Apart. apply never_races_loop. intros t _.
  enough (G : forall later earlier, parts = earlier ++ later ->
    race_free (concat (map (fun s => nth t s IDLE) later))) by now apply (G parts []).
  induction later as [|s later IH]; intros earlier E; [apply race_free_idle|]. cbn [map concat].
  apply race_free_app.
  - apply (never_races_round (fun _ => s) 0 t), Each. rewrite E. auto with datatypes.
  - apply (IH (earlier ++ [s])). now rewrite <- app_assoc.
  - intros a b. now apply (Apart earlier s later t).
Qed.
