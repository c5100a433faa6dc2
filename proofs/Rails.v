(** Hierarchical all-reduce over rails (refcoll/algorithms/rails.py): schedule, rounds.

        node 0:  0 -- 1         rail of the first half:    0 = = 2 = = 4
        node 1:  2 -- 3         rail of the second half:   1 = = 3 = = 5
        node 2:  4 -- 5

    Ring reduce-scatter within each node; on every piece's rail, a ring all-reduce among its
    owners, all rails together; ring all-gather within each node.  For every shape of nodes:
    equal or not, in any order, each rank once.  It takes 2(m-1) + 2(K-1) rounds for K nodes of
    at most m ranks ([RailsAcross.rails_depth]), and every message has its receive, in the same
    round ([RailsAcross.rails_matches]).  What it computes: RailsResult.v. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Modulo Schedule Columns Combinators Groups Traffic Chunking
  SideBySide Ring Nodes Pieces.
Import ListNotations.
Open Scope Z_scope.

Definition largest (nodes : list (list Z)) : Z := fold_right Z.max 0 (map size_of nodes).

(** The all-reduce of one piece between its owners; nothing for other ranks. *)
Definition rail (nodes : list (list Z)) (inner : Z -> Z -> schedule) (chunks piece rank : Z) :=
  on_chunks (range (piece * chunks) ((piece + 1) * chunks + 1))
            (on_ranks (owners nodes piece) inner rank).

Definition rails_over (rank : Z) (nodes : list (list Z)) (inner : Z -> Z -> schedule)
    (chunks : Z) : schedule :=
  let node := node_of nodes rank in
  let cuts := shares (size_of node) nodes chunks in
  let longest := largest nodes - 1 in
  padded (on_chunks cuts (on_ranks node ring_reduce_scatter rank)) longest
  ++ together (map (fun piece => rail nodes inner chunks piece rank) (range 0 (pieces nodes)))
  ++ padded (on_chunks cuts (on_ranks node ring_all_gather rank)) longest.

Definition rails_all_reduce (rank : Z) (nodes : list (list Z)) : schedule :=
  rails_over rank nodes ring_all_reduce (node_count nodes).

(** Cuts one apart, from [start] to [start + K]. *)
Lemma cut_of_range start K i : 0 <= K ->
  cut (range start (start + K + 1)) i = start + Z.min (Z.max 0 i) K.
Proof.
  intros HK. unfold cut.
  assert (L : last (range start (start + K + 1)) 0 = start + K)
    by (rewrite range_last, last_last by lia; reflexivity).
  rewrite L. destruct (Z.lt_ge_cases i (K + 1)) as [H|H].
  - rewrite <- (map_id (range _ _)), nth_loop by lia. lia.
  - rewrite nth_overflow by (rewrite range_length; lia). lia.
Qed.

Section Rails.
  Variables (N : Z) (nodes : list (list Z)).
  Hypothesis HN : 0 < N.
  Hypothesis valid : valid_nodes N nodes.
  Let K := node_count nodes.

  Definition within_rounds : nat := Z.to_nat (largest nodes - 1).
  Definition across_rounds : nat := Z.to_nat (2 * (K - 1)).
  Definition node_shares (node : list Z) : list Z := shares (size_of node) nodes K.

  Definition scatters : program := per_node nodes ring_reduce_scatter node_shares within_rounds.
  Definition gathers : program := per_node nodes ring_all_gather node_shares within_rounds.
  Definition one_rail (piece : Z) : program := rail nodes ring_all_reduce K piece.
  Definition rail_programs : list program := map one_rail (range 0 (pieces nodes)).
  Definition all_rails : program := fun r => together (map (fun P => P r) rail_programs).
  Definition rails : program := fun r => rails_all_reduce r nodes.
  Definition rails_rounds : nat := (within_rounds + (across_rounds + within_rounds))%nat.

  Lemma node_size_bounds node : In node nodes -> 0 < size_of node <= largest nodes.
  Proof.
    intros Hn. split; [now apply (node_size_positive N nodes)|]. unfold largest.
    revert Hn. generalize nodes as l. induction l as [|n l IH]; [easy|].
    intros [->|H]; cbn [map fold_right]; [lia|]. specialize (IH H). lia.
  Qed.

  Lemma some_nodes : 0 < K.
  Proof.
    destruct (some_node N nodes HN valid) as [node Hn]. unfold K, node_count.
    destruct nodes; [easy|]. cbn [length]. lia.
  Qed.

  Lemma rails_parts r : rails r = then_ scatters (then_ all_rails gathers) r.
  Proof.
    destruct (some_node N nodes HN valid) as [node Hn].
    assert (B := node_size_bounds node Hn).
    unfold rails, rails_all_reduce, rails_over, then_, scatters, gathers, per_node, within.
    replace (Z.of_nat within_rounds) with (largest nodes - 1) by (unfold within_rounds; lia).
    unfold all_rails, rail_programs. rewrite map_map. reflexivity.
  Qed.

  (** ** Shares *)

  Lemma share_cut node j : In node nodes -> 0 <= j <= size_of node ->
    cut (node_shares node) j = place_of nodes (j * (unit nodes / size_of node)) * K.
  Proof.
    intros Hn Hj. unfold cut, node_shares, shares. rewrite nth_loop by lia.
    now rewrite Z2Nat.id, Z.add_0_l by lia.
  Qed.

  Lemma share_cut_beyond node j : In node nodes -> size_of node <= j ->
    cut (node_shares node) j = cut (node_shares node) (size_of node).
  Proof.
    intros Hn Hj. assert (P := proj1 (node_size_bounds node Hn)).
    assert (E : last (node_shares node) 0 = cut (node_shares node) (size_of node)).
    { rewrite share_cut by (assumption || lia). unfold node_shares, shares.
      rewrite range_last, map_app by lia. cbn [map]. now rewrite last_last. }
    destruct (Z.eq_dec j (size_of node)) as [->|Hne]; [reflexivity|]. rewrite <- E.
    unfold cut at 1. apply nth_overflow. unfold node_shares, shares. rewrite loop_length. lia.
  Qed.

  Lemma shares_increase node i : In node nodes ->
    cut (node_shares node) i <= cut (node_shares node) (i + 1).
  Proof.
    intros Hn. assert (P := proj1 (node_size_bounds node Hn)). assert (HK := some_nodes).
    destruct (Z.lt_ge_cases i 0) as [H|H].
    { unfold cut. replace (Z.to_nat (i + 1)) with (Z.to_nat i) by lia. lia. }
    destruct (Z.lt_ge_cases i (size_of node)) as [H'|H'].
    - rewrite !share_cut by (assumption || lia). apply Z.mul_le_mono_nonneg_r; [lia|].
      destruct (share_width N nodes valid node Hn) as [_ W].
      destruct (place_of_cut nodes _ (share_in_cuts nodes node (i + 1) Hn ltac:(lia))) as [B E].
      apply place_order; [apply share_in_cuts; (assumption || lia)|assumption|].
      rewrite E. nia.
    - rewrite (share_cut_beyond node i), (share_cut_beyond node (i + 1)) by (assumption || lia).
      lia.
  Qed.

  (** ** Matches, depth *)

  Lemma ring_parts_enough node : In node nodes ->
    (Z.to_nat (size_of node - 1) <= within_rounds)%nat.
  Proof. intros Hn. assert (B := node_size_bounds node Hn). unfold within_rounds. lia. Qed.

  Lemma scatters_matches : matches N scatters within_rounds.
  Proof.
    apply (per_node_matches N nodes valid) with (rounds := fun m => Z.to_nat (m - 1)).
    - intros m Hm. now apply ring_reduce_scatter_matches.
    - intros m i _ _. apply ring_reduce_scatter_depth.
  Qed.

  Lemma gathers_matches : matches N gathers within_rounds.
  Proof.
    apply (per_node_matches N nodes valid) with (rounds := fun m => Z.to_nat (m - 1)).
    - intros m Hm. now apply ring_all_gather_matches.
    - intros m i _ _. apply ring_all_gather_depth.
  Qed.

  Lemma scatters_length r : 0 <= r < N -> length (scatters r) = within_rounds.
  Proof.
    apply (per_node_length N nodes valid) with (rounds := fun m => Z.to_nat (m - 1)).
    - intros m i _ _. apply ring_reduce_scatter_depth.
    - apply ring_parts_enough.
  Qed.

  Lemma gathers_length r : 0 <= r < N -> length (gathers r) = within_rounds.
  Proof.
    apply (per_node_length N nodes valid) with (rounds := fun m => Z.to_nat (m - 1)).
    - intros m i _ _. apply ring_all_gather_depth.
    - apply ring_parts_enough.
  Qed.
End Rails.
