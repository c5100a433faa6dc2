(** The least number of rounds of a program, at one message out and one in, a rank a round.

        all-reduce, all-gather, broadcast         everyone must hear of rank 0       ceil(log2 N)
        all-reduce, reduce-scatter, reduce        some rank must hear of everyone    ceil(log2 N)

    For every program whose messages fit, with any scratch, that keeps to one port
    ([one_port]; messages to oneself are free): [all_reduce_rounds], [reduce_scatter_rounds],
    [all_gather_rounds], [broadcast_rounds], [reduce_rounds]. *)
From Coq Require Import ZArith List Bool Permutation Lia.
From Refcoll Require Import Lists Schedule Collectives Traffic.
From Refcoll Require Import LowerBound LowerBoundBytes LowerBoundSteps LowerBoundSchedules.
From Refcoll Require Import LowerBoundCosts LowerBoundPrograms.
Import ListNotations.
Open Scope Z_scope.

Definition one_port (N : Z) (P : program) (n : nat) : Prop :=
  forall t r, (t < n)%nat -> 0 <= r < N -> single_port_step r (round P t r).

Section Rounds.
  Variables (N C : Z) (P : program) (n : nat).
  Hypothesis HN : 0 < N.
  Hypothesis HC : 0 < C.
  Hypothesis it_fits : fits N C P n.
  Hypothesis ported : one_port N P n.
  Local Notation model := (model Z.ltb Z.add N C P n).

  Lemma phases_one_send p : In p model -> one_send p.
  Proof.
    intros Hp. apply in_map_iff in Hp as (t & <- & Ht). apply in_seq in Ht.
    apply single_port_one_send; [apply it_fits; lia|]. intros r. apply ported. lia.
  Qed.

  Lemma phases_one_receive p : In p model -> one_receive p.
  Proof.
    intros Hp. apply in_map_iff in Hp as (t & <- & Ht). apply in_seq in Ht.
    apply single_port_one_receive; [apply it_fits; lia|]. intros r. apply ported. lia.
  Qed.

  Lemma model_length : Z.of_nat (length model) = Z.of_nat n.
  Proof. unfold LowerBoundSchedules.model. now rewrite map_length, seq_length. Qed.

  (** Everyone knows of rank 0; rank 0 knows of everyone: each takes its rounds. *)
  Lemma spread_rounds : (forall r, 0 <= r < N -> knows model 0 r 0 = true) ->
    Z.log2_up N <= Z.of_nat n.
  Proof.
    intros K. rewrite <- model_length. apply (one_send_phases N model 0 0); trivial; [lia| |].
    - apply phases_one_send.
    - intros t Ht. now apply model_among in Ht.
  Qed.

  Lemma collect_rounds : (forall i, 0 <= i < N -> knows model 0 0 i = true) ->
    Z.log2_up N <= Z.of_nat n.
  Proof.
    intros K. rewrite <- model_length. apply (one_receive_phases N model 0 0); trivial.
    apply phases_one_receive.
  Qed.

  Lemma in_zero : In 0 (ranks C).
  Proof. apply in_ranks. lia. Qed.

  Theorem all_reduce_rounds : all_reduces N C P n -> Z.log2_up N <= Z.of_nat n.
  Proof.
    intros H. apply spread_rounds. intros r Hr.
    destruct (all_reduces_model N C P n HN HC it_fits H 0 in_zero)
      as [Needs Has].
    apply (result_is_known start model 0 r result (sum_of_all N 0));
      [now apply Has|apply Needs; lia].
  Qed.

  Theorem reduce_scatter_rounds : C = N -> reduce_scatters N P n -> Z.log2_up N <= Z.of_nat n.
  Proof.
    intros E H. apply collect_rounds. intros i Hi.
    destruct (reduce_scatters_model N C P n HN HC it_fits E H 0 in_zero)
      as [Needs Has].
    apply (result_is_known start model 0 0 result (sum_of_all N 0)); [exact Has|now apply Needs].
  Qed.

  Theorem all_gather_rounds : C = N -> all_gathers N P n -> Z.log2_up N <= Z.of_nat n.
  Proof.
    intros E H. apply spread_rounds. intros r Hr.
    destruct (all_gathers_model N C P n HC it_fits E H 0 in_zero)
      as [Needs Has].
    apply (result_is_known start model 0 r result (owners 0)); [now apply Has|exact Needs].
  Qed.

  (** Chunk 0 of the root, rank 0, is what everyone ends with. *)
  Theorem broadcast_rounds : broadcasts N C P n -> Z.log2_up N <= Z.of_nat n.
  Proof.
    intros H. apply spread_rounds. intros r Hr.
    apply (result_is_known start model 0 r result (fun g => g 0)); [|apply one_needs_itself].
    intros x. rewrite (outcome_is_run N C) by (trivial; lia).
    enough (Some (run Z.add P n (first_state C start x) r 0) = Some (x 0 0)) as G
      by now injection G.
    rewrite (run_value Z.add _ Z.add_assoc), H by lia. cbn [value fold_right fst snd merge].
    now rewrite first_state_input by lia.
  Qed.

  (** Everyone's chunk 0 is in what the root, rank 0, ends with. *)
  Theorem reduce_rounds : reduces_to_root N C P n -> Z.log2_up N <= Z.of_nat n.
  Proof.
    intros H. apply collect_rounds. intros i Hi.
    apply (result_is_known start model 0 0 result (sum_of_all N 0)); [|now apply sum_needs_all].
    apply (everyone_is_sum N C P n HN HC it_fits 0 0); [lia|lia|]. apply H. lia.
  Qed.
End Rounds.
