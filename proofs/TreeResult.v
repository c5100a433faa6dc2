(** What binomial trees compute.  (The schedules: Tree.v.)

        N = 5:   x0 + x1    x2 + x3    x4          distance 1
                 (x0 + x1) + (x2 + x3)             distance 2
                 ((x0 + x1) + (x2 + x3)) + x4      distance 4

    [binomial_broadcast_result], [binomial_reduce_result], [binomial_all_reduce_result]: for
    any values and any operator.  [tree_value r k] is what r, which 2^k divides, has merged
    before the round of distance 2^k: the ranks from r on, fewer than 2^k where they end.
    [binomial_reduce_in_rank_order], [binomial_all_reduce_in_rank_order]: operands stand in rank
    order, so the operator need not commute. *)
From Coq Require Import ZArith List Bool Lia Permutation.
From Refcoll Require Import Lists Schedule Columns Collectives Combinators Blocks Doubling Tree.
Import ListNotations.
Open Scope Z_scope.

Section TreeResult.
  Variable N : Z.
  Hypothesis HN : 0 < N.
  Let L := levels N.

  Section Results.
    Context {A : Type} (before : Z -> Z -> bool) (op : A -> A -> A).

    (** ** Broadcast *)

    (** The loop invariant: before round t the ranks that 2^(L-t) divides have it. *)
    Lemma broadcast_invariant x t : (t <= L)%nat -> forall r, 0 <= r < N ->
      r mod 2 ^ Z.of_nat (L - t) = 0 -> run_by before op (broadcast N) t x r 0 = x 0 0.
    Proof.
      induction t as [|t IH]; intros Ht r Hr Hdiv.
      - rewrite Nat.sub_0_r in Hdiv. assert (H := levels_enough N HN). fold L in H.
        rewrite Z.mod_small in Hdiv by lia. now subst.
      - set (k := (L - S t)%nat) in *. cbn [run_by].
        rewrite (round_column before op N)
          by (try assumption; apply binomial_broadcast_matches; fold L; lia).
        rewrite broadcast_round by (fold L; lia). fold L k.
        assert (Next : forall q, 0 <= q < N -> q mod 2 ^ Z.of_nat (S k) = 0 ->
          run_by before op (broadcast N) t x q 0 = x 0 0).
        { intros q Hq E. apply IH; [lia|assumption|].
          now replace (L - t)%nat with (S k) by lia. }
        destruct (parent_at N k r) eqn:P.
        + cbn [fold_left peer]. rewrite take_send. apply Next; [assumption|].
          unfold parent_at in P. apply andb_prop in P as [P _]. apply Z.eqb_eq in P.
          now rewrite Nat2Z.inj_succ, <- Z.add_1_r, two_pow_succ by lia.
        + destruct (child_at k r) eqn:C.
          * cbn [fold_left peer]. rewrite (take_one before op _ 0) by reflexivity.
            cbn [Z.eqb receive]. destruct (child_parent N k r Hr C) as [P' Hle].
            assert (Hd := two_pow_pos (Z.of_nat k) ltac:(lia)).
            apply Next; [lia|]. unfold parent_at in P'. apply andb_prop in P' as [P' _].
            apply Z.eqb_eq in P'. now rewrite Nat2Z.inj_succ, <- Z.add_1_r, two_pow_succ by lia.
          * cbn [fold_left IDLE]. apply Next; [assumption|].
            destruct (divisible_next k r Hdiv) as [E|E]; [exact E|congruence].
    Qed.

    Theorem binomial_broadcast_result x r : 0 <= r < N ->
      run_by before op (broadcast N) L x r 0 = x 0 0.
    Proof.
      intros Hr. apply broadcast_invariant; [lia|assumption|]. rewrite Nat.sub_diag.
      apply Z.mod_1_r.
    Qed.

    (** ** Reduce *)

    Fixpoint tree_value (x : Z -> A) (r : Z) (k : nat) : A :=
      match k with
      | O => x r
      | S j =>
          let child := r + 2 ^ Z.of_nat j in
          if child <? N then hop before op child r (tree_value x child j) (tree_value x r j)
          else tree_value x r j
      end.

    (** The loop invariant: before the round of distance 2^k, what 2^k divides has merged. *)
    Lemma reduce_invariant x k : (k <= L)%nat -> forall r, 0 <= r < N ->
      r mod 2 ^ Z.of_nat k = 0 ->
      run_by before op (reduce N) k x r 0 = tree_value (fun q => x q 0) r k.
    Proof.
      induction k as [|k IH]; intros Hk r Hr Hdiv; [reflexivity|]. cbn [run_by tree_value].
      assert (Hd := two_pow_pos (Z.of_nat k) ltac:(lia)).
      assert (Hdiv' := divisible_before k r Hdiv).
      rewrite (round_column before op N)
        by (try assumption; apply binomial_reduce_matches; fold L; lia).
      rewrite reduce_round by (fold L; lia). unfold parent_at.
      assert (Z2 : r mod (2 * 2 ^ Z.of_nat k) = 0)
        by (now rewrite Nat2Z.inj_succ, <- Z.add_1_r, two_pow_succ in Hdiv by lia).
      rewrite Z2. cbn [Z.eqb andb].
      destruct (Z.ltb_spec (r + 2 ^ Z.of_nat k) N) as [Hlt|Hge].
      - cbn [fold_left peer]. rewrite (take_one before op _ 0) by reflexivity.
        cbn [Z.eqb receive incoming_goes_left].
        rewrite !IH; [reflexivity|lia|assumption|assumption|lia|lia|].
        replace (r + 2 ^ Z.of_nat k) with (r + 1 * 2 ^ Z.of_nat k) by lia.
        now rewrite Z.mod_add by lia.
      - unfold child_at. rewrite Z2. replace (0 =? 2 ^ Z.of_nat k) with false by lia.
        cbn [fold_left IDLE]. apply IH; [lia|assumption|assumption].
    Qed.

    Theorem binomial_reduce_result x :
      run_by before op (reduce N) L x 0 0 = tree_value (fun q => x q 0) 0 L.
    Proof. apply reduce_invariant; [lia|lia|now apply Z.mod_0_l, Z.pow_nonzero; lia]. Qed.

    (** The same value on every rank. *)
    Theorem binomial_all_reduce_result x r : 0 <= r < N ->
      run_by before op (tree N) (L + L) x r 0 = tree_value (fun q => x q 0) 0 L.
    Proof.
      intros Hr. change (tree N) with (then_ (reduce N) (broadcast N)).
      rewrite (run_then N); try assumption.
      - rewrite binomial_broadcast_result by assumption. apply binomial_reduce_result.
      - intros q _. apply binomial_reduce_depth.
      - now apply binomial_reduce_matches.
      - now apply binomial_broadcast_matches.
    Qed.
  End Results.

  (** ** Everyone once, in rank order *)

  Lemma tree_value_contributions before c k : forall r, 0 <= r < N ->
    in_rank_order N before ->
    tree_value before (@app contribution) (fun q => own q c) r k =
    map (fun q => (q, c)) (range r (Z.min (r + 2 ^ Z.of_nat k) N)).
  Proof.
    induction k as [|k IH]; intros r Hr order.
    - change (2 ^ Z.of_nat 0) with 1. rewrite Z.min_l, range_one by lia. reflexivity.
    - cbn [tree_value]. rewrite Nat2Z.inj_succ, <- Z.add_1_r, two_pow_succ by lia.
      assert (Hd := two_pow_pos (Z.of_nat k) ltac:(lia)). set (d := 2 ^ Z.of_nat k) in *.
      destruct (Z.ltb_spec (r + d) N) as [H|H].
      + unfold hop. rewrite order by lia. replace (r + d <? r) with false by lia.
        rewrite !IH by (assumption || lia). rewrite <- map_app. f_equal.
        rewrite (Z.min_l (r + d) N), <- range_split by lia. f_equal. lia.
      + rewrite IH by assumption. do 2 f_equal. lia.
  Qed.

  (** Whatever the order of ranks, everyone is in it. *)
  Lemma tree_value_all {X} before (x : Z -> list X) k : forall r, 0 <= r < N ->
    Permutation (tree_value before (@app X) x r k)
                (flat_map x (range r (Z.min (r + 2 ^ Z.of_nat k) N))).
  Proof.
    induction k as [|k IH]; intros r Hr.
    - change (2 ^ Z.of_nat 0) with 1. rewrite Z.min_l, range_one by lia. cbn [flat_map tree_value].
      now rewrite app_nil_r.
    - cbn [tree_value]. rewrite Nat2Z.inj_succ, <- Z.add_1_r, two_pow_succ by lia.
      assert (Hd := two_pow_pos (Z.of_nat k) ltac:(lia)). set (d := 2 ^ Z.of_nat k) in *.
      destruct (Z.ltb_spec (r + d) N) as [H|H].
      + rewrite (range_split r (r + d)), flat_map_app by lia.
        replace (Z.min (r + 2 * d) N) with (Z.min (r + d + d) N) by lia.
        assert (Mine := IH r Hr). rewrite (Z.min_l (r + d) N) in Mine by lia.
        unfold hop. destruct (before (r + d) r); [rewrite Permutation_app_comm|];
          (apply Permutation_app; [exact Mine|apply IH; lia]).
      + rewrite IH by assumption. now replace (Z.min (r + 2 * d) N) with (Z.min (r + d) N) by lia.
  Qed.

  Lemma tree_value_ranks {X} before (x : Z -> list X) :
    Permutation (tree_value before (@app X) x 0 L) (flat_map x (ranks N)).
  Proof.
    rewrite tree_value_all by lia. assert (H := levels_enough N HN). fold L in H.
    now rewrite Z.min_r by lia.
  Qed.

  Lemma tree_value_everyone c :
    tree_value Z.ltb (@app contribution) (fun q => own q c) 0 L = everyone N c.
  Proof.
    rewrite tree_value_contributions by (lia || (intros a b _ _; reflexivity)).
    assert (H := levels_enough N HN). fold L in H.
    unfold everyone, ranks. do 2 f_equal. lia.
  Qed.

  Theorem binomial_all_reduce_in_rank_order : all_reduces_in_rank_order N 1 (tree N) (L + L).
  Proof.
    intros r c Hr Hc. replace c with 0 by lia. unfold contributions.
    rewrite binomial_all_reduce_result by assumption. apply tree_value_everyone.
  Qed.

  Theorem binomial_reduce_in_rank_order : contributions (reduce N) L 0 0 = everyone N 0.
  Proof. unfold contributions. rewrite binomial_reduce_result. apply tree_value_everyone. Qed.

  Theorem binomial_reduces_to_root : reduces_to_root N 1 (reduce N) L.
  Proof.
    intros c Hc. replace c with 0 by lia. now rewrite binomial_reduce_in_rank_order.
  Qed.

  Theorem binomial_broadcasts : broadcasts N 1 (broadcast N) L.
  Proof.
    intros r c Hr Hc. replace c with 0 by lia. unfold contributions.
    now rewrite binomial_broadcast_result.
  Qed.
End TreeResult.
