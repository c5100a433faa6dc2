(** Half-done steps: what a rank holds while only some receives of a round have been taken.

        step       Reduce [0] 1    Copy [1] 2    Reduce [0] 2
        done            x               x                          holds: x0 + y0 | z1

    [partial]: the receives that are done, applied in the order written.  Whatever is done next
    comes on top of it ([partial_more]), because a Copy that lands early touches nothing that
    the receives before it write; with all receives done it is the round ([partial_all]).
    [stream q r]: what q sends to r in the synchronous run, message by message. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Landing Async.
Import ListNotations.
Open Scope Z_scope.

(** ** Positions in a step *)

Lemma firstn_at {X} (earlier : list X) a later :
  firstn (length earlier) (earlier ++ a :: later) = earlier.
Proof. rewrite firstn_app, Nat.sub_diag, firstn_all. cbn. apply app_nil_r. Qed.

(** The send at position [i] is the one that its local number points at. *)
Lemma nth_send s i c to : nth_error s i = Some (Send c to) ->
  (length (sends_to to (firstn i s)) < length (sends_to to s))%nat /\
  nth (length (sends_to to (firstn i s))) (sends_to to s) [] = c.
Proof.
  intros H. apply nth_error_split in H as (s1 & s2 & -> & <-). rewrite firstn_at, sends_to_app.
  cbn [sends_to]. rewrite Z.eqb_refl, app_length, app_nth2, Nat.sub_diag by lia. cbn.
  split; [lia|easy].
Qed.

Lemma receive_position s i a : nth_error s i = Some a -> is_send a = false ->
  (length (receives_from (peer a) (firstn i s)) < length (receives_from (peer a) s))%nat.
Proof.
  intros H Ha. apply nth_error_split in H as (s1 & s2 & -> & <-).
  rewrite firstn_at, receives_from_app, app_length.
  destruct a as [c p|c p|c p e]; [discriminate| |]; cbn; rewrite Z.eqb_refl; cbn; lia.
Qed.


(** ** Half-done steps *)

Section Partial.
  Context {A : Type} (before : Z -> Z -> bool) (op : A -> A -> A).
  Variables (P : Z -> step) (st : state A) (r c : Z).

  (** What receive [a] brings in this round, where [earlier] stands before it in the step. *)
  Definition brought (earlier : step) (a : action) : list A :=
    map (st (peer a)) (nth (length (receives_from (peer a) earlier)) (sends_to r (P (peer a))) []).

  Definition effect (earlier : step) (a : action) (own : A) : A :=
    if is_send a then own else landed before op a r (brought earlier a) c own.

  Fixpoint partial (d : nat -> bool) (earlier todo : step) (own : A) : A :=
    match todo with
    | [] => own
    | a :: rest => partial d (earlier ++ [a]) rest
                     (if d (length earlier) then effect earlier a own else own)
    end.

  Lemma partial_app d todo later earlier own :
    partial d earlier (todo ++ later) own =
    partial d (earlier ++ todo) later (partial d earlier todo own).
  Proof.
    revert earlier own. induction todo as [|a todo IH]; intros earlier own; cbn [app partial].
    - now rewrite app_nil_r.
    - now rewrite IH, <- app_assoc.
  Qed.

  Lemma partial_same d d' todo earlier own :
    (forall i a, nth_error todo i = Some a -> is_send a = false ->
       d (length earlier + i)%nat = d' (length earlier + i)%nat) ->
    partial d earlier todo own = partial d' earlier todo own.
  Proof.
    revert earlier own. induction todo as [|a todo IH]; intros earlier own H; [reflexivity|].
    cbn [partial]. replace (if d' (length earlier) then _ else own)
      with (if d (length earlier) then effect earlier a own else own).
    - apply IH. intros i b Hb Sb. rewrite app_length. cbn.
      rewrite <- Nat.add_assoc. now apply (H (S i) b).
    - unfold effect. destruct (is_send a) eqn:E; [now destruct (d _), (d' _)|].
      specialize (H O a eq_refl E). rewrite Nat.add_0_r in H. now rewrite H.
  Qed.

  (** Where no receive that is done names chunk [c], nothing has happened to it. *)
  Lemma partial_untouched d todo earlier own :
    (forall i a, nth_error todo i = Some a -> d (length earlier + i)%nat = true ->
       is_send a = false -> ~ In c (chunks a)) ->
    partial d earlier todo own = own.
  Proof.
    revert earlier own. induction todo as [|a todo IH]; intros earlier own H; [reflexivity|].
    cbn [partial]. rewrite IH.
    - destruct (d (length earlier)) eqn:D; [|reflexivity]. unfold effect.
      destruct (is_send a) eqn:E; [reflexivity|]. apply landed_elsewhere.
      apply (H O); [reflexivity|now rewrite Nat.add_0_r|assumption].
    - intros i b Hb Hd. apply (H (S i)); [assumption|].
      rewrite app_length in Hd. cbn in Hd. now rewrite <- Nat.add_assoc in Hd.
  Qed.

  (** Nothing done yet: what the rank held. *)
  Lemma partial_none todo earlier own : partial (fun _ => false) earlier todo own = own.
  Proof. now apply partial_untouched. Qed.

  (** All done: the round. *)
  Lemma partial_all d : (forall i, (i < length (P r))%nat -> d i = true) ->
    partial d [] (P r) (st r c) = round_by before op P st r c.
  Proof.
    intros Hd. unfold round_by.
    enough (G : forall todo earlier m, P r = earlier ++ todo ->
      partial d earlier todo (m c) =
      fold_left (arrive before op st r) (deliver P r earlier todo) m c)
      by now apply G.
    induction todo as [|a todo IH]; intros earlier m E; [reflexivity|].
    cbn [partial deliver]. rewrite Hd by (rewrite E, app_length; cbn; lia).
    assert (E' : P r = (earlier ++ [a]) ++ todo) by now rewrite <- app_assoc.
    unfold effect. destruct (is_send a) eqn:S; [now apply IH|].
    cbn [fold_left]. rewrite <- IH by assumption. f_equal. now rewrite arrive_landed.
  Qed.

  (** One receive more, of which no later one is done that names its chunks. *)
  Lemma partial_more d d' earlier a later own :
    is_send a = false -> d (length earlier) = false -> d' (length earlier) = true ->
    (forall i, i <> length earlier -> d' i = d i) ->
    (forall i b, nth_error later i = Some b -> d (length earlier + S i)%nat = true ->
       is_send b = false -> In c (chunks a) -> ~ In c (chunks b)) ->
    partial d' [] (earlier ++ a :: later) own =
    landed before op a r (brought earlier a) c (partial d [] (earlier ++ a :: later) own).
  Proof.
    intros Sa Hd Hd' Hsame Hlater. rewrite !partial_app. cbn [partial app].
    rewrite Hd, Hd', (partial_same d' d earlier), (partial_same d' d later).
    2: { intros i b _ _. apply Hsame. rewrite app_length. cbn. lia. }
    2: { intros i b Hb _. apply Hsame. assert (nth_error earlier i <> None) by congruence.
         apply nth_error_Some in H. cbn. lia. }
    unfold effect. rewrite Sa. destruct (in_dec Z.eq_dec c (chunks a)) as [Hc|Hc].
    - assert (Idle : forall v, partial d (earlier ++ [a]) later v = v).
      { intros v. apply partial_untouched. intros i b Hb Hdb Sb. rewrite app_length in Hdb.
        apply (Hlater i b Hb); [|assumption|assumption]. now rewrite <- Nat.add_assoc in Hdb. }
      now rewrite !Idle.
    - now rewrite !landed_elsewhere.
  Qed.
End Partial.

(** ** The messages of the synchronous run, in order *)

Section Streams.
  Context {A : Type} (before : Z -> Z -> bool) (op : A -> A -> A).
  Variables (N : Z) (P : program) (n : nat) (st : state A).
  Local Notation after t := (run_by before op P t st).

  Definition round_stream (q r : Z) (t : nat) : list (list A) :=
    map (map (after t q)) (sends_to r (round P t q)).
  Definition stream (q r : Z) : list (list A) := flat_map (round_stream q r) (seq 0 n).

  Lemma stream_at q r t j : (t < n)%nat -> (j < length (sends_to r (round P t q)))%nat ->
    nth (sends_before P q r t + j) (stream q r) [] =
    map (after t q) (nth j (sends_to r (round P t q)) []).
  Proof.
    intros Ht Hj. unfold stream. replace n with (t + (n - t))%nat by lia.
    rewrite seq_app, flat_map_app.
    assert (L : length (flat_map (round_stream q r) (seq 0 t)) = sends_before P q r t).
    { clear Ht Hj. induction t as [|t IH]; [reflexivity|].
      rewrite seq_S, flat_map_app, app_length, IH.
      cbn. unfold round_stream at 1. now rewrite app_nil_r, map_length. }
    rewrite app_nth2, L by lia. replace (_ + j - _)%nat with j by lia.
    replace (n - t)%nat with (S (n - S t)) by lia. cbn [seq flat_map Nat.add].
    rewrite app_nth1 by (unfold round_stream; rewrite map_length; lia).
    change (@nil A) with (map (after t q) []) at 1. apply map_nth.
  Qed.

  (** A message holds what its send read, in the round. *)
  Lemma stream_sent q r t i c : (t < n)%nat ->
    nth_error (round P t q) i = Some (Send c r) ->
    nth (send_number P q r t i) (stream q r) [] = map (after t q) c.
  Proof.
    intros Ht Ha. apply nth_send in Ha as [Hl <-]. now apply stream_at.
  Qed.

  Hypothesis HP : pairs N P n.

  (** A message holds what its receive is to bring, in the round. *)
  Lemma stream_received r t i a : 0 <= r < N -> (t < n)%nat ->
    nth_error (round P t r) i = Some a -> is_send a = false ->
    nth (receive_number P (peer a) r t i) (stream (peer a) r) [] =
    brought (round P t) (after t) r (firstn i (round P t r)) a.
  Proof.
    intros Hr Ht Ha Sa.
    assert (Hq : 0 <= peer a < N) by (eapply HP; eauto using nth_error_In).
    unfold receive_number. rewrite <- (before_agree N P n) by (assumption || lia).
    rewrite stream_at; [reflexivity|assumption|].
    rewrite (proj2 (HP t Ht)) by assumption. now apply receive_position.
  Qed.
End Streams.
