(** Ring (refcoll/algorithms/ring.py): everyone passes one chunk to the right in every step.

        0 --> 1 --> 2 --> 3        chunk 0 of 4 on its way through the reduce-scatter:
        ^                 |        rank 1 holds x1, rank 2 x1+x2, rank 3 x1+x2+x3,
        +-----------------+        rank 0 x1+x2+x3+x0: all of it; then it goes round again

    For every N >= 1, any values and any operator:
    - [ring_reduce_scatter_result]: after N-1 rounds rank c holds chunk c merged over all ranks,
      x(c+1) + x(c+2) + ... + x(c), bracketed from the left along the ring.
    - [ring_all_gather_result]: after N-1 rounds everyone holds what rank c held in chunk c.
    - [ring_all_reduce_result]: after 2(N-1) rounds everyone holds the same merged value, to
      the bit, whether or not the operator commutes or associates.
    That every rank is in it exactly once: RingOnce.v.  What it costs: RingTraffic.v.
    Where the ring turns from rank N-1 to rank 0 the lower rank's own operand goes left of
    what arrives ([Columns.hop]); for an operator that commutes, such as floating-point
    addition, this changes nothing: [ring_value_commutative]. *)
From Coq Require Import ZArith List Bool Permutation Lia.
From Refcoll Require Import Lists Modulo Schedule Columns Collectives Combinators.
Import ListNotations.
Open Scope Z_scope.

