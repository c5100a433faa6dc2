(** The lower bounds, for programs: nothing that the schedule language can say does better.

        N ranks, S elements in chunks      some rank sends     some rank receives
        of any lengths, any scratch        at least            at least
        all-reduce                         2(N-1)/N S          2(N-1)/N S
        reduce-scatter, all-gather          (N-1)/N S           (N-1)/N S

    For every program whose messages fit ([fits]: LowerBoundSchedules.v) and that achieves the
    collective (Collectives.v), what LowerBoundBytes.v says of algorithms holds:
    [all_reduce_sends], [all_reduce_receives], and the like for the other two.  The totals over
    all ranks, whatever the lengths, are [all_reduce_total_sent], ..., of which the former are
    the N-th part.  Rounds: LowerBoundRounds.v. *)
From Coq Require Import ZArith List Bool Permutation Lia.
From Refcoll Require Import Lists Schedule Collectives Traffic.
From Refcoll Require Import LowerBound LowerBoundBytes LowerBoundSchedules LowerBoundCosts.
Import ListNotations.
Open Scope Z_scope.

(** A sum needs each of its terms. *)
Lemma sum_needs_all N i : 0 <= i < N -> needs (fun g : Z -> Z => zsum (map g (ranks N))) i.
Proof.
  intros Hi. exists (fun _ => 0), (fun j => if j =? i then 1 else 0). split.
  - intros j Hj. now apply Z.eqb_neq in Hj as ->.
  - rewrite zsum_zero by reflexivity. rewrite (zsum_single _ _ i).
    + now rewrite Z.eqb_refl.
    + apply range_NoDup.
    + now apply in_ranks.
    + intros j _ Hj. now apply Z.eqb_neq in Hj as ->.
Qed.

Lemma one_needs_itself i : needs (fun g : Z -> Z => g i) i.
Proof.
  exists (fun _ => 0), (fun j => if j =? i then 1 else 0). split.
  - intros j Hj. now apply Z.eqb_neq in Hj as ->.
  - now rewrite Z.eqb_refl.
Qed.

