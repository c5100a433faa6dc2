(** Blocks of 2^k neighbouring ranks, and the merge of one: what exchange by bits computes.

        rank       0   1   2   3   4   5   6   7
        k = 1     [0,1]   [2,3]   [4,5]   [6,7]        block_start r k: the first rank of r's
        k = 2     [  0 .. 3    ] [  4 .. 7    ]        block; r XOR 2^k is in the other half
                                                       of its block of 2^(k+1)
    [block_value lo k] merges the 2^k values from lo on as a balanced tree, lower ranks left:
    (x0 + x1) + (x2 + x3), the same on whatever rank it is computed. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists.
Import ListNotations.
Open Scope Z_scope.

(** Python's [1 << k]. *)
Lemma shift_one k : 0 <= k -> Z.shiftl 1 k = 2 ^ k.
Proof. intros H. rewrite Z.shiftl_mul_pow2 by assumption. apply Z.mul_1_l. Qed.

Lemma two_pow_pos k : 0 <= k -> 0 < 2 ^ k.
Proof. intros H. now apply Z.pow_pos_nonneg. Qed.

Lemma two_pow_succ k : 0 <= k -> 2 ^ (k + 1) = 2 * 2 ^ k.
Proof. intros H. now rewrite Z.pow_add_r, Z.mul_comm by lia. Qed.

Definition block_start (r k : Z) : Z := r / 2 ^ k * 2 ^ k.

(** Exchanging bit k: up by 2^k from the lower half of a block, down from the upper. *)
Lemma exchange r k : 0 <= r -> 0 <= k -> let other := Z.lxor r (2 ^ k) in
  (Z.testbit r k = false /\ other = r + 2 ^ k /\
     block_start r (k + 1) = block_start r k /\ block_start other k = block_start r k + 2 ^ k) \/
  (Z.testbit r k = true /\ other = r - 2 ^ k /\
     block_start r (k + 1) = block_start other k /\ block_start r k = block_start other k + 2 ^ k).
Proof.
  intros Hr Hk other. set (w := 2 ^ k) in *. assert (Hw := two_pow_pos k Hk). fold w in Hw.
  assert (Hodd : Z.testbit r k = Z.odd (r / w)).
  { rewrite Z.testbit_odd, Z.shiftr_div_pow2 by assumption. reflexivity. }
  assert (Bits : forall i, Z.testbit w i = (i =? k))
    by (intros i; unfold w; rewrite Z.eqb_sym; now apply Z.pow2_bits_eqb).
  assert (Up : forall a, Z.testbit a k = false -> Z.lxor a w = a + w).
  { intros a Ha. symmetry. apply Z.add_nocarry_lxor, Z.bits_inj'. intros i _.
    rewrite Z.land_spec, Bits, Z.bits_0.
    destruct (Z.eqb_spec i k) as [->|]; [now rewrite Ha|now rewrite andb_false_r]. }
  assert (Half : r / (w * 2) = r / w / 2) by (now rewrite Z.div_div by lia).
  unfold block_start. rewrite two_pow_succ by assumption. fold w. rewrite (Z.mul_comm 2 w), Half.
  assert (D := Z.div_mod (r / w) 2 ltac:(lia)). rewrite Zmod_odd in D.
  destruct (Z.odd (r / w)) eqn:O.
  - right. assert (E : other = r - w).
    { assert (U := Up other). unfold other in U at 1.
      rewrite Z.lxor_spec, Hodd, Bits, Z.eqb_refl in U.
      specialize (U eq_refl). unfold other in U.
      rewrite Z.lxor_assoc, Z.lxor_nilpotent, Z.lxor_0_r in U.
      unfold other. lia. }
    assert (Q : other / w = r / w + -1)
      by (rewrite E; replace (r - w) with (r + (-1) * w) by lia; now rewrite Z.div_add by lia).
    rewrite Q. repeat split; (assumption || nia).
  - left. assert (E : other = r + w) by (apply Up; congruence).
    assert (Q : other / w = r / w + 1)
      by (rewrite E; replace (r + w) with (r + 1 * w) by lia; now rewrite Z.div_add by lia).
    rewrite Q. repeat split; (assumption || nia).
Qed.

(** The rank below its partner is the one whose bit is 0. *)
Lemma exchange_lower r k : 0 <= r -> 0 <= k -> (r <? Z.lxor r (2 ^ k)) = negb (Z.testbit r k).
Proof.
  intros Hr Hk. assert (Hw := two_pow_pos k Hk).
  destruct (exchange r k Hr Hk) as [(-> & -> & _)|(-> & -> & _)]; cbn [negb]; lia.
Qed.

(** The partner differs in that bit, and in no other. *)
Lemma exchange_bit r k j : 0 <= k -> 0 <= j ->
  Z.testbit (Z.lxor r (2 ^ k)) j = if j =? k then negb (Z.testbit r j) else Z.testbit r j.
Proof.
  intros Hk Hj. rewrite Z.lxor_spec, Z.pow2_bits_eqb, Z.eqb_sym by assumption.
  destruct (j =? k), (Z.testbit r j); reflexivity.
Qed.

Lemma exchange_back r k : Z.lxor (Z.lxor r (2 ^ k)) (2 ^ k) = r.
Proof. now rewrite Z.lxor_assoc, Z.lxor_nilpotent, Z.lxor_0_r. Qed.

(** Among 2^K ranks the partner exists. *)
Lemma exchange_exists K r k : 0 <= r < 2 ^ K -> 0 <= k < K -> 0 <= Z.lxor r (2 ^ k) < 2 ^ K.
Proof.
  intros Hr Hk. assert (Hw := two_pow_pos k ltac:(lia)).
  assert (0 <= Z.lxor r (2 ^ k)) by (apply Z.lxor_nonneg; lia). split; [assumption|].
  destruct (Z.eq_dec (Z.lxor r (2 ^ k)) 0) as [->|]; [apply two_pow_pos; lia|].
  apply Z.log2_lt_pow2; [lia|]. eapply Z.le_lt_trans; [apply Z.log2_lxor; lia|].
  apply Z.max_lub_lt; [|rewrite Z.log2_pow2; lia].
  destruct (Z.eq_dec r 0) as [->|]; [cbn; lia|apply Z.log2_lt_pow2; lia].
Qed.

Lemma block_start_zero r : block_start r 0 = r.
Proof. unfold block_start. cbn. now rewrite Z.div_1_r, Z.mul_1_r. Qed.

Lemma block_start_all K r : 0 <= r < 2 ^ K -> block_start r K = 0.
Proof. intros H. unfold block_start. now rewrite Z.div_small. Qed.

(** ** The merge of a block *)

Section Value.
  Context {A : Type} (op : A -> A -> A) (x : Z -> A).

  Fixpoint block_value (lo : Z) (k : nat) : A :=
    match k with
    | O => x lo
    | S half => op (block_value lo half) (block_value (lo + 2 ^ Z.of_nat half) half)
    end.
End Value.

Lemma block_value_ext {A} (op : A -> A -> A) x y k : forall lo,
  (forall q, lo <= q < lo + 2 ^ Z.of_nat k -> x q = y q) ->
  block_value op x lo k = block_value op y lo k.
Proof.
  induction k as [|k IH]; intros lo H; [apply H; cbn; lia|]. cbn [block_value].
  rewrite Nat2Z.inj_succ, <- Z.add_1_r, two_pow_succ in H by lia.
  assert (Hw := two_pow_pos (Z.of_nat k) ltac:(lia)).
  rewrite (IH lo), (IH (lo + _)); [reflexivity| |]; intros q Hq; apply H; lia.
Qed.

(** On lists: the concatenation of the block's lists, in rank order. *)
Lemma block_value_lists {X} (x : Z -> list X) k : forall lo,
  block_value (@app X) x lo k = flat_map x (range lo (lo + 2 ^ Z.of_nat k)).
Proof.
  induction k as [|k IH]; intros lo.
  - cbn [block_value]. change (2 ^ Z.of_nat 0) with 1. rewrite range_one. cbn.
    now rewrite app_nil_r.
  - cbn [block_value]. rewrite !IH, Nat2Z.inj_succ, <- Z.add_1_r, two_pow_succ by lia.
    assert (Hw := two_pow_pos (Z.of_nat k) ltac:(lia)).
    rewrite (range_split lo (lo + 2 ^ Z.of_nat k) (lo + 2 * _)), flat_map_app by lia.
    do 3 f_equal. lia.
Qed.
