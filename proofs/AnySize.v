(** Recursive doubling and Rabenseifner's all-reduce for any N >= 1, folded where N is no
    power of two (refcoll/algorithms/recursive.py).

        N      p     recursive doubling            Rabenseifner
        4      4     2 rounds                      4 rounds
        5..7   4     1 + 2 + 1 rounds              1 + 4 + 1 rounds         p = 2^floor(log2 N)
        8      8     3 rounds                      6 rounds

    For every N, any values and any operator: both end with the same balanced tree on every
    rank and in every chunk, folded pairs in its leaves ([..._result]); operands stand in rank
    order, so the operator need not commute ([..._in_rank_order]); log2 p or 2 log2 p rounds,
    two more where folded ([..._depth]); traffic for chunks of any lengths ([..._sent],
    [..._received]). *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Columns Collectives Combinators Groups Traffic Blocks
  Doubling Halving Rabenseifner HalvingChunks Folding FoldedResult FoldedOrder
  FoldedTraffic.
Import ListNotations.
Open Scope Z_scope.

Definition recursive_doubling_all_reduce (rank size : Z) : schedule :=
  folded doubling [0] (Z.log2 size) rank size.

Definition rabenseifner_all_reduce (rank size : Z) : schedule :=
  folded halving_doubling (range 0 (power_below size)) (2 * Z.log2 size) rank size.

Section AnySize.
  Variable N : Z.
  Hypothesis HN : 0 < N.
  Let p := power_below N.

  (** floor(log2 N), and the rounds of a folded algorithm. *)
  Definition log2_below : nat := Z.to_nat (Z.log2 N).
  Definition rounds_with_folding (rounds : nat) : nat :=
    if p <? N then (rounds + 2)%nat else rounds.

  Lemma p_is : power_below N = 2 ^ Z.of_nat log2_below.
  Proof. now destruct (power_between N HN) as (E & _). Qed.

  Lemma log2_is : Z.log2 N = Z.of_nat log2_below.
  Proof. unfold log2_below. rewrite Z2Nat.id; [reflexivity|apply Z.log2_nonneg]. Qed.

  Lemma rounds_are R : folded_rounds N R = rounds_with_folding R.
  Proof.
    unfold folded_rounds, rounds_with_folding. fold p.
    destruct (power_between N HN) as (_ & _ & H). fold p in H.
    destruct (Z.eqb_spec (N - p) 0), (Z.ltb_spec p N); lia.
  Qed.

  (** The balanced tree over the survivors, chunk c. *)
  Definition folded_value {A} (op : A -> A -> A) (x : state A) (c : Z) : A :=
    block_value op (leaf N op x c) 0 log2_below.

  Lemma folded_value_everyone c : folded_value (@app contribution) own c = everyone N c.
  Proof.
    unfold folded_value. rewrite block_value_lists, Z.add_0_l, <- p_is.
    now apply leaves_everyone.
  Qed.

  (** ** Recursive doubling *)

  Definition recursive_doubling : program := fun r => recursive_doubling_all_reduce r N.
  Definition recursive_doubling_rounds : nat := rounds_with_folding log2_below.

  Lemma recursive_doubling_is :
    recursive_doubling = folded_program N doubling [0] log2_below.
  Proof.
    unfold recursive_doubling, recursive_doubling_all_reduce, folded_program. now rewrite log2_is.
  Qed.

  Lemma doubling_core_length i : 0 <= i < p -> length (doubling i p) = log2_below.
  Proof. intros _. unfold p. rewrite p_is. apply (doubling_depth log2_below i). Qed.

  Lemma doubling_core_matches : matches p (fun i => doubling i p) log2_below.
  Proof. unfold p. rewrite p_is. apply doubling_matches. Qed.

  Theorem recursive_doubling_depth r : 0 <= r < N ->
    length (recursive_doubling r) = recursive_doubling_rounds.
  Proof.
    intros Hr. rewrite recursive_doubling_is, folded_depth; try assumption.
    - now apply rounds_are.
    - apply doubling_core_length.
  Qed.

  Theorem recursive_doubling_matches : matches N recursive_doubling recursive_doubling_rounds.
  Proof.
    rewrite recursive_doubling_is. unfold recursive_doubling_rounds.
    rewrite <- rounds_are by assumption.
    apply folded_matches; [assumption|apply doubling_core_length|apply doubling_core_matches].
  Qed.

  Theorem recursive_doubling_result {A} (op : A -> A -> A) x r : 0 <= r < N ->
    run op recursive_doubling recursive_doubling_rounds x r 0 = folded_value op x 0.
  Proof.
    intros Hr. rewrite recursive_doubling_is. unfold recursive_doubling_rounds.
    rewrite <- rounds_are by assumption. apply folded_result; try assumption.
    - repeat constructor. easy.
    - apply doubling_core_length.
    - apply doubling_core_matches.
    - intros B before op' y i c Ho Hi [<-|[]]. unfold p in *.
      rewrite p_is in *. now apply doubling_result.
    - now left.
  Qed.

  Theorem recursive_doubling_in_rank_order :
    all_reduces_in_rank_order N 1 recursive_doubling recursive_doubling_rounds.
  Proof.
    intros r c Hr Hc. replace c with 0 by lia. unfold contributions.
    rewrite recursive_doubling_result by assumption. apply folded_value_everyone.
  Qed.

  (** ** Rabenseifner: halving, then doubling *)

  Definition rabenseifner : program := fun r => rabenseifner_all_reduce r N.
  Definition rabenseifner_rounds : nat := rounds_with_folding (log2_below + log2_below).

  Lemma rabenseifner_is :
    rabenseifner = folded_program N halving_doubling (ranks p) (log2_below + log2_below).
  Proof.
    unfold rabenseifner, rabenseifner_all_reduce, folded_program. rewrite log2_is.
    now replace (2 * Z.of_nat log2_below) with (Z.of_nat (log2_below + log2_below)) by lia.
  Qed.

  Lemma halving_core_length i : 0 <= i < p ->
    length (halving_doubling i p) = (log2_below + log2_below)%nat.
  Proof. intros _. unfold p. rewrite p_is. apply (halving_doubling_depth log2_below i). Qed.

  Lemma halving_core_matches :
    matches p (fun i => halving_doubling i p) (log2_below + log2_below).
  Proof. unfold p. rewrite p_is. apply halving_doubling_matches. Qed.

  Theorem rabenseifner_depth r : 0 <= r < N -> length (rabenseifner r) = rabenseifner_rounds.
  Proof.
    intros Hr. rewrite rabenseifner_is, folded_depth; try assumption.
    - now apply rounds_are.
    - apply halving_core_length.
  Qed.

  Theorem rabenseifner_matches : matches N rabenseifner rabenseifner_rounds.
  Proof.
    rewrite rabenseifner_is. unfold rabenseifner_rounds. rewrite <- rounds_are by assumption.
    apply folded_matches; [assumption|apply halving_core_length|apply halving_core_matches].
  Qed.

  Theorem rabenseifner_result {A} (op : A -> A -> A) x r c : 0 <= r < N -> 0 <= c < p ->
    run op rabenseifner rabenseifner_rounds x r c = folded_value op x c.
  Proof.
    intros Hr Hc. rewrite rabenseifner_is. unfold rabenseifner_rounds.
    rewrite <- rounds_are by assumption. apply folded_result; try assumption.
    - apply range_NoDup.
    - apply halving_core_length.
    - apply halving_core_matches.
    - intros B before op' y i d Ho Hi Hd. apply in_ranks in Hd. unfold p in *.
      rewrite p_is in *. now apply halving_doubling_result.
    - now apply in_ranks.
  Qed.

  Theorem rabenseifner_in_rank_order :
    all_reduces_in_rank_order N p rabenseifner rabenseifner_rounds.
  Proof.
    intros r c Hr Hc. unfold contributions.
    rewrite rabenseifner_result by assumption. apply folded_value_everyone.
  Qed.

  (** ** Traffic *)

  Section Costs.
    Variables (len : Z -> Z) (r : Z).
    Hypothesis Hr : 0 <= r < N.

    (** A survivor: log2 p vectors each way; in a folded pair: one more. *)
    Theorem recursive_doubling_sent : sent len recursive_doubling r =
      with_folding N [0] len (fun _ => Z.of_nat log2_below * len 0) r.
    Proof.
      rewrite recursive_doubling_is, folded_sent by
        (assumption || apply doubling_core_length || apply doubling_core_matches).
      apply with_folding_ext; try assumption. intros i Hi. unfold p in Hi. rewrite p_is in *.
      now apply doubling_sent.
    Qed.

    Theorem recursive_doubling_received : received len recursive_doubling r =
      with_folding N [0] len (fun _ => Z.of_nat log2_below * len 0) r.
    Proof.
      rewrite recursive_doubling_is, folded_received by
        (assumption || apply doubling_core_length || apply doubling_core_matches).
      apply with_folding_ext; try assumption. intros i Hi. unfold p in Hi. rewrite p_is in *.
      now apply doubling_received.
    Qed.

    (** A survivor: all but its final chunk one way, the nested blocks around it the other. *)
    Definition halving_traffic (place : Z) : Z :=
      let mine := final_chunk log2_below place in
      total len p - len mine +
      zsum (map (fun i => let low := block_start mine (Z.of_nat i) in
                          volume len (range low (low + 2 ^ Z.of_nat i))) (seq 0 log2_below)).

    Theorem rabenseifner_sent : sent len rabenseifner r =
      with_folding N (ranks p) len halving_traffic r.
    Proof.
      rewrite rabenseifner_is, folded_sent by
        (assumption || apply halving_core_length || apply halving_core_matches).
      apply with_folding_ext; try assumption. intros i Hi. unfold halving_traffic.
      rewrite <- halving_blocks_nested by lia. unfold p in *. rewrite p_is in *.
      now apply halving_doubling_sent.
    Qed.

    Theorem rabenseifner_received : received len rabenseifner r =
      with_folding N (ranks p) len halving_traffic r.
    Proof.
      rewrite rabenseifner_is, folded_received by
        (assumption || apply halving_core_length || apply halving_core_matches).
      apply with_folding_ext; try assumption. intros i Hi. unfold halving_traffic.
      rewrite <- halving_blocks_nested by lia. unfold p in *. rewrite p_is in *.
      now apply halving_doubling_received.
    Qed.
  End Costs.
End AnySize.
