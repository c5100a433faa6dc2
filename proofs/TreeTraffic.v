(** What binomial trees cost.  (The schedules: Tree.v.)

                         sends           receives            steps
        broadcast        S per child     S, but root: 0      children + 1, root: children
        reduce           S, root: 0      S per child         the same
        all-reduce       S per link      S per link          2 per link

    [children r]: the k < L for which 2^(k+1) divides r and r + 2^k < N.  A rank's links are
    its children, and its parent unless it is the root. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Columns Combinators Traffic Blocks Tree.
Import ListNotations.
Open Scope Z_scope.

Section TreeTraffic.
  Variables (N : Z) (len : Z -> Z) (r : Z).
  Hypothesis HN : 0 < N.
  Hypothesis Hr : 0 <= r < N.
  Let L := levels N.

  Definition one_if (b : bool) : Z := if b then 1 else 0.
  Definition children : Z := zsum (map (fun k => one_if (parent_at N k r)) (seq 0 L)).
  Definition has_parent : Z := one_if (0 <? r).
  Definition links : Z := children + has_parent.

  (** ** The one round in which a rank hears from its parent *)

  Lemma parent_round j : r mod 2 ^ Z.of_nat j <> 0 -> exists k, (k < j)%nat /\ child_at k r = true.
  Proof.
    induction j as [|j IH]; intros H; [exfalso; apply H, Z.mod_1_r|].
    destruct (Z.eq_dec (r mod 2 ^ Z.of_nat j) 0) as [E|E].
    - exists j. split; [lia|]. now destruct (divisible_next j r E).
    - destruct (IH E) as (k & Hk & C). exists k. split; [lia|assumption].
  Qed.

  Lemma child_divisible k : child_at k r = true -> forall j, (j <= k)%nat ->
    r mod 2 ^ Z.of_nat j = 0.
  Proof.
    intros C j Hj. unfold child_at in C. apply Z.eqb_eq in C.
    assert (Hj' := two_pow_pos (Z.of_nat j) ltac:(lia)).
    assert (Hd := two_pow_pos (Z.of_nat k) ltac:(lia)).
    assert (E : 2 ^ Z.of_nat k = 2 ^ (Z.of_nat k - Z.of_nat j) * 2 ^ Z.of_nat j)
      by (rewrite <- Z.pow_add_r by lia; f_equal; lia).
    assert (D := Z.div_mod r (2 * 2 ^ Z.of_nat k) ltac:(lia)). rewrite C in D.
    set (q := r / (2 * 2 ^ Z.of_nat k)) in D. rewrite E in D.
    rewrite D. apply Z.mod_divide; [lia|].
    exists ((2 * q + 1) * 2 ^ (Z.of_nat k - Z.of_nat j)). lia.
  Qed.

  Lemma child_once k j : child_at k r = true -> child_at j r = true -> k = j.
  Proof.
    assert (G : forall a b, (a < b)%nat -> child_at a r = true -> child_at b r = true -> False).
    { intros a b Hab Ca Cb. assert (D := child_divisible b Cb (S a) ltac:(lia)).
      unfold child_at in Ca. apply Z.eqb_eq in Ca.
      rewrite Nat2Z.inj_succ, <- Z.add_1_r, two_pow_succ, Ca in D by lia.
      assert (H := two_pow_pos (Z.of_nat a) ltac:(lia)). lia. }
    intros Ck Cj. destruct (Nat.lt_trichotomy k j) as [H|[H|H]]; [|assumption|];
      exfalso; eauto.
  Qed.

  Lemma zsum_single_nat (f : nat -> Z) n x : (x < n)%nat ->
    (forall y, (y < n)%nat -> y <> x -> f y = 0) -> zsum (map f (seq 0 n)) = f x.
  Proof.
    induction n as [|n IH]; intros Hx H; [lia|].
    rewrite seq_S, map_app, zsum_app. cbn [map plus]. rewrite zsum_one.
    destruct (Nat.eq_dec x n) as [->|].
    - rewrite zsum_zero; [lia|]. intros y Hy. apply in_seq in Hy. apply H; lia.
    - rewrite IH, (H n) by (try lia; intros; apply H; lia). lia.
  Qed.

  Lemma parents_sum : zsum (map (fun k => one_if (child_at k r)) (seq 0 L)) = has_parent.
  Proof.
    unfold has_parent. destruct (Z.ltb_spec 0 r) as [H|H].
    - assert (E := levels_enough N HN). fold L in E.
      destruct (parent_round L) as (k & Hk & C); [rewrite Z.mod_small; lia|].
      rewrite (zsum_single_nat _ L k Hk), C; [reflexivity|]. intros j _ Hj.
      destruct (child_at j r) eqn:E'; [|reflexivity]. exfalso. apply Hj. symmetry.
      now apply child_once.
    - apply zsum_zero. intros k _. unfold child_at. replace r with 0 by lia.
      rewrite Z.mod_0_l by (assert (H' := two_pow_pos (Z.of_nat k)); lia).
      replace (0 =? 2 ^ Z.of_nat k) with false; [reflexivity|].
      assert (H' := two_pow_pos (Z.of_nat k) ltac:(lia)). symmetry. apply Z.eqb_neq. lia.
  Qed.

  (** ** Sums over rounds *)

  Lemma zsum_rounds (f : step -> Z) (s : schedule) :
    zsum (map f s) = zsum (map (fun t => f (nth t s IDLE)) (seq 0 (length s))).
  Proof.
    induction s as [|a s IH]; [reflexivity|]. cbn [length seq map].
    rewrite !zsum_cons, <- seq_shift, map_map, IH. reflexivity.
  Qed.

  Lemma reduce_sum (f : step -> Z) (g : nat -> Z) :
    (forall k, (k < L)%nat -> f (round (reduce N) k r) = g k) ->
    zsum (map f (reduce N r)) = zsum (map g (seq 0 L)).
  Proof.
    intros H. rewrite zsum_rounds, binomial_reduce_depth. fold L. apply zsum_ext.
    intros k Hk. apply in_seq in Hk. apply H. lia.
  Qed.

  Lemma far_parent k : parent_at N k r = true -> others r (r + 2 ^ Z.of_nat k) = true.
  Proof.
    intros _. assert (H := two_pow_pos (Z.of_nat k) ltac:(lia)).
    apply negb_true_iff, Z.eqb_neq. lia.
  Qed.

  Lemma far_child k : child_at k r = true -> others r (r - 2 ^ Z.of_nat k) = true.
  Proof.
    intros _. assert (H := two_pow_pos (Z.of_nat k) ltac:(lia)).
    apply negb_true_iff, Z.eqb_neq. lia.
  Qed.

  Theorem binomial_reduce_sent : sent len (reduce N) r = has_parent * len 0.
  Proof.
    unfold sent, sent_where. rewrite (reduce_sum _ (fun k => len 0 * one_if (child_at k r))).
    - rewrite zsum_scale, parents_sum. lia.
    - intros k Hk. rewrite reduce_round by exact Hk.
      assert (X := not_both N k r). unfold step_sends, action_sends.
      destruct (parent_at N k r) eqn:P; [rewrite X by reflexivity; cbn; lia|].
      destruct (child_at k r) eqn:C; [|cbn; lia].
      cbn [map is_send peer chunks]. rewrite far_child by assumption. cbn. lia.
  Qed.

  Theorem binomial_reduce_received : received len (reduce N) r = children * len 0.
  Proof.
    unfold received, received_where.
    rewrite (reduce_sum _ (fun k => len 0 * one_if (parent_at N k r))).
    - rewrite zsum_scale. unfold children. lia.
    - intros k Hk. rewrite reduce_round by exact Hk. unfold step_receives, action_receives.
      destruct (parent_at N k r) eqn:P.
      + cbn [map is_send negb peer chunks]. rewrite far_parent by assumption. cbn. lia.
      + destruct (child_at k r); cbn; lia.
  Qed.

  Lemma broadcast_reversed : broadcast N r = reverse IntoCopy (reduce N r).
  Proof.
    unfold reduce, binomial_reduce, reverse. rewrite map_rev, rev_involutive, map_map.
    fold (broadcast N r). rewrite <- (map_id (broadcast N r)) at 1. apply map_ext_in.
    intros s Hs. unfold broadcast, binomial_broadcast in Hs.
    apply in_map_iff in Hs as (k & <- & _).
    destruct ((_ =? 0) && _); [reflexivity|]. now destruct (_ =? _).
  Qed.

  Theorem binomial_broadcast_sent : sent len (broadcast N) r = children * len 0.
  Proof.
    unfold sent. rewrite broadcast_reversed, reverse_sent. apply binomial_reduce_received.
  Qed.

  Theorem binomial_broadcast_received : received len (broadcast N) r = has_parent * len 0.
  Proof.
    unfold received. rewrite broadcast_reversed, reverse_received. apply binomial_reduce_sent.
  Qed.

  Theorem binomial_all_reduce_sent : sent len (tree N) r = links * len 0.
  Proof.
    unfold sent, tree, binomial_all_reduce. rewrite sent_where_app.
    fold (reduce N r) (broadcast N r) (sent len (reduce N) r) (sent len (broadcast N) r).
    rewrite binomial_reduce_sent, binomial_broadcast_sent. unfold links. lia.
  Qed.

  Theorem binomial_all_reduce_received : received len (tree N) r = links * len 0.
  Proof.
    unfold received, tree, binomial_all_reduce. rewrite received_where_app.
    fold (reduce N r) (broadcast N r) (received len (reduce N) r) (received len (broadcast N) r).
    rewrite binomial_reduce_received, binomial_broadcast_received. unfold links. lia.
  Qed.

  (** ** Steps: one for each link *)

  Lemma reduce_steps_sum : forall s, Z.of_nat (length (filter (busy r) s)) =
    zsum (map (fun each => one_if (busy r each)) s).
  Proof.
    induction s as [|a s IH]; [reflexivity|]. cbn [filter map]. rewrite zsum_cons, <- IH.
    destruct (busy r a); cbn [length one_if]; lia.
  Qed.

  Theorem binomial_reduce_steps : Z.of_nat (steps (reduce N) r) = links.
  Proof.
    unfold steps, busy_steps. rewrite reduce_steps_sum.
    rewrite (reduce_sum _ (fun k => one_if (parent_at N k r) + one_if (child_at k r))).
    - rewrite zsum_plus, parents_sum. reflexivity.
    - intros k Hk. rewrite reduce_round by exact Hk. assert (X := not_both N k r).
      destruct (parent_at N k r) eqn:P.
      + rewrite X by reflexivity. cbn. now rewrite far_parent.
      + destruct (child_at k r) eqn:C; [|reflexivity]. cbn. now rewrite far_child.
  Qed.
End TreeTraffic.
