(** Hierarchical all-reduce by leaders (refcoll/algorithms/leaders.py).

        node 0:  0 <- 1          up: binomial reduce to the first rank of each node
        node 1:  2 <- 3          across: 0 -> 2 -> 4 -> 0, ring all-reduce of the K leaders
        node 2:  4 <- 5          down: binomial broadcast

    For every shape of nodes: 2 ceil(log2 m) + 2(K-1) rounds for K nodes of at most m ranks
    ([leaders_depth]), and every message has its receive, in the same round
    ([leaders_matches]).  What it computes: LeadersResult.v. *)
From Coq Require Import ZArith List Bool Permutation Lia.
From Refcoll Require Import Lists Modulo Schedule Columns Collectives Combinators Groups Traffic
  Chunking SideBySide Blocks Ring RingOnce Tree TreeResult Nodes Rails.
Import ListNotations.
Open Scope Z_scope.

Definition leaders_of (nodes : list (list Z)) : list Z := map (fun node => member node 0) nodes.

Definition leaders_all_reduce (rank : Z) (nodes : list (list Z)) : schedule :=
  let node := node_of nodes rank in
  let leaders := leaders_of nodes in
  let whole := [0; size_of leaders] in
  let rounds := Z.log2_up (largest nodes) in
  padded (on_chunks whole (on_ranks node binomial_reduce rank)) rounds
  ++ padded (on_ranks leaders ring_all_reduce rank) (2 * (size_of leaders - 1))
  ++ padded (on_chunks whole (on_ranks node binomial_broadcast rank)) rounds.

