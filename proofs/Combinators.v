(** Schedules from schedules (refcoll/schedule.py): one after another, and padded.

        then_       P ........|Q .....          rounds of P, then rounds of Q
        padded      P ....|. . . .|             rounds of P, then idle ones
        reverse     ........ P                  backwards, sends and receives exchanged

    [run_then]: what the whole does is what Q does to what P leaves.  The ranks' parts must be
    equally long: that is what [padded] is for. *)
From Coq Require Import ZArith List Bool Permutation Lia.
From Refcoll Require Import Lists Schedule Columns Traffic.
Import ListNotations.
Open Scope Z_scope.

Definition then_ (P Q : program) : program := fun r => P r ++ Q r.

Definition padded (s : schedule) (length_ : Z) : schedule :=
  s ++ repeat IDLE (Z.to_nat (length_ - Z.of_nat (length s))).

Inductive direction := IntoCopy | IntoReduce.

Definition turned (into : direction) (a : action) : action :=
  match a with
  | Send c to => match into with IntoCopy => Copy c to | IntoReduce => Reduce c to None end
  | Copy c source | Reduce c source _ => Send c source
  end.

Definition reverse (into : direction) (s : schedule) : schedule :=
  rev (map (fun each => rev (map (turned into) each)) s).

(** ** Lengths *)

Lemma padded_length s n : Z.of_nat (length s) <= n -> Z.of_nat (length (padded s n)) = n.
Proof. intros H. unfold padded. rewrite app_length, repeat_length. lia. Qed.

Lemma reverse_length into s : length (reverse into s) = length s.
Proof. unfold reverse. now rewrite rev_length, map_length. Qed.

