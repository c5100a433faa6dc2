(** Whatever the timing, the same result.

        rounds     run P 0      run P 1      run P 2         what all hold between rounds,
                      |            |            |            if they went in step
        rank 0     ---o------------o---------------o---      between its own steps each rank
        rank 1     ------o---o---------------------o---      holds the same, whenever that is

    For an [orderly] program (Async.v), any values, any operator, any transport, and any order
    of events:
    - [async_agrees]: a rank that has ended t steps, and is between steps, holds what it holds
      after t rounds of the synchronous run.
    - [async_result]: when all have finished, all hold what the synchronous run ends with.
    That an execution does finish is in Progress.v. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Landing Async AsyncSteps.
Import ListNotations.
Open Scope Z_scope.

Section Result.
  Context {A : Type} (before : Z -> Z -> bool) (op : A -> A -> A).
  Variables (N : Z) (P : program) (n : nat) (may_read : transport A) (st : state A).
  Hypothesis is_orderly : orderly N P n.

  Local Notation after t := (run_by before op P t st).
  Local Notation stream := (stream before op P n st).
  Local Notation step_of m r := (its_step P m r).

  (** ** What is true all along *)

  (** What rank [r], inside step [t], holds in chunk [c] when [d] is done. *)
  Definition half_done (d : nat -> bool) (t : nat) (r c : Z) : A :=
    partial before op (round P t) (after t) r c d [] (round P t r) (after t r c).

  Record invariant (m : machine A) : Prop := {
    within : forall r, 0 <= r < N -> inside m r = true -> (ended m r < n)%nat;
    between : forall r c, 0 <= r < N -> inside m r = false -> memory m r c = after (ended m r) r c;
    keeps : forall r c, 0 <= r < N -> inside m r = true -> kept m r c = after (ended m r) r c;
    holds : forall r c, 0 <= r < N -> inside m r = true ->
      memory m r c = half_done (done m r) (ended m r) r c;
    carries : forall q r k values, 0 <= q < N -> channel m q r k = Some values ->
      values = nth k (stream q r) [];
    in_order : forall r i a, 0 <= r < N -> inside m r = true ->
      nth_error (step_of m r) i = Some a ->
      is_send a = false -> is_copy a = false -> done m r i = true -> receives_done_before P m r i
  }.

  Lemma invariant_start : invariant (start st).
  Proof. split; cbn; easy. Qed.

  (** A chunk that a step sends, and does not reduce into, is left alone. *)
  Lemma sent_is_untouched m r i c to x : invariant m -> 0 <= r < N -> inside m r = true ->
    nth_error (step_of m r) i = Some (Send c to) -> In x c ->
    ~ In x (reduced_chunks (step_of m r)) -> memory m r x = after (ended m r) r x.
  Proof.
    intros I Hr In_ Hi Hx Hn. rewrite (holds m I) by assumption. apply partial_untouched.
    intros j b Hb _ Sb Hc. apply nth_error_In in Hb as HbIn.
    destruct (is_copy b) eqn:Cb.
    - destruct b as [|c' p|]; try discriminate.
      apply nth_error_split in Hb as (s1 & s2 & E & _).
      destruct is_orderly as [_ Hrace].
      destruct (Hrace (ended m r) r ltac:(now apply (within m I)) Hr s1 c' p s2 E x Hc) as [Hs _].
      apply Hs, in_chunks_where. exists (Send c to). now apply nth_error_In in Hi.
    - apply Hn, in_chunks_where. exists b. now rewrite Sb, Cb.
  Qed.

  Lemma found_is_sent m r i c to values : invariant m -> 0 <= r < N -> inside m r = true ->
    nth_error (step_of m r) i = Some (Send c to) -> Forall2 (may_find P m r) c values ->
    values = map (after (ended m r) r) c.
  Proof.
    intros I Hr In_ Hi Hv.
    assert (Found : forall x v, In x c -> may_find P m r x v -> v = after (ended m r) r x).
    { intros x v Hx [-> | [Hn ->]]; [now apply (keeps m I)|].
      now apply (sent_is_untouched m r i c to). }
    clear Hi. induction Hv as [|x v c values Hx _ IH]; [reflexivity|]. cbn [map]. f_equal.
    - apply Found; [now left|assumption].
    - apply IH. intros; apply Found; [now right|assumption].
  Qed.

  (** No receive that is done early names a chunk of one before it that is not. *)
  Lemma later_names_none m r earlier a later i b c : invariant m -> 0 <= r < N ->
    inside m r = true -> step_of m r = earlier ++ a :: later -> is_send a = false ->
    done m r (length earlier) = false -> nth_error later i = Some b ->
    done m r (length earlier + S i) = true -> is_send b = false -> In c (chunks a) ->
    ~ In c (chunks b).
  Proof.
    intros I Hr In_ E Sa Hd Hb Hdb Sb Hc Hcb.
    assert (Hbs : nth_error (step_of m r) (length earlier + S i) = Some b).
    { rewrite E, nth_error_app2 by lia. now replace (_ + S i - _)%nat with (S i) by lia. }
    destruct (is_copy b) eqn:Cb.
    - destruct b as [|c' p|]; try discriminate.
      apply nth_error_split in Hb as (l1 & l2 & -> & _).
      destruct is_orderly as [_ Hrace].
      destruct (Hrace (ended m r) r ltac:(now apply (within m I)) Hr (earlier ++ a :: l1) c' p l2
        ltac:(unfold its_step in E; now rewrite E, <- app_assoc) c Hcb) as [_ Hw].
      apply Hw, in_chunks_where. exists a. rewrite Sa. auto with datatypes.
    - assert (D := in_order m I r _ b Hr In_ Hbs Sb Cb Hdb (length earlier) a ltac:(lia)).
      rewrite D in Hd; [discriminate| |assumption]. rewrite E, nth_error_app2 by lia.
      now rewrite Nat.sub_diag.
  Qed.

  (** ** Every move keeps it *)

  Lemma keeps_start m r : invariant m -> 0 <= r < N -> inside m r = false -> (ended m r < n)%nat ->
    invariant (Machine (ended m) (set (inside m) r true) (set (done m) r (fun _ => false))
                 (set (kept m) r (memory m r)) (memory m) (channel m)).
  Proof.
    intros I Hr Hi Ht. split; cbn [ended inside done kept memory channel].
    - intros q Hq. unfold set. destruct (Z.eqb_spec q r) as [->|]; [easy|now apply (within m I)].
    - intros q c Hq. unfold set. destruct (Z.eqb_spec q r); [easy|now apply (between m I)].
    - intros q c Hq. unfold set. destruct (Z.eqb_spec q r) as [->|]; [|now apply (keeps m I)].
      intros _. now apply (between m I).
    - intros q c Hq. unfold set. destruct (Z.eqb_spec q r) as [->|]; [|now apply (holds m I)].
      intros _. unfold half_done. rewrite partial_none. now apply (between m I).
    - apply (carries m I).
    - intros q i a Hq. unfold set, receives_done_before, its_step; cbn [ended done].
      destruct (Z.eqb_spec q r); [easy|]. now apply (in_order m I).
  Qed.

  (** What was done stays done, and in order, when receive or send [i] is done too. *)
  Lemma in_order_ticked m r i q j a : invariant m -> 0 <= q < N -> inside m q = true ->
    nth_error (step_of m q) j = Some a -> is_send a = false -> is_copy a = false ->
    (q = r -> j = i -> receives_done_before P m r i) ->
    tick (done m) r i q j = true ->
    forall k b, (k < j)%nat -> nth_error (step_of m q) k = Some b -> is_send b = false ->
    tick (done m) r i q k = true.
  Proof.
    intros I Hq Hi Ha Sa Ca Hr Hd k b Hk Hb Sb. apply tick_keeps.
    apply tick_true in Hd as [Hd|[-> ->]].
    - now apply (in_order m I q j a Hq Hi Ha Sa Ca Hd k b).
    - now apply (Hr eq_refl eq_refl k b).
  Qed.

  Lemma keeps_read m q i c to values : invariant m -> 0 <= q < N -> inside m q = true ->
    nth_error (step_of m q) i = Some (Send c to) -> Forall2 (may_find P m q) c values ->
    invariant (Machine (ended m) (inside m) (tick (done m) q i) (kept m) (memory m)
                 (put (channel m) q to (send_number P q to (ended m q) i) values)).
  Proof.
    intros I Hq Hi Hc Hv. split; cbn [ended inside done kept memory channel].
    - apply (within m I).
    - apply (between m I).
    - apply (keeps m I).
    - intros r x Hr Hir. rewrite (holds m I) by assumption. apply partial_same.
      intros j b Hb Sb. symmetry. apply tick_else. intros -> E. cbn in E. subst j.
      unfold its_step in Hc. rewrite Hc in Hb. injection Hb as <-. discriminate.
    - intros q' r k got Hq' Hk. apply put_some in Hk as [(-> & -> & -> & ->)|Hk].
      + rewrite (stream_sent before op P n st q to _ i c) by (trivial; now apply (within m I)).
        now apply (found_is_sent m q i c to).
      + now apply (carries m I).
    - intros r j a Hr Hir Ha Sa Ca Hdj.
      refine (in_order_ticked m q i r j a I Hr Hir Ha Sa Ca _ Hdj).
      intros -> ->. unfold its_step in *; cbn [ended] in *. rewrite Hc in Ha.
      injection Ha as <-. discriminate.
  Qed.

  Lemma keeps_take m r i a values : invariant m -> 0 <= r < N -> inside m r = true ->
    nth_error (step_of m r) i = Some a -> is_send a = false -> done m r i = false ->
    (is_copy a = false -> receives_done_before P m r i) ->
    channel m (peer a) r (receive_number P (peer a) r (ended m r) i) = Some values ->
    invariant (Machine (ended m) (inside m) (tick (done m) r i) (kept m)
      (set (memory m) r (fun c => landed before op a r values c (memory m r c))) (channel m)).
  Proof.
    intros I Hr Hi Ha Sa Hd Hbefore Hv. split; cbn [ended inside done kept memory channel].
    - apply (within m I).
    - intros q c Hq Hiq. rewrite set_other by congruence. now apply (between m I).
    - apply (keeps m I).
    - intros q c Hq Hiq. unfold set. destruct (Z.eqb_spec q r) as [->|Hne].
      + rewrite (holds m I) by assumption. assert (Ht := within m I r Hr Hi).
        assert (Hp : 0 <= peer a < N) by (eapply is_orderly; eauto using nth_error_In).
        apply (carries m I) in Hv; [|assumption].
        rewrite (stream_received before op N P n st (proj1 is_orderly) r (ended m r) i a) in Hv
          by assumption.
        apply nth_error_split in Ha as (s1 & s2 & E & <-). assert (E' := E).
        unfold its_step in E'. rewrite E', firstn_at in Hv. unfold half_done. rewrite E'.
        rewrite Hv. symmetry. apply partial_more; trivial; [apply tick_done| |].
        * intros j Hj. now apply tick_else.
        * intros j b Hb Hdb Sb Hc. now apply (later_names_none m r s1 a s2 j b c).
      + rewrite (holds m I) by assumption. apply partial_same. intros j b _ _.
        symmetry. now apply tick_else.
    - apply (carries m I).
    - intros q j b Hq Hiq Hb Sb Cb Hdj.
      refine (in_order_ticked m r i q j b I Hq Hiq Hb Sb Cb _ Hdj).
      intros -> ->. apply Hbefore. unfold its_step in *; cbn [ended] in *. congruence.
  Qed.

  Lemma keeps_end m r : invariant m -> 0 <= r < N -> inside m r = true ->
    (forall i, (i < length (step_of m r))%nat -> done m r i = true) ->
    invariant (Machine (set (ended m) r (S (ended m r))) (set (inside m) r false) (done m)
                 (kept m) (memory m) (channel m)).
  Proof.
    intros I Hr Hi Hall. split; cbn [ended inside done kept memory channel];
      [intros q Hq|intros q c Hq|intros q c Hq|intros q c Hq|apply (carries m I)|intros q j a Hq];
      unfold set, receives_done_before, its_step; cbn [ended done];
      destruct (Z.eqb_spec q r) as [->|Hne]; try easy.
    - now apply (within m I).
    - intros _. rewrite (holds m I) by assumption. now apply partial_all.
    - now apply (between m I).
    - now apply (keeps m I).
    - now apply (holds m I).
    - now apply (in_order m I).
  Qed.

  Lemma move_keeps m m' : invariant m -> move before op N P n may_read m m' -> invariant m'.
  Proof.
    intros I [r Hr Hi Ht|q i c to v Hq Hi Hc Hd Hp Hf|r i a v Hr Hi Ha Sa Hd Hb Hv|r Hr Hi Hall].
    - now apply keeps_start.
    - now apply keeps_read with c.
    - now apply keeps_take.
    - now apply keeps_end.
  Qed.

  Lemma reached_keeps k m : reaches before op N P n may_read st k m -> invariant m.
  Proof. induction 1; [apply invariant_start|eapply move_keeps; eassumption]. Qed.

  (** ** The theorems *)

  Theorem async_agrees k m r c : reaches before op N P n may_read st k m ->
    0 <= r < N -> inside m r = false ->
    memory m r c = run_by before op P (ended m r) st r c.
  Proof. intros H. apply between, (reached_keeps k m H). Qed.

  Theorem async_result k m r c : reaches before op N P n may_read st k m -> finished N n m ->
    0 <= r < N -> memory m r c = run_by before op P n st r c.
  Proof.
    intros H F Hr. destruct (F r Hr) as [E Hi]. rewrite <- E. now apply (async_agrees k).
  Qed.
End Result.