(** ** The schedules: Python's, term by term *)

Definition ring_reduce_scatter (rank size : Z) : schedule :=
  let right := (rank + 1) mod size in let left := (rank - 1) mod size in
  map (fun t => [Send [(rank - t) mod size] right; Reduce [(rank - t - 1) mod size] left None])
      (range 1 size).

Definition ring_all_gather (rank size : Z) : schedule :=
  let right := (rank + 1) mod size in let left := (rank - 1) mod size in
  map (fun t => [Send [(rank - t) mod size] right; Copy [(rank - t - 1) mod size] left])
      (range 0 (size - 1)).

Definition ring_all_reduce (rank size : Z) : schedule :=
  ring_reduce_scatter rank size ++ ring_all_gather rank size.

Section Ring.
  Variable N : Z.
  Hypothesis HN : 0 < N.

  Definition scatter : program := fun r => ring_reduce_scatter r N.
  Definition gather : program := fun r => ring_all_gather r N.
  Definition ring : program := fun r => ring_all_reduce r N.
  Definition once_round : nat := Z.to_nat (N - 1).

  (** ** Depth: N-1 rounds, N-1 rounds, 2(N-1) rounds *)

  Theorem ring_reduce_scatter_depth r : length (scatter r) = Z.to_nat (N - 1).
  Proof. apply loop_length. Qed.

  Theorem ring_all_gather_depth r : length (gather r) = Z.to_nat (N - 1).
  Proof. unfold gather, ring_all_gather. rewrite loop_length. lia. Qed.

  Theorem ring_all_reduce_depth r : length (ring r) = Z.to_nat (2 * (N - 1)).
  Proof.
    unfold ring, ring_all_reduce. rewrite app_length. fold (scatter r) (gather r).
    rewrite ring_reduce_scatter_depth, ring_all_gather_depth. lia.
  Qed.

  (** ** One round of each *)

  Lemma scatter_round i r : (i < once_round)%nat -> round scatter i r =
    [Send [(r - (1 + Z.of_nat i)) mod N] ((r + 1) mod N);
     Reduce [(r - (1 + Z.of_nat i) - 1) mod N] ((r - 1) mod N) None].
  Proof.
    unfold once_round, round. intros H. unfold scatter, ring_reduce_scatter.
    now rewrite nth_loop by lia.
  Qed.

  Lemma gather_round i r : (i < once_round)%nat -> round gather i r =
    [Send [(r - Z.of_nat i) mod N] ((r + 1) mod N);
     Copy [(r - Z.of_nat i - 1) mod N] ((r - 1) mod N)].
  Proof.
    unfold once_round, round. intros H. unfold gather, ring_all_gather.
    now rewrite nth_loop by lia.
  Qed.

  (** ** Every message has its receive, of the same chunk *)

  (** What the left neighbour sends is what I receive from the left. *)
  Lemma to_the_right P t : 0 <= t < 2 * N ->
    (forall r, 0 <= r < N -> exists a,
       P r = [Send [(r - t) mod N] ((r + 1) mod N); a] /\ is_send a = false /\
       chunks a = [(r - t - 1) mod N] /\ peer a = (r - 1) mod N) ->
    round_matches N P.
  Proof.
    intros Ht H. split.
    - intros r a Hr Ha. destruct (H r Hr) as (b & E & _ & _ & Eb). rewrite E in Ha.
      destruct Ha as [<-|[<-|[]]]; [cbn|rewrite Eb]; modlia.
    - intros q r Hq Hr.
      destruct (H q Hq) as (a & -> & Sa & _). destruct (H r Hr) as (b & -> & Sb & Cb & Pb).
      assert (E : ((q + 1) mod N =? r) = ((r - 1) mod N =? q)).
      { destruct (Z.eqb_spec ((q + 1) mod N) r), (Z.eqb_spec ((r - 1) mod N) q); try reflexivity;
          exfalso; modlia. }
      destruct a as [c p|c p|c p e], b as [c' p'|c' p'|c' p' e']; try discriminate;
        cbn in Cb, Pb; subst; cbn [sends_to receives_from]; rewrite E;
        destruct (Z.eqb_spec ((r - 1) mod N) q) as [<-|]; try reflexivity; do 2 f_equal; modlia.
  Qed.

  Theorem ring_reduce_scatter_matches : matches N scatter once_round.
  Proof.
    intros i Hi. apply (to_the_right _ (1 + Z.of_nat i)); [unfold once_round in Hi; lia|].
    intros r Hr. rewrite scatter_round by assumption. eexists. now repeat split.
  Qed.

  Theorem ring_all_gather_matches : matches N gather once_round.
  Proof.
    intros i Hi. apply (to_the_right _ (Z.of_nat i)); [unfold once_round in Hi; lia|].
    intros r Hr. rewrite gather_round by assumption. eexists. now repeat split.
  Qed.

  Theorem ring_all_reduce_matches : matches N ring (Z.to_nat (2 * (N - 1))).
  Proof.
    replace (Z.to_nat (2 * (N - 1))) with (once_round + once_round)%nat by (unfold once_round; lia).
    apply (matches_then N scatter gather).
    - intros r _. apply ring_reduce_scatter_depth.
    - apply ring_reduce_scatter_matches.
    - apply ring_all_gather_matches.
  Qed.

  (** ** Results *)

  Section Results.
    Context {A : Type} (before : Z -> Z -> bool) (op : A -> A -> A).

    (** Chunk c after [hops] hops from rank c+1, where it starts: the k-th goes from c+k. *)
    Definition ring_value (x : state A) (c hops : Z) : A :=
      fold_left (fun merged k => hop before op ((c + k) mod N) ((c + k + 1) mod N) merged
                                               (x ((c + k + 1) mod N) c))
                (range 1 (hops + 1)) (x ((c + 1) mod N) c).

    Lemma ring_value_ext x y c hops : (forall q, 0 <= q < N -> x q c = y q c) ->
      ring_value x c hops = ring_value y c hops.
    Proof.
      intros E. unfold ring_value. rewrite E by now apply Z.mod_pos_bound.
      apply fold_left_ext. intros k v _. now rewrite E by now apply Z.mod_pos_bound.
    Qed.

    (** Hops from rank c+1 to rank r. *)
    Definition hops_to (r c : Z) : Z := (r - c - 1) mod N.

    (** The loop invariant: after t rounds chunk c is merged up to t hops from its start. *)
    Lemma scatter_invariant x i : (i <= once_round)%nat -> forall r c, 0 <= r < N -> 0 <= c < N ->
      run_by before op scatter i x r c =
      if hops_to r c <=? Z.of_nat i then ring_value x c (hops_to r c) else x r c.
    Proof.
      induction i as [|i IH]; intros Hi r c Hr Hc; unfold hops_to in *.
      - cbn [run_by]. destruct (Z.leb_spec ((r - c - 1) mod N) (Z.of_nat 0)); [|reflexivity].
        replace ((r - c - 1) mod N) with 0 by modlia. cbn. f_equal. modlia.
      - replace (Z.of_nat (S i)) with (Z.of_nat i + 1) by lia. cbn [run_by].
        rewrite (round_column before op N)
          by (try assumption; apply ring_reduce_scatter_matches; lia).
        rewrite scatter_round by lia. cbn [fold_left peer].
        rewrite take_send, (take_one before op _ ((r - (1 + Z.of_nat i) - 1) mod N)) by reflexivity.
        cbn [receive incoming_goes_left].
        rewrite !IH by (lia || modlia). unfold once_round in Hi.
        destruct (Z.eqb_spec ((r - (1 + Z.of_nat i) - 1) mod N) c) as [E|E].
        + assert (D : (r - c - 1) mod N = Z.of_nat i + 1) by modlia.
          assert (D' : ((r - 1) mod N - c - 1) mod N = Z.of_nat i) by modlia.
          rewrite D, D'. replace (Z.of_nat i <=? Z.of_nat i) with true by lia.
          replace (Z.of_nat i + 1 <=? Z.of_nat i) with false by lia.
          replace (Z.of_nat i + 1 <=? Z.of_nat i + 1) with true by lia.
          unfold ring_value. rewrite (range_last 1 (Z.of_nat i + 1)), fold_left_app by lia.
          cbn [fold_left]. unfold hop at 2.
          replace ((c + (Z.of_nat i + 1)) mod N) with ((r - 1) mod N) by modlia.
          replace ((c + (Z.of_nat i + 1) + 1) mod N) with r by modlia. reflexivity.
        + assert (D : (r - c - 1) mod N <> Z.of_nat i + 1) by modlia.
          replace ((r - c - 1) mod N <=? Z.of_nat i + 1) with ((r - c - 1) mod N <=? Z.of_nat i)
            by lia. reflexivity.
    Qed.

    Theorem ring_reduce_scatter_result x c : 0 <= c < N ->
      run_by before op scatter (Z.to_nat (N - 1)) x c c = ring_value x c (N - 1).
    Proof.
      intros Hc. rewrite scatter_invariant by (unfold once_round; lia).
      unfold hops_to. replace ((c - c - 1) mod N) with (N - 1) by modlia.
      now rewrite Z2Nat.id, Z.leb_refl by lia.
    Qed.

    (** The loop invariant: after t rounds the t ranks to the right of c have its chunk. *)
    Lemma gather_invariant y i : (i <= once_round)%nat -> forall r c, 0 <= r < N -> 0 <= c < N ->
      (r - c) mod N <= Z.of_nat i -> run_by before op gather i y r c = y c c.
    Proof.
      induction i as [|i IH]; intros Hi r c Hr Hc Hd.
      - cbn [run_by]. f_equal. modlia.
      - cbn [run_by]. rewrite (round_column before op N)
          by (try assumption; apply ring_all_gather_matches; lia).
        rewrite gather_round by lia. cbn [fold_left peer].
        rewrite take_send, (take_one before op _ ((r - Z.of_nat i - 1) mod N)) by reflexivity.
        cbn [receive]. assert (Hi' := Hi). unfold once_round in Hi'.
        destruct (Z.eqb_spec ((r - Z.of_nat i - 1) mod N) c) as [E|E].
        + apply IH; [lia|modlia|assumption|modlia].
        + apply IH; [lia|assumption|assumption|modlia].
    Qed.

    Theorem ring_all_gather_result y r c : 0 <= r < N -> 0 <= c < N ->
      run_by before op gather (Z.to_nat (N - 1)) y r c = y c c.
    Proof. intros Hr Hc. apply gather_invariant; unfold once_round; modlia. Qed.

    (** The same value on every rank. *)
    Theorem ring_all_reduce_result x r c : 0 <= r < N -> 0 <= c < N ->
      run_by before op ring (Z.to_nat (2 * (N - 1))) x r c = ring_value x c (N - 1).
    Proof.
      intros Hr Hc.
      replace (Z.to_nat (2 * (N - 1))) with (Z.to_nat (N - 1) + Z.to_nat (N - 1))%nat by lia.
      change (ring) with (then_ scatter gather). rewrite (run_then N); try assumption.
      - rewrite ring_all_gather_result by assumption. now apply ring_reduce_scatter_result.
      - intros q _. apply ring_reduce_scatter_depth.
      - apply ring_reduce_scatter_matches.
      - apply ring_all_gather_matches.
    Qed.

    (** Where the operator commutes, the left-bracketed fold in ring order, as it stands. *)
    Theorem ring_value_commutative x c : (forall a b, op a b = op b a) ->
      ring_value x c (N - 1) =
      fold_left (fun merged k => op merged (x ((c + k) mod N) c)) (range 2 (N + 1))
                (x ((c + 1) mod N) c).
    Proof.
      intros commutative. unfold ring_value. replace (N - 1 + 1) with N by lia.
      replace (range 2 (N + 1)) with (map (fun k => k + 1) (range 1 N)) by apply range_shift.
      rewrite fold_left_map. apply fold_left_ext. intros k merged _. unfold hop.
      rewrite Z.add_assoc. destruct before; [reflexivity|apply commutative].
    Qed.
  End Results.
End Ring.