Section Programs.
  Variables (N C : Z) (P : program) (n : nat).
  Hypothesis HN : 0 < N.
  Hypothesis HC : 0 < C.
  Hypothesis it_fits : fits N C P n.

  (** Added up as integers; scratch holds zeros at first. *)
  Local Notation model := (model Z.ltb Z.add N C P n).
  Definition start (rank chunk input area : Z) : Z := if area =? 0 then input else 0.
  Definition result (areas : Z -> Z) : Z := areas 0.

  Lemma outcome_is_run x r u : 0 <= r < N -> 0 <= u < C ->
    result (outcome start model x r u) = run Z.add P n (first_state C start x) r u.
  Proof.
    intros Hr Hu. unfold result. now rewrite (run_is_outcome Z.ltb Z.add N C P n) by assumption.
  Qed.

  Lemma first_state_input x q u : 0 <= u < C -> first_state C start x q u = x q u.
  Proof.
    intros Hu. unfold first_state, unit_of, start.
    now rewrite Z.mod_small, Z.div_small by assumption.
  Qed.

  Lemma sum_in_order x u : 0 <= u < C ->
    sum_in_rank_order Z.add (first_state C start x) N u = zsum (map (fun q => x q u) (ranks N)).
  Proof.
    intros Hu. unfold sum_in_rank_order, ranks. rewrite (range_first 0 N) by assumption.
    rewrite first_state_input by assumption. cbn [map Z.add].
    rewrite zsum_cons. generalize (x 0 u) as total.
    induction (range 1 N) as [|q l IH]; intros total; cbn [fold_left map].
    - now rewrite Z.add_0_r.
    - now rewrite IH, first_state_input, zsum_cons, Z.add_assoc by assumption.
  Qed.

  (** ** What the collectives ask for, in the model *)

  Definition sum_of_all (u : Z) (g : Z -> Z) : Z := zsum (map g (ranks N)).
  Definition owners (u : Z) (g : Z -> Z) : Z := g u.

  Lemma everyone_is_sum r u : 0 <= r < N -> 0 <= u < C ->
    Permutation (contributions P n r u) (everyone N u) ->
    has_result model start result sum_of_all r u.
  Proof.
    intros Hr Hu H x. rewrite outcome_is_run by assumption.
    rewrite (contributions_sum Z.add _ Z.add_assoc Z.add_comm N) by assumption.
    now apply sum_in_order.
  Qed.

  Lemma all_reduces_model : all_reduces N C P n ->
    all_reduced N (ranks C) model start result sum_of_all.
  Proof.
    intros H u Hu. apply in_ranks in Hu. split; [intros i; apply sum_needs_all|].
    intros r Hr. apply everyone_is_sum; auto.
  Qed.

  Lemma reduce_scatters_model : C = N -> reduce_scatters N P n ->
    reduce_scattered N (ranks C) model start result sum_of_all (fun u => u).
  Proof.
    intros E H u Hu. apply in_ranks in Hu. split; [intros i; apply sum_needs_all|].
    rewrite E in Hu. apply everyone_is_sum; [assumption|lia|now apply H].
  Qed.

  Lemma all_gathers_model : C = N -> all_gathers N P n ->
    all_gathered N (ranks C) model start result owners (fun u => u).
  Proof.
    intros E H u Hu. apply in_ranks in Hu. split; [apply one_needs_itself|].
    intros r Hr x. rewrite outcome_is_run by assumption.
    enough (Some (run Z.add P n (first_state C start x) r u) = Some (x u u)) as G
      by now injection G.
    rewrite (run_value Z.add _ Z.add_assoc), H by lia. cbn.
    now rewrite first_state_input.
  Qed.

  (** ** Elements *)

  Variable len : Z -> Z.
  Hypothesis areas_alike : forall i, len (unit_of C i) = len i.
  Hypothesis len_pos : forall i, 0 <= len i.
  Let S := total len C.

  Lemma sent_total : moved len model <= zsum (map (sent len P) (ranks N)).
  Proof.
    rewrite <- (given_total len N) by now apply model_among. apply zsum_le.
    intros r Hr. apply in_ranks in Hr. now apply given_is_sent.
  Qed.

  Lemma received_total : moved len model <= zsum (map (received len P) (ranks N)).
  Proof.
    rewrite <- (taken_total len N) by now apply model_among. apply zsum_le.
    intros r Hr. apply in_ranks in Hr. now apply taken_is_received.
  Qed.

  Lemma all_reduce_moved : all_reduces N C P n -> 2 * (N - 1) * S <= moved len model.
  Proof.
    intros H. apply (all_reduce_traffic N (ranks C) len model start result sum_of_all); trivial.
    - apply range_NoDup.
    - now apply all_reduces_model.
  Qed.

  Lemma reduce_scatter_moved : C = N -> reduce_scatters N P n -> (N - 1) * S <= moved len model.
  Proof.
    intros E H.
    apply (reduce_scatter_traffic N (ranks C) len model start result sum_of_all (fun u => u));
      trivial.
    - apply range_NoDup.
    - now apply reduce_scatters_model.
  Qed.

  Lemma all_gather_moved : C = N -> all_gathers N P n -> (N - 1) * S <= moved len model.
  Proof.
    intros E H.
    apply (all_gather_traffic N (ranks C) len model start result owners (fun u => u)); trivial.
    - apply range_NoDup.
    - now apply all_gathers_model.
  Qed.

  Theorem all_reduce_total_sent : all_reduces N C P n ->
    2 * (N - 1) * S <= zsum (map (sent len P) (ranks N)).
  Proof. intros H. etransitivity; [now apply all_reduce_moved|apply sent_total]. Qed.

  Theorem all_reduce_sends : all_reduces N C P n ->
    exists r, 0 <= r < N /\ 2 * (N - 1) * S <= N * sent len P r.
  Proof. intros H. now apply some_share, all_reduce_total_sent. Qed.

  Theorem all_reduce_receives : all_reduces N C P n ->
    exists r, 0 <= r < N /\ 2 * (N - 1) * S <= N * received len P r.
  Proof.
    intros H. apply some_share; [assumption|].
    etransitivity; [now apply all_reduce_moved|apply received_total].
  Qed.

  Theorem reduce_scatter_total_sent : C = N -> reduce_scatters N P n ->
    (N - 1) * S <= zsum (map (sent len P) (ranks N)).
  Proof. intros E H. etransitivity; [now apply reduce_scatter_moved|apply sent_total]. Qed.

  Theorem reduce_scatter_sends : C = N -> reduce_scatters N P n ->
    exists r, 0 <= r < N /\ (N - 1) * S <= N * sent len P r.
  Proof. intros E H. now apply some_share, reduce_scatter_total_sent. Qed.

  Theorem reduce_scatter_receives : C = N -> reduce_scatters N P n ->
    exists r, 0 <= r < N /\ (N - 1) * S <= N * received len P r.
  Proof.
    intros E H. apply some_share; [assumption|].
    etransitivity; [now apply reduce_scatter_moved|apply received_total].
  Qed.

  Theorem all_gather_total_sent : C = N -> all_gathers N P n ->
    (N - 1) * S <= zsum (map (sent len P) (ranks N)).
  Proof. intros E H. etransitivity; [now apply all_gather_moved|apply sent_total]. Qed.

  Theorem all_gather_sends : C = N -> all_gathers N P n ->
    exists r, 0 <= r < N /\ (N - 1) * S <= N * sent len P r.
  Proof. intros E H. now apply some_share, all_gather_total_sent. Qed.

  Theorem all_gather_receives : C = N -> all_gathers N P n ->
    exists r, 0 <= r < N /\ (N - 1) * S <= N * received len P r.
  Proof.
    intros E H. apply some_share; [assumption|].
    etransitivity; [now apply all_gather_moved|apply received_total].
  Qed.
End Programs.