Section Leaders.
  Variables (N : Z) (nodes : list (list Z)).
  Hypothesis HN : 0 < N.
  Hypothesis valid : valid_nodes N nodes.
  Let K := node_count nodes.
  Let K_positive : 0 < K := some_nodes N nodes HN valid.
  Let whole (node : list Z) : list Z := [0; K].

  Definition up_rounds : nat := Z.to_nat (Z.log2_up (largest nodes)).
  Definition ring_rounds : nat := Z.to_nat (2 * (K - 1)).
  Definition up : program := per_node nodes binomial_reduce whole up_rounds.
  Definition across : program := fun r =>
    padded (on_ranks (leaders_of nodes) ring_all_reduce r) (Z.of_nat ring_rounds).
  Definition down : program := per_node nodes binomial_broadcast whole up_rounds.
  Definition by_leaders : program := fun r => leaders_all_reduce r nodes.
  Definition leaders_rounds : nat := (up_rounds + (ring_rounds + up_rounds))%nat.

  Lemma leaders_size : size_of (leaders_of nodes) = K.
  Proof. unfold size_of, leaders_of. now rewrite map_length. Qed.

  Lemma leaders_parts r : by_leaders r = then_ up (then_ across down) r.
  Proof.
    unfold by_leaders, leaders_all_reduce, then_, up, across, down, per_node, within, whole.
    rewrite leaders_size.
    replace (Z.of_nat up_rounds) with (Z.log2_up (largest nodes))
      by (unfold up_rounds; rewrite Z2Nat.id; [reflexivity|apply Z.log2_up_nonneg]).
    now replace (Z.of_nat ring_rounds) with (2 * (K - 1)) by (unfold ring_rounds; lia).
  Qed.

  (** ** The parts fit *)

  Lemma whole_cut i : cut [0; K] i = if i <=? 0 then 0 else K.
  Proof.
    unfold cut. destruct (Z.leb_spec i 0) as [H|H].
    - now replace (Z.to_nat i) with O by lia.
    - destruct (Z.to_nat i) as [|[|j]] eqn:E; [lia|reflexivity|]. now destruct j.
  Qed.

  Lemma whole_increases (node : list Z) i : In node nodes ->
    cut (whole node) i <= cut (whole node) (i + 1).
  Proof.
    intros _. unfold whole. rewrite !whole_cut.
    destruct (Z.leb_spec i 0), (Z.leb_spec (i + 1) 0); lia.
  Qed.

  Lemma levels_fit node : In node nodes -> (levels (size_of node) <= up_rounds)%nat.
  Proof.
    intros Hn. assert (B := node_size_bounds N nodes valid node Hn). unfold levels, up_rounds.
    apply Z2Nat.inj_le; try apply Z.log2_up_nonneg. now apply Z.log2_up_le_mono.
  Qed.

  Lemma reduce_fits m : 0 < m -> matches m (fun i => binomial_reduce i m) (levels m).
  Proof. intros Hm. now apply binomial_reduce_matches. Qed.

  Lemma broadcast_fits m : 0 < m -> matches m (fun i => binomial_broadcast i m) (levels m).
  Proof. intros Hm. now apply binomial_broadcast_matches. Qed.

  Lemma reduce_ends m i : 0 < m -> 0 <= i < m -> length (binomial_reduce i m) = levels m.
  Proof. intros _ _. apply binomial_reduce_depth. Qed.

  Lemma broadcast_ends m i : 0 < m -> 0 <= i < m -> length (binomial_broadcast i m) = levels m.
  Proof. intros _ _. apply binomial_broadcast_depth. Qed.

  Lemma up_matches : matches N up up_rounds.
  Proof. exact (per_node_matches N nodes valid _ _ _ levels reduce_fits reduce_ends). Qed.

  Lemma down_matches : matches N down up_rounds.
  Proof. exact (per_node_matches N nodes valid _ _ _ levels broadcast_fits broadcast_ends). Qed.

  Lemma up_length r : 0 <= r < N -> length (up r) = up_rounds.
  Proof. exact (per_node_length N nodes valid _ _ _ levels reduce_ends levels_fit r). Qed.

  Lemma down_length r : 0 <= r < N -> length (down r) = up_rounds.
  Proof. exact (per_node_length N nodes valid _ _ _ levels broadcast_ends levels_fit r). Qed.

  (** ** The ring of leaders *)

  Lemma leader_in node : In node nodes -> In (member node 0) node.
  Proof.
    intros Hn. apply member_in. assert (H := node_size_positive N nodes valid node Hn). lia.
  Qed.

  Lemma leaders_exist r : In r (leaders_of nodes) -> 0 <= r < N.
  Proof.
    intros H. apply in_map_iff in H as (node & <- & Hn).
    apply (node_ranks_exist N nodes valid node); [assumption|now apply leader_in].
  Qed.

  Lemma leaders_distinct : NoDup (leaders_of nodes).
  Proof.
    unfold leaders_of.
    assert (D := nodes_distinct N nodes valid). assert (I := incl_refl nodes). revert D I.
    generalize nodes at 1 2 4 as l. induction l as [|node l IH]; intros D I; [constructor|].
    inversion D as [|? ? Hni D']; subst. cbn [map]. constructor.
    - intros H. apply in_map_iff in H as (other & E & Ho).
      assert (other = node) as ->; [|contradiction].
      apply (node_unique N nodes valid _ _ (member other 0)).
      + apply I. now right.
      + apply I. now left.
      + apply leader_in, I. now right.
      + rewrite E. apply leader_in, I. now left.
    - apply IH; [assumption|]. intros x Hx. apply I. now right.
  Qed.

  Lemma on_leaders_matches : matches N (on_ranks (leaders_of nodes) ring_all_reduce) ring_rounds.
  Proof.
    apply on_ranks_matches; [apply leaders_distinct|apply leaders_exist|].
    rewrite leaders_size. now apply ring_all_reduce_matches.
  Qed.

  Lemma on_leaders_length r :
    (length (on_ranks (leaders_of nodes) ring_all_reduce r) <= ring_rounds)%nat.
  Proof.
    unfold on_ranks. destruct (index_of r (leaders_of nodes)) as [i|]; [|cbn; lia].
    rewrite map_length, leaders_size. change (ring_all_reduce i K) with (ring K i).
    now rewrite ring_all_reduce_depth.
  Qed.

  Lemma across_matches : matches N across ring_rounds.
  Proof.
    apply (matches_congruent N (on_ranks (leaders_of nodes) ring_all_reduce));
      [|apply on_leaders_matches].
    intros r t _ _. symmetry. apply nth_padded.
  Qed.

  Lemma across_length r : length (across r) = ring_rounds.
  Proof.
    assert (H := on_leaders_length r).
    assert (L := padded_length (on_ranks (leaders_of nodes) ring_all_reduce r)
                   (Z.of_nat ring_rounds) ltac:(lia)). unfold across. lia.
  Qed.

  Lemma tail_matches : matches N (then_ across down) (ring_rounds + up_rounds).
  Proof.
    apply matches_then; [intros; apply across_length|apply across_matches|apply down_matches].
  Qed.

  Lemma parts_match : matches N (then_ up (then_ across down)) leaders_rounds.
  Proof. apply matches_then; [apply up_length|apply up_matches|apply tail_matches]. Qed.

  Theorem leaders_matches : matches N by_leaders leaders_rounds.
  Proof.
    apply (matches_congruent N (then_ up (then_ across down))); [|apply parts_match].
    intros r t _ _. unfold round. now rewrite leaders_parts.
  Qed.

  Theorem leaders_depth r : 0 <= r < N ->
    length (by_leaders r) = Z.to_nat (2 * Z.log2_up (largest nodes) + 2 * (K - 1)).
  Proof.
    intros Hr. rewrite leaders_parts. unfold then_.
    rewrite !app_length, up_length, across_length, down_length by assumption.
    assert (H := Z.log2_up_nonneg (largest nodes)). unfold up_rounds, ring_rounds. lia.
  Qed.
End Leaders.
