(** Recursive doubling among 2^K ranks (refcoll/algorithms/recursive.py, [doubling]).

        000  001  010  011          in round k = 0, 1, ..., K-1
         +----+    +----+             rank r exchanges its vector with rank r XOR 2^k
         +---------+                  (and 001 with 011)

    For every K, any values and any operator: after K rounds every rank holds the same
    balanced tree over all ranks, lower ranks left ([doubling_result]).  Each rank sends and
    receives K S elements ([doubling_sent], [doubling_received]).  Any N: Folding.v. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Columns Traffic Blocks.
Import ListNotations.
Open Scope Z_scope.

Definition doubling (rank size : Z) : schedule :=
  map (fun k => let other := Z.lxor rank (Z.shiftl 1 k) in [Send [0] other; Reduce [0] other None])
      (range 0 (Z.log2 size)).

(** The lower of two ranks goes left. *)
Definition in_rank_order (N : Z) (before : Z -> Z -> bool) : Prop :=
  forall a b, 0 <= a < N -> 0 <= b < N -> before a b = (a <? b).

(** Both partners merge their halves of a block in the same order. *)
Lemma merge_block {A} (op : A -> A -> A) before x N r k : in_rank_order N before ->
  0 <= r < N -> 0 <= Z.lxor r (2 ^ Z.of_nat k) < N ->
  let other := Z.lxor r (2 ^ Z.of_nat k) in
  let incoming := block_value op x (block_start other (Z.of_nat k)) k in
  let mine := block_value op x (block_start r (Z.of_nat k)) k in
  (if before other r then op incoming mine else op mine incoming) =
  block_value op x (block_start r (Z.of_nat (S k))) (S k).
Proof.
  intros order Hr Ho other incoming mine. fold other in Ho.
  rewrite order by assumption. rewrite Nat2Z.inj_succ, <- Z.add_1_r. cbn [block_value].
  assert (Hw := two_pow_pos (Z.of_nat k) ltac:(lia)). unfold incoming, mine.
  destruct (exchange r (Z.of_nat k)) as [(_ & E & B & B')|(_ & E & B & B')]; [lia|lia| |];
    fold other in E, B, B'; rewrite B, B'.
  - replace (other <? r) with false by lia. reflexivity.
  - replace (other <? r) with true by lia. reflexivity.
Qed.

Section Doubling.
  Variable K : nat.
  Let N := 2 ^ Z.of_nat K.

  Definition doubling_program : program := fun r => doubling r N.

  Lemma log2_N : Z.log2 N = Z.of_nat K.
  Proof. unfold N. apply Z.log2_pow2. lia. Qed.

  Theorem doubling_depth r : length (doubling_program r) = K.
  Proof. unfold doubling_program, doubling. rewrite loop_length, log2_N. lia. Qed.

  Lemma doubling_round k r : (k < K)%nat -> round doubling_program k r =
    [Send [0] (Z.lxor r (2 ^ Z.of_nat k)); Reduce [0] (Z.lxor r (2 ^ Z.of_nat k)) None].
  Proof.
    intros H. unfold round, doubling_program, doubling. rewrite nth_loop by (rewrite log2_N; lia).
    cbn [Z.add]. now rewrite shift_one by lia.
  Qed.

  Theorem doubling_matches : matches N doubling_program K.
  Proof.
    intros k Hk. split.
    - intros r a Hr Ha. rewrite doubling_round in Ha by assumption.
      destruct Ha as [<-|[<-|[]]]; apply exchange_exists; unfold N in Hr; lia.
    - intros q r Hq Hr. rewrite !doubling_round by assumption. cbn [sends_to receives_from].
      destruct (Z.eqb_spec (Z.lxor q (2 ^ Z.of_nat k)) r) as [<-|E].
      + now rewrite exchange_back, Z.eqb_refl.
      + destruct (Z.eqb_spec (Z.lxor r (2 ^ Z.of_nat k)) q) as [<-|]; [|reflexivity].
        now rewrite exchange_back in E.
  Qed.

  Section Result.
    Context {A : Type} (before : Z -> Z -> bool) (op : A -> A -> A) (x : state A).
    Hypothesis order : in_rank_order N before.

    (** The loop invariant: before round k every rank holds its block of 2^k, in order. *)
    Lemma doubling_invariant k : (k <= K)%nat -> forall r, 0 <= r < N ->
      run_by before op doubling_program k x r 0 =
      block_value op (fun q => x q 0) (block_start r (Z.of_nat k)) k.
    Proof.
      induction k as [|k IH]; intros Hk r Hr.
      - cbn [run_by block_value]. now rewrite block_start_zero.
      - assert (Ho : 0 <= Z.lxor r (2 ^ Z.of_nat k) < N)
          by (apply exchange_exists; unfold N in Hr; lia).
        cbn [run_by]. rewrite (round_column before op N)
          by (try assumption; apply doubling_matches; lia).
        rewrite doubling_round by lia. cbn [fold_left peer].
        rewrite take_send, (take_one before op _ 0) by reflexivity. cbn [Z.eqb receive].
        rewrite !IH by (assumption || lia). now apply (merge_block op before _ N).
    Qed.

    Theorem doubling_result r : 0 <= r < N ->
      run_by before op doubling_program K x r 0 = block_value op (fun q => x q 0) 0 K.
    Proof.
      intros Hr. rewrite doubling_invariant by (assumption || lia).
      now rewrite block_start_all.
    Qed.
  End Result.

  (** ** Traffic *)

  Section Costs.
    Variables (len : Z -> Z) (r : Z).
    Hypothesis Hr : 0 <= r < N.

    Lemma partner_differs k : 0 <= k -> others r (Z.lxor r (2 ^ k)) = true.
    Proof.
      intros Hk. assert (Hw := two_pow_pos k Hk). unfold others. apply negb_true_iff, Z.eqb_neq.
      destruct (exchange r k) as [(_ & -> & _)|(_ & -> & _)]; lia.
    Qed.

    Theorem doubling_sent : sent len doubling_program r = Z.of_nat K * len 0.
    Proof.
      unfold sent, sent_where, doubling_program, doubling. rewrite map_map, log2_N.
      rewrite (zsum_ext _ (fun _ => len 0)).
      - rewrite zsum_const, range_length. f_equal. lia.
      - intros k Hk. apply in_range in Hk. rewrite shift_one by lia.
        cbn. unfold action_sends. cbn. rewrite partner_differs by lia. cbn. lia.
    Qed.

    Theorem doubling_received : received len doubling_program r = Z.of_nat K * len 0.
    Proof.
      unfold received, received_where, doubling_program, doubling. rewrite map_map, log2_N.
      rewrite (zsum_ext _ (fun _ => len 0)).
      - rewrite zsum_const, range_length. f_equal. lia.
      - intros k Hk. apply in_range in Hk. rewrite shift_one by lia.
        cbn. unfold action_receives. cbn. rewrite partner_differs by lia. cbn. lia.
    Qed.
  End Costs.
End Doubling.