Lemma nth_padded s n t : nth t (padded s n) IDLE = nth t s IDLE.
Proof.
  unfold padded. destruct (Nat.lt_ge_cases t (length s)) as [H|H]; [now rewrite app_nth1|].
  rewrite app_nth2, (nth_overflow s) by assumption.
  destruct (nth_in_or_default (t - length s)
              (repeat IDLE (Z.to_nat (n - Z.of_nat (length s)))) IDLE)
    as [Hin|E']; [now apply repeat_spec in Hin|assumption].
Qed.

Lemma round_padded P n t r : round (fun q => padded (P q) n) t r = round P t r.
Proof. apply nth_padded. Qed.

(** Rounds that come after the end of every schedule change nothing. *)
Lemma matches_beyond N P n m : ends_after N P n -> matches N P n -> matches N P m.
Proof.
  intros E M t _. destruct (Nat.lt_ge_cases t n) as [H|H]; [now apply M|].
  apply round_matches_idle. intros r Hr. apply round_beyond. specialize (E r Hr). lia.
Qed.

Lemma run_beyond {A} before (op : A -> A -> A) N P n m st r c : 0 <= r < N -> (n <= m)%nat ->
  ends_after N P n -> run_by before op P m st r c = run_by before op P n st r c.
Proof.
  intros Hr Hm E. induction Hm as [|m Hm IH]; [reflexivity|]. cbn [run_by].
  rewrite round_idle; [exact IH|]. apply round_beyond. specialize (E r Hr). lia.
Qed.

Lemma padded_sent len far s n : sent_where len far (padded s n) = sent_where len far s.
Proof.
  unfold padded. rewrite sent_where_app.
  enough (sent_where len far (repeat IDLE (Z.to_nat (n - Z.of_nat (length s)))) = 0) by lia.
  apply zsum_zero. intros each H. now apply repeat_spec in H as ->.
Qed.

Lemma padded_received len far s n : received_where len far (padded s n) = received_where len far s.
Proof.
  unfold padded. rewrite received_where_app.
  enough (received_where len far (repeat IDLE (Z.to_nat (n - Z.of_nat (length s)))) = 0) by lia.
  apply zsum_zero. intros each H. now apply repeat_spec in H as ->.
Qed.

(** ** Backwards *)

(** What was received is sent, what was sent is received. *)
Lemma reverse_sent len far into s : sent_where len far (reverse into s) = received_where len far s.
Proof.
  unfold sent_where, received_where, reverse. rewrite map_rev, map_map.
  rewrite <- (zsum_perm _ _ (Permutation_rev _)). apply zsum_ext. intros each _.
  unfold step_sends, step_receives. rewrite map_rev, map_map.
  rewrite <- (zsum_perm _ _ (Permutation_rev _)). apply zsum_ext. intros a _.
  unfold action_sends, action_receives. destruct a as [c p|c p|c p e], into; reflexivity.
Qed.

Lemma reverse_received len far into s :
  received_where len far (reverse into s) = sent_where len far s.
Proof.
  unfold sent_where, received_where, reverse. rewrite map_rev, map_map.
  rewrite <- (zsum_perm _ _ (Permutation_rev _)). apply zsum_ext. intros each _.
  unfold step_sends, step_receives. rewrite map_rev, map_map.
  rewrite <- (zsum_perm _ _ (Permutation_rev _)). apply zsum_ext. intros a _.
  unfold action_sends, action_receives. destruct a as [c p|c p|c p e], into; reflexivity.
Qed.

Lemma nth_reverse into s t : (t < length s)%nat ->
  nth t (reverse into s) IDLE = rev (map (turned into) (nth (length s - S t) s IDLE)).
Proof.
  intros H. unfold reverse. rewrite rev_nth, map_length by now rewrite map_length.
  now rewrite (map_nth (fun each => rev (map (turned into) each)) s IDLE).
Qed.

(** ** One after another *)

Section Then.
  Variables (N : Z) (P Q : program) (n m : nat).
  Hypothesis P_length : forall r, 0 <= r < N -> length (P r) = n.

  Lemma round_then_first t r : 0 <= r < N -> (t < n)%nat ->
    round (then_ P Q) t r = round P t r.
  Proof. intros Hr Ht. unfold round, then_. now rewrite app_nth1 by now rewrite P_length. Qed.

  Lemma round_then_second t r : 0 <= r < N -> round (then_ P Q) (n + t) r = round Q t r.
  Proof.
    intros Hr. unfold round, then_. rewrite app_nth2 by (rewrite P_length by assumption; lia).
    rewrite P_length by assumption. f_equal. lia.
  Qed.

  Hypothesis P_matches : matches N P n.
  Hypothesis Q_matches : matches N Q m.

  Lemma matches_then : matches N (then_ P Q) (n + m).
  Proof.
    intros t Ht. destruct (Nat.lt_ge_cases t n) as [H|H].
    - apply (round_matches_congruent N (round P t)); [|now apply P_matches].
      intros r Hr. now rewrite round_then_first.
    - replace t with (n + (t - n))%nat by lia.
      apply (round_matches_congruent N (round Q (t - n))); [|apply Q_matches; lia].
      intros r Hr. now rewrite round_then_second.
  Qed.

  Theorem run_then {A} before (op : A -> A -> A) st r c : 0 <= r < N ->
    run_by before op (then_ P Q) (n + m) st r c =
    run_by before op Q m (run_by before op P n st) r c.
  Proof.
    revert r. enough (G : forall k, (k <= m)%nat -> forall r, 0 <= r < N ->
      run_by before op (then_ P Q) (n + k) st r c =
      run_by before op Q k (run_by before op P n st) r c) by (intros r; now apply G).
    induction k as [|k IH]; intros Hk r Hr.
    - rewrite Nat.add_0_r. cbn [run_by]. apply (run_congruent before op N); auto.
      + apply (matches_before N _ n (n + m)); [apply matches_then|lia].
      + intros q t Hq Ht. now apply round_then_first.
    - rewrite Nat.add_succ_r. cbn [run_by]. apply (round_congruent before op N); auto.
      + apply matches_then. lia.
      + intros q Hq. now apply round_then_second.
      + intros q Hq. apply IH; [lia|assumption].
  Qed.
End Then.
