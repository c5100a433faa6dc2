(** Recursive doubling and the binomial tree take as few rounds as can be.

        one message out and one in, a rank a round
        recursive doubling, all-reduce among 2^K ranks       K rounds
        binomial broadcast, and reduce, any N                ceil(log2 N) rounds

    [fewest_rounds]: the program is of the kind in question and keeps to one port, and no
    program of that kind that does takes fewer rounds. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Collectives Traffic Blocks Doubling AnySize.
From Refcoll Require Import Tree TreeResult.
From Refcoll Require Import LowerBoundSchedules LowerBoundRounds Optimal.
Import ListNotations.
Open Scope Z_scope.

(** A program that achieves [what], in so many rounds, on C chunks. *)
Definition kind := Z -> program -> nat -> Prop.

Definition achieves (N : Z) (what : kind) (P : program) (n : nat) : Prop :=
  exists C, 0 < C /\ fits N C P n /\ one_port N P n /\ what C P n.

Definition fewest_rounds (N : Z) (what : kind) (P : program) (n : nat) : Prop :=
  achieves N what P n /\ forall P' n', achieves N what P' n' -> (n <= n')%nat.

Lemma meets_rounds N what P n :
  (forall P' n', achieves N what P' n' -> Z.log2_up N <= Z.of_nat n') ->
  achieves N what P n -> Z.of_nat n = Z.log2_up N -> fewest_rounds N what P n.
Proof.
  intros Bound H E. split; [assumption|]. intros P' n' H'. specialize (Bound P' n' H'). lia.
Qed.

Section Doubling.
  Variable K : nat.
  Let N := 2 ^ Z.of_nat K.

  Lemma same_rounds k r : round (recursive_doubling N) k r = round (doubling_program K) k r.
  Proof.
    unfold round, recursive_doubling, recursive_doubling_all_reduce, N. now rewrite not_folded.
  Qed.

  Theorem recursive_doubling_fewest_rounds :
    fewest_rounds N (all_reduces N) (recursive_doubling N) K.
  Proof.
    assert (HN : 0 < N) by (apply two_pow_pos; lia).
    assert (HK : recursive_doubling_rounds N = K).
    { unfold recursive_doubling_rounds, rounds_with_folding, log2_below, N.
      rewrite power_below_two, Z.ltb_irrefl, Z.log2_pow2 by lia. apply Nat2Z.id. }
    apply meets_rounds.
    - intros P' n' (C & HC & F & O & H). now apply (all_reduce_rounds N C P' n').
    - rewrite <- HK. exists 1. split; [lia|]. split; [|split].
      + now apply matches_fits, recursive_doubling_matches.
      + rewrite HK. intros k r Hk Hr. rewrite same_rounds, doubling_round by assumption.
        split; cbn; destruct (others r _); cbn; lia.
      + now apply in_rank_order_all_reduces, recursive_doubling_in_rank_order.
    - unfold N. now rewrite Z.log2_up_pow2 by lia.
  Qed.
End Doubling.

Section Tree.
  Variable N : Z.
  Hypothesis HN : 0 < N.

  Lemma levels_log2_up : Z.of_nat (levels N) = Z.log2_up N.
  Proof. unfold levels. apply Z2Nat.id, Z.log2_up_nonneg. Qed.

  Lemma short_step_one_port r s : (length s <= 1)%nat -> single_port_step r s.
  Proof.
    destruct s as [|a [|b s]]; cbn [length]; intros H; [now split; cbn; lia| |lia].
    split; cbn; destruct (is_send a), (others r (peer a)); cbn; lia.
  Qed.

  Theorem binomial_broadcast_fewest_rounds :
    fewest_rounds N (broadcasts N) (broadcast N) (levels N).
  Proof.
    apply meets_rounds; [| |apply levels_log2_up].
    - intros P' n' (C & HC & F & O & H). now apply (broadcast_rounds N C P' n').
    - exists 1. split; [lia|]. split; [|split].
      + now apply matches_fits, binomial_broadcast_matches.
      + intros t r Ht Hr. rewrite broadcast_round by assumption.
        apply short_step_one_port. destruct (parent_at _ _ _); [|destruct (child_at _ _)]; cbn; lia.
      + now apply binomial_broadcasts.
  Qed.

  Theorem binomial_reduce_fewest_rounds :
    fewest_rounds N (reduces_to_root N) (reduce N) (levels N).
  Proof.
    apply meets_rounds; [| |apply levels_log2_up].
    - intros P' n' (C & HC & F & O & H). now apply (reduce_rounds N C P' n').
    - exists 1. split; [lia|]. split; [|split].
      + now apply matches_fits, binomial_reduce_matches.
      + intros t r Ht Hr. rewrite reduce_round by assumption.
        apply short_step_one_port. destruct (parent_at _ _ _); [|destruct (child_at _ _)]; cbn; lia.
      + now apply binomial_reduces_to_root.
  Qed.
End Tree.
