(** Recursive halving, then doubling: results and traffic.  (The schedule: Halving.v.)

        K rounds of halving      chunk by chunk, the merge of the block of 2^k ranks so far
        K rounds backwards       finished chunks spread the same way back

    [halving_result], [halving_doubling_result]: the same balanced tree as recursive doubling
    gives, lower ranks left.  [halving_sent]: S less the one chunk that a rank keeps, and
    [halving_doubling_sent]: what it sends and later receives, for chunks of any lengths;
    where all are equally long 2(N-1)/N S ([halving_doubling_sent_equal]). *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Columns Combinators Traffic Blocks Doubling Halving.
Import ListNotations.
Open Scope Z_scope.

Section Rabenseifner.
  Variable K : nat.
  Let N := 2 ^ Z.of_nat K.

  Section Results.
    Context {A : Type} (before : Z -> Z -> bool) (op : A -> A -> A).
    Hypothesis order : in_rank_order N before.

    (** The loop invariant: what a rank keeps is merged over its block of 2^k ranks. *)
    Lemma halving_invariant x k : (k <= K)%nat -> forall r c, 0 <= r < N -> In c (kept K r k) ->
      run_by before op (halving_program K) k x r c =
      block_value op (fun q => x q c) (block_start r (Z.of_nat k)) k.
    Proof.
      induction k as [|k IH]; intros Hk r c Hr Hc.
      - cbn [run_by block_value]. now rewrite block_start_zero.
      - assert (Hp := partner_exists K r k Hr Hk). cbn [run_by].
        rewrite (round_column before op N) by (try assumption; apply halving_matches; lia).
        rewrite halving_round by lia. cbn [fold_left peer]. rewrite take_send.
        rewrite take_named by (apply range_NoDup || assumption). cbn [receive].
        rewrite !IH by (try assumption; try lia; try apply in_kept_halves;
          rewrite ?partner_back; lia || auto).
        now apply (merge_block op before (fun q => x q c) N).
    Qed.

    (** The chunk that rank r ends with. *)
    Theorem halving_result x r : 0 <= r < N ->
      run_by before op (halving_program K) K x r (kept_start K r K) =
      block_value op (fun q => x q (kept_start K r K)) 0 K.
    Proof.
      intros Hr. rewrite halving_invariant; [now rewrite block_start_all|lia|assumption|].
      unfold kept, width. rewrite Z.sub_diag, in_range. change (2 ^ 0) with 1. lia.
    Qed.

    (** Backwards: once everyone's last chunk is right, all that it kept before is. *)
    Lemma gathering_invariant y (final : Z -> A) i : (i <= K)%nat ->
      (forall r c, 0 <= r < N -> In c (kept K r K) -> y r c = final c) ->
      forall r c, 0 <= r < N -> In c (kept K r (K - i)) ->
      run_by before op (gathering_program K) i y r c = final c.
    Proof.
      intros Hi Hy. induction i as [|i IH]; intros r c Hr Hc.
      - rewrite Nat.sub_0_r in Hc. now apply Hy.
      - set (k := (K - S i)%nat) in *. replace (K - i)%nat with (S k) in IH by lia.
        assert (Hp := partner_exists K r k Hr ltac:(lia)). cbn [run_by].
        rewrite (round_column before op N) by (try assumption; apply gathering_matches; lia).
        rewrite gathering_round by lia. fold k. cbn [fold_left peer]. rewrite take_send.
        destruct (in_dec Z.eq_dec c (kept K (partner r k) (S k))) as [In_|Out].
        + rewrite take_named by (apply range_NoDup || assumption). cbn [receive].
          apply IH; [lia|assumption|assumption].
        + rewrite take_unnamed by assumption. apply IH; [lia|assumption|].
          apply in_kept_halves in Hc; [|lia|lia]. tauto.
    Qed.

    Theorem halving_doubling_result x r c : 0 <= r < N -> 0 <= c < N ->
      run_by before op (halving_doubling_program K) (K + K) x r c =
      block_value op (fun q => x q c) 0 K.
    Proof.
      intros Hr Hc. change (halving_doubling_program K)
        with (then_ (halving_program K) (gathering_program K)).
      rewrite (run_then N); try assumption.
      - apply (gathering_invariant _ (fun c => block_value op (fun q => x q c) 0 K)); try lia.
        + intros q d Hq Hd. rewrite halving_invariant by (assumption || lia).
          now rewrite block_start_all.
        + rewrite Nat.sub_diag, kept_all. now apply in_ranks.
      - intros q _. apply halving_depth.
      - apply halving_matches.
      - apply gathering_matches.
    Qed.
  End Results.

  (** ** Traffic *)

  Section Costs.
    Variables (len : Z -> Z) (r : Z).
    Hypothesis Hr : 0 <= r < N.
    Let S := total len N.

    Lemma kept_volume k : (k < K)%nat ->
      volume len (kept K r k) =
      volume len (kept K r (Datatypes.S k)) + volume len (kept K (partner r k) (Datatypes.S k)).
    Proof.
      intros Hk. destruct (width_halves K k Hk) as [W W']. unfold kept.
      rewrite (volume_range_split len _ (kept_start K r k + width K (Datatypes.S k))) by lia.
      destruct (kept_start_halves K r k ltac:(lia) Hk) as [(_ & -> & ->)|(_ & -> & ->)];
        replace (kept_start K r k + width K k)
          with (kept_start K r k + width K (Datatypes.S k) + width K (Datatypes.S k)) by lia; lia.
    Qed.

    (** A sum over all rounds, in the order of the schedule. *)
    Lemma halving_rounds (f : step -> Z) (g : nat -> Z) :
      (forall k, (k < K)%nat -> f (round (halving_program K) k r) = g k) ->
      zsum (map f (halving_program K r)) = zsum (map g (seq 0 K)).
    Proof.
      enough (G : forall s g, (forall k, (k < length s)%nat -> f (nth k s IDLE) = g k) ->
        zsum (map f s) = zsum (map g (seq 0 (length s)))).
      { intros H. rewrite (G _ g); rewrite halving_depth; [reflexivity|exact H]. }
      induction s as [|a s IH]; intros h H; [reflexivity|]. cbn [length seq map].
      rewrite !zsum_cons, <- seq_shift, map_map, (IH (fun k => h (Datatypes.S k))).
      - f_equal. apply (H O). cbn. lia.
      - intros k Hk. apply (H (Datatypes.S k)). cbn. lia.
    Qed.

    Lemma partner_is_other k : others r (partner r k) = true.
    Proof. apply partner_differs with (K := K); [exact Hr|lia]. Qed.

    Theorem halving_sent : sent len (halving_program K) r = S - len (kept_start K r K).
    Proof.
      unfold sent, sent_where.
      rewrite (halving_rounds _ (fun k => volume len (kept K (partner r k) (Datatypes.S k)))).
      - enough (G : forall k, (k <= K)%nat -> zsum (map (fun k =>
            volume len (kept K (partner r k) (Datatypes.S k))) (seq 0 k)) =
            S - volume len (kept K r k)).
        { rewrite G by lia. f_equal. unfold kept, width. rewrite Z.sub_diag.
          change (2 ^ 0) with 1. rewrite range_one. apply volume_one. }
        induction k as [|k IH]; intros Hk.
        + rewrite kept_all. fold N (total len N). unfold S. cbn. lia.
        + rewrite seq_S, map_app, zsum_app, IH by lia. cbn [map plus].
          rewrite zsum_one, (kept_volume k) by lia. lia.
      - intros k Hk. rewrite halving_round by lia. unfold step_sends, action_sends.
        cbn [map is_send peer chunks]. rewrite partner_is_other. cbn [andb]. cbn. lia.
    Qed.

    (** What a rank receives in halving: what it keeps, round by round. *)
    Definition halving_blocks : Z :=
      zsum (map (fun k => volume len (kept K r (Datatypes.S k))) (seq 0 K)).

    Theorem halving_received : received len (halving_program K) r = halving_blocks.
    Proof.
      unfold received, received_where. apply halving_rounds.
      intros k Hk. rewrite halving_round by lia. unfold step_receives, action_receives.
      cbn [map is_send negb peer chunks]. rewrite partner_is_other. cbn [andb]. cbn. lia.
    Qed.

    Theorem halving_doubling_sent : sent len (halving_doubling_program K) r =
      S - len (kept_start K r K) + halving_blocks.
    Proof.
      change (sent_where len (others r)
                (halving_program K r ++ reverse IntoCopy (halving_program K r)) =
              S - len (kept_start K r K) + halving_blocks).
      rewrite sent_where_app, reverse_sent.
      fold (sent len (halving_program K) r) (received len (halving_program K) r).
      now rewrite halving_sent, halving_received.
    Qed.

    Theorem halving_doubling_received : received len (halving_doubling_program K) r =
      S - len (kept_start K r K) + halving_blocks.
    Proof.
      change (received_where len (others r)
                (halving_program K r ++ reverse IntoCopy (halving_program K r)) =
              S - len (kept_start K r K) + halving_blocks).
      rewrite received_where_app, reverse_received.
      fold (sent len (halving_program K) r) (received len (halving_program K) r).
      rewrite halving_sent, halving_received. lia.
    Qed.

    (** N sent = 2(N-1) S, that is, sent = 2(N-1)/N S, where chunks are equally long. *)
    Theorem halving_doubling_sent_equal : (forall c d, len c = len d) ->
      N * sent len (halving_doubling_program K) r = 2 * (N - 1) * S.
    Proof.
      intros E. rewrite halving_doubling_sent. unfold halving_blocks.
      assert (V : forall cs, volume len cs = Z.of_nat (length cs) * len 0).
      { intros cs. unfold volume. rewrite (zsum_ext _ (fun _ => len 0)) by (intros; apply E).
        apply zsum_const. }
      assert (HN : 0 < N) by (apply two_pow_pos; lia).
      assert (T : S = N * len 0).
      { unfold S, total, ranks. rewrite V, range_length. f_equal. lia. }
      assert (G : forall k, (k <= K)%nat -> zsum (map (fun k =>
          volume len (kept K r (Datatypes.S k))) (seq 0 k)) = (N - width K k) * len 0).
      { induction k as [|k IH]; intros Hk.
        - unfold width. cbn. rewrite Z.sub_0_r. fold N. lia.
        - rewrite seq_S, map_app, zsum_app, IH by lia. cbn [map plus]. rewrite zsum_one, V.
          unfold kept. rewrite range_length. destruct (width_halves K k Hk) as [W W'].
          replace (Z.of_nat (Z.to_nat _)) with (width K (Datatypes.S k)) by lia. lia. }
      rewrite G, (E _ 0), T by lia. unfold width. rewrite Z.sub_diag. change (2 ^ 0) with 1. lia.
    Qed.
  End Costs.
End Rabenseifner.
