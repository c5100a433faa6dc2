(** What a schedule costs: steps, messages, elements (refcoll/interpreters/count.py).

        rank 3's schedule          peer   counts as
        Send [4; 5] 0               0     2 chunks, |c4| + |c5| elements sent
        Reduce [1] 7                7     1 chunk, |c1| elements received
        Copy [2] 3                  3     nothing: a message to oneself is a local move

    [len c] is the length of chunk c in elements, any number, also 0.  [far q] chooses the
    peers that count: every other rank, or only those on the same node, or on other nodes.
    A schedule's depth is its length in steps; its *steps* are those that hold a message. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule.
Import ListNotations.
Open Scope Z_scope.

(** All ranks but [r]. *)
Definition others (r q : Z) : bool := negb (q =? r).

Section Traffic.
  Variable len : Z -> Z.

  (** Elements in some chunks, and S, those in chunks 0 to C - 1. *)
  Definition volume (cs : list Z) : Z := zsum (map len cs).
  Definition total (C : Z) : Z := volume (ranks C).

  Definition action_sends (far : Z -> bool) (a : action) : Z :=
    if is_send a && far (peer a) then volume (chunks a) else 0.
  Definition action_receives (far : Z -> bool) (a : action) : Z :=
    if negb (is_send a) && far (peer a) then volume (chunks a) else 0.

  Definition step_sends far (s : step) : Z := zsum (map (action_sends far) s).
  Definition step_receives far (s : step) : Z := zsum (map (action_receives far) s).

  (** Elements that a schedule sends to, and receives from, the ranks that [far] chooses. *)
  Definition sent_where far (s : schedule) : Z := zsum (map (step_sends far) s).
  Definition received_where far (s : schedule) : Z := zsum (map (step_receives far) s).

  (** Elements that rank [r] sends and receives in program [P]. *)
  Definition sent (P : program) (r : Z) : Z := sent_where (others r) (P r).
  Definition received (P : program) (r : Z) : Z := received_where (others r) (P r).

  (** ** One schedule after another *)

  Lemma sent_where_app far s s' : sent_where far (s ++ s') = sent_where far s + sent_where far s'.
  Proof. unfold sent_where. now rewrite map_app, zsum_app. Qed.

  Lemma received_where_app far s s' :
    received_where far (s ++ s') = received_where far s + received_where far s'.
  Proof. unfold received_where. now rewrite map_app, zsum_app. Qed.

  Lemma step_sends_app far s s' : step_sends far (s ++ s') = step_sends far s + step_sends far s'.
  Proof. unfold step_sends. now rewrite map_app, zsum_app. Qed.

  Lemma step_receives_app far s s' :
    step_receives far (s ++ s') = step_receives far s + step_receives far s'.
  Proof. unfold step_receives. now rewrite map_app, zsum_app. Qed.

  Lemma volume_app c c' : volume (c ++ c') = volume c + volume c'.
  Proof. unfold volume. now rewrite map_app, zsum_app. Qed.

  Lemma volume_one c : volume [c] = len c.
  Proof. apply zsum_one. Qed.

  Lemma volume_range_split a m b : a <= m <= b ->
    volume (range a b) = volume (range a m) + volume (range m b).
  Proof. intros H. now rewrite (range_split a m b), volume_app. Qed.
  Lemma sent_nowhere s : sent_where (fun _ => false) s = 0.
  Proof.
    apply zsum_zero. intros each _. apply zsum_zero. intros a _.
    unfold action_sends. now rewrite andb_false_r.
  Qed.

  Lemma received_nowhere s : received_where (fun _ => false) s = 0.
  Proof.
    apply zsum_zero. intros each _. apply zsum_zero. intros a _.
    unfold action_receives. now rewrite andb_false_r.
  Qed.
End Traffic.

(** Only the lengths of existing chunks matter. *)
Lemma volume_ext len len' cs : (forall c, In c cs -> len c = len' c) ->
  volume len cs = volume len' cs.
Proof. apply zsum_ext. Qed.

Lemma total_ext len len' C : (forall c, 0 <= c < C -> len c = len' c) ->
  total len C = total len' C.
Proof. intros H. apply volume_ext. intros c Hc. now apply H, in_ranks. Qed.

(** ** Steps and messages *)

(** Whether a step of rank [r] holds a message to or from another rank. *)
Definition busy (r : Z) (s : step) : bool := existsb (fun a => others r (peer a)) s.
Definition busy_steps (r : Z) (s : schedule) : nat := length (filter (busy r) s).
Definition steps (P : program) (r : Z) : nat := busy_steps r (P r).
Definition messages_sent (P : program) (r : Z) : nat :=
  length (filter (fun a => is_send a && others r (peer a)) (concat (P r))).
Definition messages_received (P : program) (r : Z) : nat :=
  length (filter (fun a => negb (is_send a) && others r (peer a)) (concat (P r))).

(** One message out and one in, at most, per rank and step. *)
Definition single_port_step (r : Z) (s : step) : Prop :=
  (length (filter (fun a => is_send a && others r (peer a)) s) <= 1)%nat /\
  (length (filter (fun a => negb (is_send a) && others r (peer a)) s) <= 1)%nat.

Lemma all_busy P r : (forall s, In s (P r) -> busy r s = true) -> steps P r = length (P r).
Proof.
  unfold steps, busy_steps. induction (P r) as [|s l IH]; intros H; [reflexivity|].
  cbn [filter]. rewrite H by now left. cbn [length]. f_equal. apply IH. intros; apply H; now right.
Qed.
