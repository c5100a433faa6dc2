(** Every execution ends, after the same number of moves, with the same result.

        a step of a rank with k actions takes    1 (start) + k (read or take) + 1 (end) moves

    Moves differ in their order only.  [work N P n] is their number, over all ranks and steps.
    - [executions_end]: no execution makes more than [work N P n] moves.
    - [stuck_is_finished]: one that can make no further move has finished, after all of them.
    - [any_timing]: for an orderly program, it leaves everyone with what the synchronous run
      ends with.  Any values, any operator, any transport that is no slower than rendezvous.
    - [any_timing_all_reduce]: so an orderly all-reduce leaves everyone with the sum. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Collectives Async AsyncResult Progress.
Import ListNotations.
Open Scope Z_scope.

(** ** Counting *)

Lemma count_all (d : nat -> bool) l :
  (forall i, (i < l)%nat -> d i = true) -> length (filter d (seq 0 l)) = l.
Proof.
  intros H. rewrite <- (seq_length l 0) at 2. f_equal.
  assert (G : forall i, In i (seq 0 l) -> d i = true)
    by (intros i Hi; apply in_seq in Hi; apply H; lia).
  induction (seq 0 l) as [|i s IH]; [reflexivity|]. cbn.
  rewrite G by now left. f_equal. apply IH. intros; apply G; now right.
Qed.

Lemma count_at_most (d : nat -> bool) l : (length (filter d (seq 0 l)) <= l)%nat.
Proof.
  rewrite <- (seq_length l 0) at 2. induction (seq 0 l) as [|i s IH]; cbn; [lia|].
  destruct (d i); cbn; lia.
Qed.

Lemma count_tick f r i l : (i < l)%nat -> f r i = false ->
  length (filter (tick f r i r) (seq 0 l)) = S (length (filter (f r) (seq 0 l))).
Proof.
  intros Hi Hf. replace l with (i + S (l - S i))%nat by lia.
  rewrite seq_app, !filter_app, !app_length. cbn [seq filter Nat.add].
  rewrite tick_done, Hf. cbn [length].
  assert (Same : forall s, (forall j, In j s -> j <> i) ->
    filter (tick f r i r) s = filter (f r) s).
  { intros s Hs. apply filter_ext_in. intros j Hj. apply tick_else. auto. }
  rewrite !Same by (intros j Hj; apply in_seq in Hj; lia). lia.
Qed.

Lemma list_sum_cons a l : list_sum (a :: l) = (a + list_sum l)%nat.
Proof. reflexivity. Qed.

Lemma list_sum_one (f g : Z -> nat) l r : NoDup l -> In r l -> g r = S (f r) ->
  (forall q, q <> r -> g q = f q) -> list_sum (map g l) = S (list_sum (map f l)).
Proof.
  intros ND Hr E Same. induction l as [|q l IH]; [easy|].
  inversion ND as [|? ? Hni ND']; subst. cbn [map]. rewrite !list_sum_cons.
  destruct Hr as [->|Hr].
  - rewrite E, (map_ext_in g f); [lia|]. intros q Hq. apply Same. intros ->. contradiction.
  - rewrite (Same q), IH by (assumption || (intros ->; contradiction)). lia.
Qed.

Lemma list_sum_le {X} (f g : X -> nat) l : (forall x, In x l -> (f x <= g x)%nat) ->
  (list_sum (map f l) <= list_sum (map g l))%nat.
Proof.
  induction l as [|x l IH]; intros H; [easy|].
  cbn [map]. rewrite !list_sum_cons. specialize (IH ltac:(intros; apply H; now right)).
  specialize (H x ltac:(now left)). lia.
Qed.

(** ** Work *)

(** Moves that rank [r] makes in its first [t] steps. *)
Definition work_of (P : program) (t : nat) (r : Z) : nat :=
  list_sum (map (fun u => S (S (length (round P u r)))) (seq 0 t)).
Definition work (N : Z) (P : program) (n : nat) : nat := list_sum (map (work_of P n) (ranks N)).

Lemma work_of_S P t r : work_of P (S t) r = (work_of P t r + S (S (length (round P t r))))%nat.
Proof.
  unfold work_of. rewrite seq_S, map_app, list_sum_app. cbn [map list_sum fold_right Nat.add]. lia.
Qed.

Lemma work_of_grows P t u r : (t <= u)%nat -> (work_of P t r <= work_of P u r)%nat.
Proof. induction 1; [easy|]. rewrite work_of_S. lia. Qed.

Section Ends.
  Context {A : Type} (before : Z -> Z -> bool) (op : A -> A -> A).
  Variables (N : Z) (P : program) (n : nat) (may_read : transport A) (st : state A).
  Local Notation reaches := (reaches before op N P n may_read st).
  Local Notation move := (move before op N P n may_read).
  Local Notation step_of m r := (its_step P m r).

  (** Moves that rank [r] has made so far. *)
  Definition made (m : machine A) (r : Z) : nat :=
    work_of P (ended m r) r +
    if inside m r then S (length (filter (done m r) (seq 0 (length (step_of m r))))) else O.

  Lemma ticked_made (m : machine A) r i : inside m r = true -> done m r i = false ->
    (i < length (step_of m r))%nat -> forall kept memory channel,
    made (Machine (ended m) (inside m) (tick (done m) r i) kept memory channel) r = S (made m r).
  Proof.
    intros Hi Hd Hl k mem c. unfold made, its_step; cbn [ended inside done]. rewrite Hi.
    unfold its_step in Hl. rewrite count_tick by assumption. lia.
  Qed.

  Lemma unticked_made (m : machine A) r i q : q <> r -> forall kept memory channel,
    made (Machine (ended m) (inside m) (tick (done m) r i) kept memory channel) q = made m q.
  Proof.
    intros Hq k mem c. unfold made, its_step; cbn [ended inside done].
    destruct (inside m q); [|reflexivity]. do 3 f_equal. apply filter_ext.
    intros j. now apply tick_else.
  Qed.

  Lemma at_position (m : machine A) r i a : nth_error (step_of m r) i = Some a ->
    (i < length (step_of m r))%nat.
  Proof. intros H. apply nth_error_Some. congruence. Qed.

  (** Every move is one rank's. *)
  Lemma move_made m m' : move m m' -> exists r, 0 <= r < N /\
    made m' r = S (made m r) /\ forall q, q <> r -> made m' q = made m q.
  Proof.
    intros [r Hr Hi Ht|r i c to v Hr Hi Hc Hd Hp Hf|r i a v Hr Hi Ha Sa Hd Hb Hv|r Hr Hi Hall];
      exists r; (split; [assumption|]).
    - split; [|intros q Hq]; unfold made, its_step; cbn [ended inside done].
      + rewrite !set_same, Hi.
        replace (filter _ _) with (@nil nat) by (induction (seq 0 _); [easy|assumption]). cbn. lia.
      + now rewrite !set_other.
    - split; [apply ticked_made; eauto using at_position|intros q Hq; now apply unticked_made].
    - split; [apply ticked_made; eauto using at_position|intros q Hq; now apply unticked_made].
    - split; [|intros q Hq]; unfold made, its_step; cbn [ended inside done].
      + rewrite !set_same, Hi, count_all, work_of_S by assumption. unfold its_step. lia.
      + now rewrite !set_other.
  Qed.

  Lemma reached_made k m : reaches k m -> list_sum (map (made m) (ranks N)) = k.
  Proof.
    induction 1 as [|k m m' _ IH Hm].
    - unfold made; cbn. induction (ranks N); [reflexivity|assumption].
    - apply move_made in Hm as (r & Hr & E & Same). rewrite <- IH.
      apply (list_sum_one _ _ _ r); trivial; [apply range_NoDup|now apply in_ranks].
  Qed.

  Theorem executions_end k m : reaches k m -> (k <= work N P n)%nat.
  Proof.
    intros H. rewrite <- (reached_made k m H). apply list_sum_le. intros r Hr. apply in_ranks in Hr.
    assert (G := ends_in_time N P n m (reached_bookkeeping before op N P n may_read st k m H) r Hr).
    unfold made, started in *. destruct (inside m r).
    - assert (C := count_at_most (done m r) (length (step_of m r))). unfold its_step in *.
      assert (M := work_of_grows P (S (ended m r)) n r G). rewrite work_of_S in M. lia.
    - assert (M := work_of_grows P (ended m r) n r G). lia.
  Qed.

  Lemma finished_made k m : reaches k m -> finished N n m -> k = work N P n.
  Proof.
    intros H F. rewrite <- (reached_made k m H). unfold work. f_equal. apply map_ext_in.
    intros r Hr. apply in_ranks in Hr. destruct (F r Hr) as [E Hi].
    unfold made. rewrite E, Hi. lia.
  Qed.

  Hypothesis paired : pairs N P n.
  Hypothesis no_slower_than_rendezvous :
    forall m q r k, rendezvous P m q r k -> may_read m q r k.

  Theorem stuck_is_finished k m : reaches k m -> (forall m', ~ move m m') ->
    finished N n m /\ k = work N P n.
  Proof.
    intros H Stuck. assert (F : finished N n m).
    { destruct (never_stuck before op N P n may_read st paired no_slower_than_rendezvous k m H)
        as [F|[m' Hm]]; [assumption|now apply Stuck in Hm]. }
    split; [assumption|now apply (finished_made k m)].
  Qed.

  (** From wherever it has come to, an execution can be completed. *)
  Theorem can_finish k m : reaches k m -> exists m', reaches (work N P n) m' /\ finished N n m'.
  Proof.
    remember (work N P n - k)%nat as left_ eqn:E. revert k m E.
    induction left_ as [|l IH]; intros k m E H;
      destruct (never_stuck before op N P n may_read st paired no_slower_than_rendezvous k m H)
        as [F|[m' Hm]].
    - exists m. rewrite <- (finished_made k m); auto.
    - assert (L := executions_end _ _ (Moves _ _ _ _ _ _ _ _ _ _ H Hm)). lia.
    - exists m. rewrite <- (finished_made k m); auto.
    - apply (IH (S k) m'); [lia|]. now apply Moves with m.
  Qed.
End Ends.

Theorem any_timing {A} before (op : A -> A -> A) N P n (may_read : transport A) st k m :
  orderly N P n -> (forall m q r k, rendezvous P m q r k -> may_read m q r k) ->
  reaches before op N P n may_read st k m -> (forall m', ~ move before op N P n may_read m m') ->
  forall r c, 0 <= r < N -> memory m r c = run_by before op P n st r c.
Proof.
  intros O R H Stuck r c Hr. apply (async_result before op N P n may_read st O k m r c H); trivial.
  now apply (stuck_is_finished before op N P n may_read st (proj1 O) R k m H).
Qed.

Theorem any_timing_all_reduce {A} (op : A -> A -> A) N C P n (may_read : transport A) st k m :
  (forall a b c, op a (op b c) = op (op a b) c) -> (forall a b, op a b = op b a) ->
  all_reduces N C P n -> orderly N P n ->
  (forall m q r k, rendezvous P m q r k -> may_read m q r k) ->
  reaches Z.ltb op N P n may_read st k m -> (forall m', ~ move Z.ltb op N P n may_read m m') ->
  forall r c, 0 <= r < N -> 0 <= c < C -> memory m r c = sum_in_rank_order op st N c.
Proof.
  intros Assoc Comm H O R Reached Stuck r c Hr Hc.
  rewrite (any_timing Z.ltb op N P n may_read st k m) by assumption.
  now apply (all_reduce_is_sum op st Assoc Comm N C P n).
Qed.
