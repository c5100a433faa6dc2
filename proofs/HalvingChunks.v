(** Which chunk a rank ends with after recursive halving, and which blocks it kept on the way.

        rank 1 = 001 of 8:  keeps 4..7, then 4..5, then 4 = 100         the bits reversed
                            blocks of 4, 2, 1 around chunk 4

    [kept_reversed]: bit i of the final chunk is bit K-1-i of the rank.  [halving_blocks_nested]:
    what a rank receives in halving, in the closed form that refcoll claims: the blocks of
    1, 2, 4, ..., 2^(K-1) chunks around its final one. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Columns Traffic Blocks Doubling Halving Rabenseifner.
Import ListNotations.
Open Scope Z_scope.

Section Chunks.
  Variables (K : nat) (r : Z).
  Hypothesis Hr : 0 <= r.

  (** The chunk that rank r ends with. *)
  Definition final_chunk : Z := kept_start K r K.

  Lemma kept_start_step j : kept_start K r (S j) =
    kept_start K r j + (if Z.testbit r (Z.of_nat j) then width K (S j) else 0).
  Proof.
    cbn [kept_start]. unfold partner. rewrite exchange_lower by lia.
    now destruct (Z.testbit r (Z.of_nat j)).
  Qed.

  Lemma kept_start_multiple j : (j <= K)%nat -> exists m, kept_start K r j = m * width K j.
  Proof.
    induction j as [|j IH]; intros Hj; [now exists 0|].
    destruct IH as [m E]; [lia|]. destruct (width_halves K j Hj) as [W _].
    rewrite kept_start_step, E, W. destruct (Z.testbit r (Z.of_nat j)).
    - exists (m * 2 + 1). lia.
    - exists (m * 2). lia.
  Qed.

  Lemma final_within i : (i <= K)%nat ->
    kept_start K r (K - i) <= final_chunk < kept_start K r (K - i) + width K (K - i).
  Proof.
    induction i as [|i IH]; intros Hi.
    - rewrite Nat.sub_0_r. unfold final_chunk, width. rewrite Z.sub_diag. change (2 ^ 0) with 1.
      lia.
    - specialize (IH ltac:(lia)). replace (K - i)%nat with (S (K - S i)) in IH by lia.
      rewrite kept_start_step in IH.
      destruct (width_halves K (K - S i) ltac:(lia)) as [W W'].
      destruct (Z.testbit r (Z.of_nat (K - S i))); lia.
  Qed.

  (** The block of 2^i chunks that holds the final one. *)
  Theorem kept_nested i : (i <= K)%nat ->
    kept_start K r (K - i) = block_start final_chunk (Z.of_nat i).
  Proof.
    intros Hi. destruct (kept_start_multiple (K - i) ltac:(lia)) as [m E].
    assert (B := final_within i Hi). unfold block_start.
    assert (W : width K (K - i) = 2 ^ Z.of_nat i) by (unfold width; f_equal; lia).
    rewrite E, W in *. f_equal.
    apply Z.div_unique with (r := final_chunk - m * 2 ^ Z.of_nat i); lia.
  Qed.

  Theorem kept_reversed i : (i < K)%nat ->
    Z.testbit final_chunk (Z.of_nat i) = Z.testbit r (Z.of_nat (K - 1 - i)).
  Proof.
    intros Hi. rewrite Z.testbit_odd, Z.shiftr_div_pow2 by lia.
    assert (W : width K (K - i) = 2 ^ Z.of_nat i) by (unfold width; f_equal; lia).
    assert (D : final_chunk / 2 ^ Z.of_nat i * 2 ^ Z.of_nat i = kept_start K r (K - i))
      by (symmetry; now apply kept_nested; lia).
    replace (K - i)%nat with (S (K - 1 - i)) in * by lia.
    destruct (kept_start_multiple (K - 1 - i) ltac:(lia)) as [m E].
    destruct (width_halves K (K - 1 - i) ltac:(lia)) as [W2 W'].
    rewrite kept_start_step, E, W2, W in D. rewrite W in W'.
    destruct (Z.testbit r (Z.of_nat (K - 1 - i))).
    - replace (final_chunk / 2 ^ Z.of_nat i) with (1 + 2 * m) by nia.
      now rewrite Z.odd_add_mul_2.
    - replace (final_chunk / 2 ^ Z.of_nat i) with (0 + 2 * m) by nia.
      now rewrite Z.odd_add_mul_2.
  Qed.

  (** sum of |block of 2^i around the final chunk| for i < K. *)
  Theorem halving_blocks_nested len : halving_blocks K len r =
    zsum (map (fun i => let low := block_start final_chunk (Z.of_nat i) in
                        volume len (range low (low + 2 ^ Z.of_nat i))) (seq 0 K)).
  Proof.
    unfold halving_blocks.
    assert (G : forall k, (k <= K)%nat ->
      zsum (map (fun k => volume len (kept K r (S k))) (seq (K - k) k)) =
      zsum (map (fun i => let low := block_start final_chunk (Z.of_nat i) in
                          volume len (range low (low + 2 ^ Z.of_nat i))) (seq 0 k))).
    { induction k as [|k IH]; intros Hk; [reflexivity|].
      rewrite (seq_S k 0), map_app, zsum_app, <- IH by lia. cbn [seq map plus].
      rewrite zsum_cons, zsum_one. replace (S (K - S k)) with (K - k)%nat by lia.
      rewrite <- kept_nested by lia. unfold kept.
      replace (width K (K - k)) with (2 ^ Z.of_nat k) by (unfold width; f_equal; lia). lia. }
    specialize (G K ltac:(lia)). now rewrite Nat.sub_diag in G.
  Qed.
End Chunks.
