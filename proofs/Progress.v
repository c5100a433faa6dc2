(** Nobody waits for ever (refcoll/interpreters/execute.py).

        rank 0   [- step 3 -                 The ranks that are furthest behind are all in the
        rank 1   [- step 3 -                 same step, here 3.  Whomever they exchange with
        rank 2   [- step 3 -][- step 4 -     has started that step: whatever they wait for
        rank 3   [- step 3 -                 is posted at the other end, so one of them can move.

    For a program whose messages pair up in every round ([pairs] in Async.v), and a transport
    that may be as slow as rendezvous, a message being read only once its receive is posted:
    - [never_stuck]: whatever has happened so far, all have finished, or some move is possible.
    That moves come to an end, and what everyone then holds, is in AsyncEnds.v. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Async AsyncSteps AsyncResult.
Import ListNotations.
Open Scope Z_scope.

(** ** Finding who can move *)

Lemma not_all {X} (f : X -> bool) l : forallb f l = false -> exists x, In x l /\ f x = false.
Proof.
  induction l as [|x l IH]; intros E; [discriminate|]. cbn in E. destruct (f x) eqn:F.
  - destruct (IH E) as (y & Hy & Fy). exists y. split; [now right|assumption].
  - exists x. split; [now left|assumption].
Qed.

Lemma all_or_some {X} (f : X -> bool) l :
  (forall x, In x l -> f x = true) \/ exists x, In x l /\ f x = false.
Proof.
  destruct (forallb f l) eqn:E; [left; now apply forallb_forall|right; now apply not_all].
Qed.

Lemma first_undone (d : nat -> bool) l : (forall i, (i < l)%nat -> d i = true) \/
  exists i, (i < l)%nat /\ d i = false /\ forall j, (j < i)%nat -> d j = true.
Proof.
  induction l as [|l [IH|(i & Hi & H)]]; [left; lia| |right; exists i; split; [lia|exact H]].
  destruct (d l) eqn:E; [left|right; exists l; auto].
  intros i Hi. destruct (Nat.eq_dec i l) as [->|]; [assumption|apply IH; lia].
Qed.

(** Somebody is no further than anybody else. *)
Lemma furthest_behind (f : Z -> nat) N : 0 < N ->
  exists r, 0 <= r < N /\ forall q, 0 <= q < N -> (f r <= f q)%nat.
Proof.
  intros HN. enough (G : forall l, l <> [] -> exists r, In r l /\ forall q, In q l ->
    (f r <= f q)%nat).
  { destruct (G (ranks N)) as (r & Hr & H).
    - unfold ranks. now rewrite range_first.
    - exists r. rewrite in_ranks in Hr. split; [assumption|]. intros q Hq. now apply H, in_ranks. }
  induction l as [|a l IH]; [easy|intros _]. destruct l as [|b l].
  - exists a. split; [now left|]. intros q [->|[]]; lia.
  - destruct IH as (r & Hr & H); [easy|]. destruct (Nat.le_gt_cases (f a) (f r)).
    + exists a. split; [now left|]. intros q [->|Hq]; [lia|]. specialize (H q Hq). lia.
    + exists r. split; [now right|]. intros q [->|Hq]; [lia|auto].
Qed.

(** Each message that is sent has a place in the step. *)
Lemma send_position r s j : (j < length (sends_to r s))%nat -> exists i c,
  nth_error s i = Some (Send c r) /\ length (sends_to r (firstn i s)) = j.
Proof.
  revert j. induction s as [|a s IH]; intros j Hj; [cbn in Hj; lia|].
  assert (Later : forall j, (j < length (sends_to r s))%nat -> exists i c,
    nth_error (a :: s) i = Some (Send c r) /\
    length (sends_to r (firstn i (a :: s))) = (length (sends_to r [a]) + j)%nat).
  { intros j' Hj'. destruct (IH j' Hj') as (i & c & Hi & E). exists (S i), c.
    split; [exact Hi|]. cbn [firstn]. change (a :: firstn i s) with ([a] ++ firstn i s).
    now rewrite sends_to_app, app_length, E. }
  destruct a as [c p|c p|c p e]; cbn [sends_to] in *; [|now apply Later|now apply Later].
  destruct (Z.eqb_spec p r) as [->|]; [|now apply Later].
  destruct j as [|j]; [exists O, c; now split|]. apply Later. cbn in Hj. lia.
Qed.

Section Progress.
  Context {A : Type} (before : Z -> Z -> bool) (op : A -> A -> A).
  Variables (N : Z) (P : program) (n : nat) (may_read : transport A) (st : state A).
  Hypothesis paired : pairs N P n.
  Hypothesis no_slower_than_rendezvous :
    forall m q r k, rendezvous P m q r k -> may_read m q r k.

  Local Notation reaches := (reaches before op N P n may_read st).
  Local Notation move := (move before op N P n may_read).
  Local Notation step_of m r := (its_step P m r).

  (** Rank [q] has done the send at position [i] of step [t]. *)
  Definition has_sent (m : machine A) (q : Z) (t i : nat) : Prop :=
    (t < ended m q)%nat \/ (t = ended m q /\ inside m q = true /\ done m q i = true).

  Record bookkeeping (m : machine A) : Prop := {
    ends_in_time : forall r, 0 <= r < N ->
      (started m r <= n)%nat;
    is_carried : forall q t i c to, 0 <= q < N -> nth_error (round P t q) i = Some (Send c to) ->
      has_sent m q t i -> channel m q to (send_number P q to t i) <> None
  }.

  Lemma move_bookkeeping m m' : bookkeeping m -> move m m' -> bookkeeping m'.
  Proof.
    intros [HE HC]
      [r Hr Hi Ht|q i c to v Hq Hi Hc Hd Hp Hf|r i a v Hr Hi Ha Sa Hd Hb Hv|r Hr Hi Hall];
      split; unfold has_sent, started in *; cbn [ended inside done channel].
    - intros q Hq. specialize (HE q Hq). unfold set. destruct (Z.eqb_spec q r) as [->|]; lia.
    - intros q t i c to Hq Hc [H|(-> & H & D)]; apply HC with c; auto. unfold set in H, D.
      destruct (Z.eqb_spec q r); [discriminate|auto].
    - exact HE.
    - intros q' t' i' c' to' Hq' Hc' H. unfold put.
      destruct ((q' =? q) && (to' =? to) && (_ =? _)%nat) eqn:E; [discriminate|].
      apply HC with c'; try assumption. destruct H as [H|(-> & H & D)]; [auto|right].
      repeat split; trivial. apply tick_true in D as [D|[-> ->]]; [assumption|exfalso].
      unfold its_step in Hc. rewrite Hc in Hc'. injection Hc' as -> ->.
      now rewrite !Z.eqb_refl, Nat.eqb_refl in E.
    - exact HE.
    - intros q t j c to Hq Hc [H|(-> & H & D)]; apply HC with c; auto. right.
      repeat split; trivial. apply tick_true in D as [D|[-> ->]]; [assumption|exfalso].
      unfold its_step in Ha. rewrite Ha in Hc. injection Hc as ->. discriminate.
    - intros q Hq. specialize (HE q Hq). unfold set. destruct (Z.eqb_spec q r) as [->|]; [|lia].
      rewrite Hi in HE. lia.
    - intros q t i c to Hq Hc H. apply HC with c; auto. unfold set in H.
      destruct (Z.eqb_spec q r) as [->|]; [|assumption].
      destruct H as [H|(_ & H & _)]; [|discriminate].
      destruct (Nat.eq_dec t (ended m r)) as [->|]; [right|left; lia].
      repeat split; trivial. apply Hall. unfold its_step.
      assert (nth_error (round P (ended m r) r) i <> None) as Hn by congruence.
      now apply nth_error_Some in Hn.
  Qed.

  Lemma reached_bookkeeping k m : reaches k m -> bookkeeping m.
  Proof.
    induction 1; [|eapply move_bookkeeping; eassumption].
    split; unfold has_sent, started; cbn; [lia|].
    intros q t i c to _ _ [H|(_ & H & _)]; [lia|discriminate].
  Qed.

  (** ** Somebody can move *)

  Lemma receives_before_grow q r t u : (t <= u)%nat ->
    (receives_before P q r t <= receives_before P q r u)%nat.
  Proof. induction 1; cbn; lia. Qed.

  (** A send of step [t] is posted at the other end, if the receiver has started step [t]. *)
  Lemma send_is_posted (m : machine A) q t i c to : (t < n)%nat -> 0 <= q < N ->
    nth_error (round P t q) i = Some (Send c to) -> (t < started m to)%nat ->
    rendezvous P m q to (send_number P q to t i).
  Proof.
    intros Ht Hq Hc Hs. unfold rendezvous, buffered.
    assert (Hto : 0 <= to < N).
    { apply (proj1 (paired t Ht) q (Send c to)); [assumption|eauto using nth_error_In]. }
    apply nth_send in Hc as [Hl _].
    assert (G := receives_before_grow q to (S t) (started m to) Hs).
    rewrite <- (before_agree N P n q to (S t)) in G by (assumption || lia).
    cbn in G. unfold send_number. lia.
  Qed.

  (** A receive of step [t] has its message, if everybody has done the sends of that step. *)
  Lemma message_is_there (m : machine A) r t i a : bookkeeping m -> (t < n)%nat -> 0 <= r < N ->
    nth_error (round P t r) i = Some a -> is_send a = false ->
    (forall q j c, 0 <= q < N -> nth_error (round P t q) j = Some (Send c r) -> has_sent m q t j) ->
    exists values, channel m (peer a) r (receive_number P (peer a) r t i) = Some values.
  Proof.
    intros B Ht Hr Ha Sa Hsent.
    assert (Hp : 0 <= peer a < N) by (eapply paired; eauto using nth_error_In).
    assert (Hl := receive_position _ _ _ Ha Sa).
    rewrite <- (proj2 (paired t Ht)) in Hl by assumption.
    apply send_position in Hl as (j & c & Hc & E).
    assert (C := is_carried m B (peer a) t j c r Hp Hc (Hsent _ _ _ Hp Hc)).
    unfold send_number in C. rewrite E, (before_agree N P n) in C by (assumption || lia).
    fold (receive_number P (peer a) r t i) in C. destruct (channel m _ _ _); [eauto|easy].
  Qed.

  (** Rank [q] has done all its sends of step [t], which it has at least started. *)
  Definition sends_done (m : machine A) (t : nat) (q : Z) : bool :=
    (t <? ended m q)%nat ||
    forallb (fun i => match nth_error (step_of m q) i with Some (Send _ _) => done m q i | _ =>
      true end)
            (seq 0 (length (step_of m q))).

  Lemma sends_done_has_sent m t q i c to : sends_done m t q = true -> (t < started m q)%nat ->
    (t <= ended m q)%nat -> nth_error (round P t q) i = Some (Send c to) -> has_sent m q t i.
  Proof.
    unfold sends_done, started. intros H Hs He Hc.
    destruct (Nat.ltb_spec t (ended m q)) as [|Hge]; [now left|right]. cbn in H.
    assert (t = ended m q) as -> by lia. destruct (inside m q); [|lia].
    repeat split. rewrite forallb_forall in H. specialize (H i). unfold its_step in H.
    rewrite Hc in H. apply H, in_seq. split; [lia|]. apply nth_error_Some. congruence.
  Qed.

  Lemma all_kept (m : machine A) q c : Forall2 (may_find P m q) c (map (kept m q) c).
  Proof. induction c; cbn; constructor; [now left|assumption]. Qed.

  Lemma undone_send_can_be_read m t q : (t < n)%nat -> 0 <= q < N -> (t <= ended m q)%nat ->
    (forall r, 0 <= r < N -> (t < started m r)%nat) -> sends_done m t q = false ->
    exists m', move m m'.
  Proof.
    unfold sends_done. intros Ht Hq Hge Hstarted H. apply orb_false_iff in H as [He H].
    apply Nat.ltb_ge in He. assert (t = ended m q) as -> by lia.
    apply not_all in H as (i & _ & Hi).
    destruct (nth_error (step_of m q) i) as [[c to|c p|c p e]|] eqn:Hc; try discriminate.
    assert (Hs := Hstarted q Hq). unfold started in Hs.
    destruct (inside m q) eqn:Inside; [|lia]. eexists.
    apply (Reads _ _ _ _ _ _ m q i c to (map (kept m q) c)); trivial; [|apply all_kept].
    apply no_slower_than_rendezvous, send_is_posted with c; trivial. apply Hstarted.
    apply (proj1 (paired _ Ht) q (Send c to)); [assumption|eauto using nth_error_In].
  Qed.

  (** One that is inside a step, whose messages have all been read, can go on. *)
  Lemma inside_can_move m r : bookkeeping m -> 0 <= r < N -> inside m r = true ->
    (ended m r < n)%nat ->
    (forall q i c to, 0 <= q < N -> nth_error (round P (ended m r) q) i = Some (Send c to) ->
       has_sent m q (ended m r) i) ->
    exists m', move m m'.
  Proof.
    intros B Hr Hi Ht Hsent.
    destruct (first_undone (done m r) (length (step_of m r))) as [All|(i & Hl & Hd & Hfirst)];
      [eexists; now apply (Ends _ _ _ _ _ _ m r)|].
    apply nth_error_Some in Hl. destruct (nth_error (step_of m r) i) as [a|] eqn:Ha; [|easy].
    destruct (is_send a) eqn:Sa.
    - destruct a as [c to|c p|c p e]; try discriminate.
      destruct (Hsent r i c to Hr Ha) as [H|(_ & _ & H)]; [lia|congruence].
    - destruct (message_is_there m r (ended m r) i a) as (values & Hv); eauto.
      eexists. apply (Takes _ _ _ _ _ _ m r i a values); trivial.
      intros _ j b Hj _ _. now apply Hfirst.
  Qed.

  Theorem never_stuck k m : reaches k m -> finished N n m \/ exists m', move m m'.
  Proof.
    intros H. assert (B := reached_bookkeeping k m H).
    destruct (Z_lt_le_dec 0 N) as [HN|]; [|left; intros r Hr; lia].
    destruct (furthest_behind (ended m) N HN) as (b & Hb & Hmin).
    assert (Hin := ends_in_time m B). unfold started in Hin.
    destruct (Nat.eq_dec (ended m b) n) as [E|E]; [left|right].
    - intros r Hr. specialize (Hin r Hr). specialize (Hmin r Hr).
      destruct (inside m r); split; lia || easy.
    - assert (Ht : (ended m b < n)%nat) by (specialize (Hin b Hb); destruct (inside m b); lia).
      destruct (all_or_some (fun q => ended m b <? started m q)%nat (ranks N)) as [Hst|(q & Hq &
        Hns)].
      2: { apply in_ranks in Hq. apply Nat.ltb_ge in Hns. unfold started in Hns.
           specialize (Hmin q Hq). destruct (inside m q) eqn:Hi; [lia|].
           eexists. apply (Starts _ _ _ _ _ _ m q); trivial. lia. }
      assert (Hstarted : forall r, 0 <= r < N -> (ended m b < started m r)%nat)
        by (intros r Hr; apply Nat.ltb_lt, Hst, in_ranks, Hr).
      destruct (all_or_some (sends_done m (ended m b)) (ranks N)) as [Hs|(q & Hq & Hns)].
      + apply (inside_can_move m b); trivial.
        * assert (G := Hstarted b Hb). unfold started in G. destruct (inside m b); [easy|lia].
        * intros q i c to Hq Hc. apply sends_done_has_sent with c to; auto. now apply Hs, in_ranks.
      + apply in_ranks in Hq. now apply (undone_send_can_be_read m (ended m b) q); auto.
  Qed.
End Progress.
