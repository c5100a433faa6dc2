(** Arithmetic round a ring: [modlia] is [lia] that understands [x mod N].

        ... -N ... 0 ... N ... 2N ...      an x of which lia can show that it lies in one of
             |-----|------|-----|          these windows has x mod N = x, x - N, x + N, ...

    Index formulas such as [(r - t - 1) mod N] stay within a few periods of 0; there [mod] is
    piecewise linear. *)
From Coq Require Import ZArith Lia.
Open Scope Z_scope.

Lemma mod_wide N x : 0 < N -> -2 * N <= x < 3 * N ->
  0 <= x mod N < N /\
  (x mod N = x \/ x mod N = x + N \/ x mod N = x - N \/ x mod N = x + 2 * N \/ x mod N = x - 2 * N).
Proof.
  intros HN Hx. assert (Hb := Z.mod_pos_bound x N HN). split; [exact Hb|].
  assert (Hd := Z.div_mod x N ltac:(lia)).
  assert (-2 <= x / N) by (apply Z.div_le_lower_bound; lia).
  assert (x / N < 3) by (apply Z.div_lt_upper_bound; lia).
  assert (x / N = -2 \/ x / N = -1 \/ x / N = 0 \/ x / N = 1 \/ x / N = 2)
    as [E|[E|[E|[E|E]]]] by lia; rewrite E in Hd; lia.
Qed.

Lemma mod_middle N x : 0 < N -> -N <= x < 2 * N ->
  0 <= x mod N < N /\ (x mod N = x \/ x mod N = x + N \/ x mod N = x - N).
Proof. intros HN Hx. assert (H := mod_wide N x HN ltac:(lia)). lia. Qed.

Lemma mod_below N x : 0 < N -> -N <= x < N ->
  0 <= x mod N < N /\ (x mod N = x \/ x mod N = x + N).
Proof. intros HN Hx. assert (H := mod_wide N x HN ltac:(lia)). lia. Qed.

Lemma mod_above N x : 0 < N -> 0 <= x < 2 * N ->
  0 <= x mod N < N /\ (x mod N = x \/ x mod N = x - N).
Proof. intros HN Hx. assert (H := mod_wide N x HN ltac:(lia)). lia. Qed.

(** Replace [x mod N] by a number of which its piecewise linear description is known. *)
Ltac mod_elim x N :=
  let H := fresh in let y := fresh "y" in
  first [ assert (H := mod_below N x ltac:(lia) ltac:(lia))
        | assert (H := mod_above N x ltac:(lia) ltac:(lia))
        | assert (H := mod_middle N x ltac:(lia) ltac:(lia))
        | assert (H := mod_wide N x ltac:(lia) ltac:(lia)) ];
  set (y := x mod N) in *; clearbody y.

(** The innermost first. *)
Ltac modlia :=
  repeat match goal with
  | |- context[?x mod ?N] =>
      lazymatch x with context[_ mod _] => fail | _ => mod_elim x N end
  | H : context[?x mod ?N] |- _ =>
      lazymatch x with context[_ mod _] => fail | _ => mod_elim x N end
  end; lia.
