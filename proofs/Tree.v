(** Binomial tree (refcoll/algorithms/tree.py): in each round everyone who has it tells one more.

        0 --------------> 4        L = ceil(log2 N) rounds; in the round of distance d
        |  \              | \          d = 2^(L-1), ..., 2, 1
        |   2--+          |  6--+      a rank r that 2d divides sends to r + d
        1       3         5      7     The reduce is the same backwards in time.

    For every N >= 1: after L rounds of the broadcast everyone holds what rank 0 held; after L
    rounds of the reduce rank 0 holds all merged, as the tree that the picture shows, lower
    ranks left (TreeResult.v).  Here are the schedules, their messages, and their depth L: 2^L
    is the least power of two that is no less than N ([levels_enough], [levels_least]).
    Traffic: TreeTraffic.v. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Columns Combinators Blocks.
Import ListNotations.
Open Scope Z_scope.

Definition binomial_broadcast (rank size : Z) : schedule :=
  map (fun k => let distance := Z.shiftl 1 k in
         if (rank mod (2 * distance) =? 0) && (rank + distance <? size)
         then [Send [0] (rank + distance)]
         else if rank mod (2 * distance) =? distance then [Copy [0] (rank - distance)]
         else IDLE)
      (rev (range 0 (Z.log2_up size))).

Definition binomial_reduce (rank size : Z) : schedule :=
  reverse IntoReduce (binomial_broadcast rank size).

Definition binomial_all_reduce (rank size : Z) : schedule :=
  binomial_reduce rank size ++ binomial_broadcast rank size.

Section Tree.
  Variable N : Z.
  Hypothesis HN : 0 < N.

  Definition broadcast : program := fun r => binomial_broadcast r N.
  Definition reduce : program := fun r => binomial_reduce r N.
  Definition tree : program := fun r => binomial_all_reduce r N.

  (** ceil(log2 N): the least L with N <= 2^L ([levels_enough], [levels_least]). *)
  Definition levels : nat := Z.to_nat (Z.log2_up N).

  Theorem levels_enough : N <= 2 ^ Z.of_nat levels.
  Proof.
    unfold levels. rewrite Z2Nat.id by apply Z.log2_up_nonneg.
    destruct (Z.eq_dec N 1) as [->|]; [cbn; lia|]. apply Z.log2_up_spec. lia.
  Qed.

  Theorem levels_least : 1 < N -> 2 ^ (Z.of_nat levels - 1) < N.
  Proof.
    intros H. unfold levels. rewrite Z2Nat.id by apply Z.log2_up_nonneg.
    now apply Z.log2_up_spec.
  Qed.

  Theorem binomial_broadcast_depth r : length (broadcast r) = levels.
  Proof.
    unfold broadcast, binomial_broadcast. rewrite map_length, rev_length, range_length.
    now rewrite Z.sub_0_r.
  Qed.

  Theorem binomial_reduce_depth r : length (reduce r) = levels.
  Proof.
    unfold reduce, binomial_reduce. rewrite reverse_length. apply binomial_broadcast_depth.
  Qed.

  Theorem binomial_all_reduce_depth r : length (tree r) = (levels + levels)%nat.
  Proof.
    unfold tree, binomial_all_reduce. rewrite app_length. fold (reduce r) (broadcast r).
    now rewrite binomial_reduce_depth, binomial_broadcast_depth.
  Qed.

  (** ** Who talks to whom at distance 2^k *)

  Definition parent_at (k : nat) (r : Z) : bool :=
    (r mod (2 * 2 ^ Z.of_nat k) =? 0) && (r + 2 ^ Z.of_nat k <? N).
  Definition child_at (k : nat) (r : Z) : bool := r mod (2 * 2 ^ Z.of_nat k) =? 2 ^ Z.of_nat k.

  Lemma child_parent k r : 0 <= r < N -> child_at k r = true ->
    parent_at k (r - 2 ^ Z.of_nat k) = true /\ 2 ^ Z.of_nat k <= r.
  Proof.
    unfold child_at, parent_at. intros Hr E. apply Z.eqb_eq in E.
    assert (Hd := two_pow_pos (Z.of_nat k) ltac:(lia)). set (d := 2 ^ Z.of_nat k) in *.
    assert (D := Z.div_mod r (2 * d) ltac:(lia)). rewrite E in D.
    assert (0 <= r / (2 * d)) by (apply Z.div_pos; lia). split; [|nia].
    apply andb_true_intro. split; [apply Z.eqb_eq|lia].
    replace (r - d) with (0 + r / (2 * d) * (2 * d)) by lia.
    rewrite Z.mod_add, Z.mod_0_l by lia. reflexivity.
  Qed.

  Lemma parent_child k r : 0 <= r -> parent_at k r = true ->
    child_at k (r + 2 ^ Z.of_nat k) = true /\ r + 2 ^ Z.of_nat k < N.
  Proof.
    unfold child_at, parent_at. intros Hr E. apply andb_prop in E as [E L]. apply Z.eqb_eq in E.
    assert (Hd := two_pow_pos (Z.of_nat k) ltac:(lia)). set (d := 2 ^ Z.of_nat k) in *.
    assert (D := Z.div_mod r (2 * d) ltac:(lia)). rewrite E in D. split; [|lia].
    apply Z.eqb_eq. replace (r + d) with (d + r / (2 * d) * (2 * d)) by lia.
    rewrite Z.mod_add by lia. apply Z.mod_small. lia.
  Qed.

  Lemma not_both k r : parent_at k r = true -> child_at k r = false.
  Proof.
    unfold parent_at, child_at. intros E. apply andb_prop in E as [E _]. apply Z.eqb_eq in E.
    rewrite E. apply Z.eqb_neq. assert (Hd := two_pow_pos (Z.of_nat k) ltac:(lia)). lia.
  Qed.

  (** What 2^k divides, 2^(k+1) divides or is a child at distance 2^k. *)
  Lemma divisible_next k r : r mod 2 ^ Z.of_nat k = 0 ->
    r mod 2 ^ Z.of_nat (S k) = 0 \/ child_at k r = true.
  Proof.
    intros E. unfold child_at. rewrite Nat2Z.inj_succ, <- Z.add_1_r, two_pow_succ by lia.
    assert (Hd := two_pow_pos (Z.of_nat k) ltac:(lia)). set (d := 2 ^ Z.of_nat k) in *.
    assert (M := Z.rem_mul_r r d 2 ltac:(lia) ltac:(lia)). rewrite E, (Z.mul_comm d 2) in M.
    assert (B := Z.mod_pos_bound (r / d) 2 ltac:(lia)).
    assert (r / d mod 2 = 0 \/ r / d mod 2 = 1) as [H|H] by lia; rewrite H in M; [left|right]; lia.
  Qed.

  Lemma divisible_before k r : r mod 2 ^ Z.of_nat (S k) = 0 -> r mod 2 ^ Z.of_nat k = 0.
  Proof.
    rewrite Nat2Z.inj_succ, <- Z.add_1_r, two_pow_succ by lia. intros E.
    assert (Hd := two_pow_pos (Z.of_nat k) ltac:(lia)).
    apply Z.mod_divide; [lia|]. apply Z.mod_divide in E; [|lia].
    destruct E as [m ->]. exists (m * 2). lia.
  Qed.

  (** ** Rounds *)

  Lemma broadcast_round t r : (t < levels)%nat -> let k := (levels - S t)%nat in
    round broadcast t r =
    if parent_at k r then [Send [0] (r + 2 ^ Z.of_nat k)]
    else if child_at k r then [Copy [0] (r - 2 ^ Z.of_nat k)] else IDLE.
  Proof.
    intros Ht k. unfold round, broadcast, binomial_broadcast.
    rewrite map_rev, rev_nth by (rewrite loop_length, Z.sub_0_r; exact Ht).
    rewrite loop_length, Z.sub_0_r. fold levels k.
    rewrite nth_loop by (unfold levels in *; lia). rewrite Z.add_0_l, shift_one by lia.
    reflexivity.
  Qed.

  Lemma reduce_round k r : (k < levels)%nat ->
    round reduce k r =
    if parent_at k r then [Reduce [0] (r + 2 ^ Z.of_nat k) None]
    else if child_at k r then [Send [0] (r - 2 ^ Z.of_nat k)] else IDLE.
  Proof.
    intros Hk. unfold round, reduce, binomial_reduce. fold (broadcast r).
    rewrite nth_reverse by now rewrite binomial_broadcast_depth.
    rewrite binomial_broadcast_depth. fold (round broadcast (levels - S k) r).
    rewrite broadcast_round by lia. replace (levels - S (levels - S k))%nat with k by lia.
    now destruct (parent_at k r), (child_at k r).
  Qed.

  (** ** Messages fit *)

  (** One end has a message for the other exactly where the other has its receive. *)
  Lemma link_ends k q r : 0 <= q < N -> 0 <= r < N ->
    parent_at k q && (q + 2 ^ Z.of_nat k =? r) = child_at k r && (r - 2 ^ Z.of_nat k =? q).
  Proof.
    intros Hq Hr. apply eq_true_iff_eq. rewrite !andb_true_iff, !Z.eqb_eq. split.
    - intros [E <-]. split; [now apply parent_child|lia].
    - intros [E <-]. split; [now apply child_parent|lia].
  Qed.

  Theorem binomial_broadcast_matches : matches N broadcast levels.
  Proof.
    intros t Ht. set (k := (levels - S t)%nat). split.
    - intros r a Hr Ha. rewrite broadcast_round in Ha by assumption. fold k in Ha.
      assert (Hd := two_pow_pos (Z.of_nat k) ltac:(lia)).
      destruct (parent_at k r) eqn:E; [|destruct (child_at k r) eqn:E'; [|easy]];
        destruct Ha as [<-|[]]; cbn [peer].
      + apply parent_child in E; lia.
      + apply child_parent in E'; lia.
    - intros q r Hq Hr. rewrite !broadcast_round by assumption. fold k.
      assert (H := link_ends k q r Hq Hr).
      assert (Nq := not_both k q). assert (Nr := not_both k r).
      destruct (parent_at k q), (child_at k q), (parent_at k r), (child_at k r);
        try (discriminate (Nq eq_refl)); try (discriminate (Nr eq_refl));
        cbn [andb] in H; cbn [sends_to receives_from IDLE]; rewrite ?H, <- ?H; try reflexivity.
  Qed.

  Theorem binomial_reduce_matches : matches N reduce levels.
  Proof.
    intros k Hk. assert (Hd := two_pow_pos (Z.of_nat k) ltac:(lia)). split.
    - intros r a Hr Ha. rewrite reduce_round in Ha by assumption.
      destruct (parent_at k r) eqn:E; [|destruct (child_at k r) eqn:E'; [|easy]];
        destruct Ha as [<-|[]]; cbn [peer].
      + apply parent_child in E; lia.
      + apply child_parent in E'; lia.
    - intros q r Hq Hr. rewrite !reduce_round by assumption.
      assert (H := link_ends k r q Hr Hq).
      assert (Nq := not_both k q). assert (Nr := not_both k r).
      destruct (parent_at k q), (child_at k q), (parent_at k r), (child_at k r);
        try (discriminate (Nq eq_refl)); try (discriminate (Nr eq_refl));
        cbn [andb] in H; cbn [sends_to receives_from IDLE]; rewrite ?H, <- ?H; try reflexivity.
  Qed.

  Theorem binomial_all_reduce_matches : matches N tree (levels + levels).
  Proof.
    apply (matches_then N reduce broadcast).
    - intros r _. apply binomial_reduce_depth.
    - apply binomial_reduce_matches.
    - apply binomial_broadcast_matches.
  Qed.
End Tree.
