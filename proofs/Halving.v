(** Recursive halving, then doubling, among 2^K ranks: Rabenseifner's all-reduce
    (refcoll/algorithms/recursive.py, [halving] and [halving_doubling]).

        kept by rank        0        1        2        3          among 4 ranks, 4 chunks
        before round 0    0 1 2 3  0 1 2 3  0 1 2 3  0 1 2 3      exchange with r XOR 1
        before round 1    0 1 . .  . . 2 3  0 1 . .  . . 2 3      exchange with r XOR 2
        at the end        0 . . .  . . 2 .  . 1 . .  . . . 3      chunk: r's bits reversed

    Each gives its partner the half that the partner keeps, and merges what it gets into the
    half that it keeps itself ([halving_round]).  Here are the schedule and its messages.  What
    it computes stands in Rabenseifner.v: after K rounds every rank holds one chunk merged over
    all ranks, and after 2K rounds everyone holds all of them. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Columns Combinators Traffic Blocks Doubling.
Import ListNotations.
Open Scope Z_scope.

Fixpoint halving_from (ks : list Z) (rank start stop : Z) : schedule :=
  match ks with
  | [] => []
  | k :: later =>
      let other := Z.lxor rank (Z.shiftl 1 k) in
      let middle := (start + stop) / 2 in
      if rank <? other
      then [Send (range middle stop) other; Reduce (range start middle) other None]
             :: halving_from later rank start middle
      else [Send (range start middle) other; Reduce (range middle stop) other None]
             :: halving_from later rank middle stop
  end.

Definition halving (rank size : Z) : schedule :=
  halving_from (range 0 (Z.log2 size)) rank 0 size.

Definition halving_doubling (rank size : Z) : schedule :=
  halving rank size ++ reverse IntoCopy (halving rank size).

Section Halving.
  Variable K : nat.
  Let N := 2 ^ Z.of_nat K.

  Definition halving_program : program := fun r => halving r N.
  Definition gathering_program : program := fun r => reverse IntoCopy (halving r N).
  Definition halving_doubling_program : program := fun r => halving_doubling r N.

  Definition partner (r : Z) (k : nat) : Z := Z.lxor r (2 ^ Z.of_nat k).

  (** ** What a rank keeps before round k: 2^(K-k) chunks *)

  Definition width (k : nat) : Z := 2 ^ (Z.of_nat K - Z.of_nat k).

  Fixpoint kept_start (r : Z) (k : nat) : Z :=
    match k with
    | O => 0
    | S j => kept_start r j + if r <? partner r j then 0 else width (S j)
    end.
  Definition kept (r : Z) (k : nat) : list Z :=
    range (kept_start r k) (kept_start r k + width k).

  Lemma width_halves k : (k < K)%nat -> width k = 2 * width (S k) /\ 0 < width (S k).
  Proof.
    intros H. unfold width. rewrite <- two_pow_succ by lia.
    split; [f_equal; lia|apply two_pow_pos; lia].
  Qed.

  (** Partners in round k keep the same until then. *)
  Lemma kept_start_partner r k j : 0 <= r -> (j <= k)%nat ->
    kept_start (partner r k) j = kept_start r j.
  Proof.
    intros Hr. induction j as [|j IH]; intros Hj; [reflexivity|]. cbn [kept_start].
    rewrite IH by lia. f_equal. unfold partner.
    assert (0 <= Z.lxor r (2 ^ Z.of_nat k))
      by (apply Z.lxor_nonneg; assert (H := two_pow_pos (Z.of_nat k)); lia).
    rewrite !exchange_lower, exchange_bit by lia.
    destruct (Z.eqb_spec (Z.of_nat j) (Z.of_nat k)); [lia|reflexivity].
  Qed.

  (** In round k each of them keeps one half. *)
  Lemma kept_start_halves r k : 0 <= r -> (k < K)%nat ->
    let lo := kept_start r k in let w := width (S k) in
    (r <? partner r k = true /\ kept_start r (S k) = lo /\
       kept_start (partner r k) (S k) = lo + w) \/
    (r <? partner r k = false /\ kept_start r (S k) = lo + w /\
       kept_start (partner r k) (S k) = lo).
  Proof.
    intros Hr Hk lo w. cbn [kept_start]. rewrite kept_start_partner by lia. fold lo w.
    assert (0 <= partner r k)
      by (apply Z.lxor_nonneg; assert (H := two_pow_pos (Z.of_nat k)); lia).
    assert (E : (partner r k <? partner (partner r k) k) = negb (r <? partner r k)).
    { unfold partner in *. rewrite !exchange_lower, exchange_bit, Z.eqb_refl by lia. reflexivity. }
    rewrite E. destruct (r <? partner r k); cbn [negb]; [left|right]; repeat split; lia.
  Qed.

  Lemma in_kept_halves r k c : 0 <= r -> (k < K)%nat ->
    (In c (kept r k) <-> In c (kept r (S k)) \/ In c (kept (partner r k) (S k))).
  Proof.
    intros Hr Hk. destruct (width_halves k Hk) as [W W']. unfold kept. rewrite !in_range, W.
    destruct (kept_start_halves r k Hr Hk) as [(_ & -> & ->)|(_ & -> & ->)]; lia.
  Qed.

  Lemma kept_all r : kept r 0 = ranks N.
  Proof. unfold kept, width. cbn [kept_start]. now rewrite Z.sub_0_r. Qed.

  (** ** Rounds *)

  Lemma halving_nth r i : 0 <= r -> forall j, (j + i < K)%nat ->
    nth i (halving_from (range (Z.of_nat j) (Z.of_nat K)) r (kept_start r j)
             (kept_start r j + width j)) IDLE =
    [Send (kept (partner r (j + i)) (S (j + i))) (partner r (j + i));
     Reduce (kept r (S (j + i))) (partner r (j + i)) None].
  Proof.
    intros Hr. induction i as [|i IH]; intros j Hj;
      rewrite range_first by lia; cbn [halving_from]; rewrite shift_one by lia;
      fold (partner r j); destruct (width_halves j ltac:(lia)) as [W W'];
      replace ((kept_start r j + (kept_start r j + width j)) / 2)
        with (kept_start r j + width (S j))
        by (rewrite W; apply Z.div_unique_exact; lia);
      destruct (kept_start_halves r j Hr ltac:(lia)) as [(E & A & B)|(E & A & B)]; rewrite E.
    1, 2: rewrite Nat.add_0_r; cbn [nth]; unfold kept; rewrite A, B;
      replace (kept_start r j + width j) with (kept_start r j + width (S j) + width (S j)) by lia;
      reflexivity.
    all: cbn [nth]; replace (j + S i)%nat with (S j + i)%nat by lia; rewrite <- (IH (S j)) by lia;
      replace (Z.of_nat (S j)) with (Z.of_nat j + 1) by lia; rewrite A, ?W; do 2 f_equal; lia.
  Qed.

  Theorem halving_depth r : length (halving_program r) = K.
  Proof.
    assert (G : forall ks lo hi, length (halving_from ks r lo hi) = length ks).
    { induction ks as [|k ks IH]; intros lo hi; [reflexivity|]. cbn [halving_from].
      destruct (r <? _); cbn [length]; now rewrite IH. }
    unfold halving_program, halving, N. rewrite G, range_length, log2_N. lia.
  Qed.

  Theorem halving_doubling_depth r : length (halving_doubling_program r) = (K + K)%nat.
  Proof.
    unfold halving_doubling_program, halving_doubling. rewrite app_length, reverse_length.
    fold (halving_program r). now rewrite halving_depth.
  Qed.

  (** Give my partner what it keeps; merge into what I keep. *)
  Lemma halving_round k r : 0 <= r -> (k < K)%nat -> round halving_program k r =
    [Send (kept (partner r k) (S k)) (partner r k); Reduce (kept r (S k)) (partner r k) None].
  Proof.
    intros Hr Hk. unfold round, halving_program, halving, N. rewrite log2_N.
    assert (H := halving_nth r k Hr 0 Hk). cbn [plus kept_start Z.of_nat Z.add] in H.
    unfold width at 1 in H. now rewrite Z.sub_0_r in H.
  Qed.

  (** The same backwards: give my partner what I kept; take what it kept. *)
  Lemma gathering_round i r : 0 <= r -> (i < K)%nat -> let k := (K - S i)%nat in
    round gathering_program i r =
    [Send (kept r (S k)) (partner r k); Copy (kept (partner r k) (S k)) (partner r k)].
  Proof.
    intros Hr Hi k. unfold round, gathering_program. fold (halving_program r).
    rewrite nth_reverse by now rewrite halving_depth. rewrite halving_depth. fold k.
    fold (round halving_program k r). now rewrite halving_round by lia.
  Qed.

  (** ** Messages fit *)

  Lemma partner_back r k : partner (partner r k) k = r.
  Proof. apply exchange_back. Qed.

  Lemma partner_exists r k : 0 <= r < N -> (k < K)%nat -> 0 <= partner r k < N.
  Proof. intros Hr Hk. apply exchange_exists; unfold N in Hr; lia. Qed.

  Lemma partner_same q r k : (partner q k =? r) = (partner r k =? q).
  Proof.
    destruct (Z.eqb_spec (partner q k) r) as [<-|E]; [now rewrite partner_back, Z.eqb_refl|].
    destruct (Z.eqb_spec (partner r k) q) as [<-|]; [|reflexivity]. now rewrite partner_back in E.
  Qed.

  Theorem halving_matches : matches N halving_program K.
  Proof.
    intros k Hk. split.
    - intros r a Hr Ha. rewrite halving_round in Ha by (lia || assumption).
      destruct Ha as [<-|[<-|[]]]; now apply partner_exists.
    - intros q r Hq Hr. rewrite !halving_round by (lia || assumption).
      cbn [sends_to receives_from]. rewrite (partner_same q r).
      destruct (Z.eqb_spec (partner r k) q) as [<-|]; [|reflexivity]. now rewrite partner_back.
  Qed.

  Theorem gathering_matches : matches N gathering_program K.
  Proof.
    intros i Hi. split.
    - intros r a Hr Ha. rewrite gathering_round in Ha by (lia || assumption).
      destruct Ha as [<-|[<-|[]]]; apply partner_exists; lia.
    - intros q r Hq Hr. rewrite !gathering_round by (lia || assumption).
      cbn [sends_to receives_from]. rewrite (partner_same q r).
      destruct (Z.eqb_spec (partner r (K - S i)) q) as [<-|]; reflexivity.
  Qed.

  Theorem halving_doubling_matches : matches N halving_doubling_program (K + K).
  Proof.
    apply (matches_then N halving_program gathering_program).
    - intros r _. apply halving_depth.
    - apply halving_matches.
    - apply gathering_matches.
  Qed.
End Halving.
