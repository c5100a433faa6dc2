(** What a hierarchical all-reduce over rails computes.  (The schedule: Rails.v.)

        within each node       x0 + x1        x2 + x3        x4 + x5       ring, on shares
        between nodes          (x2 + x3) + (x4 + x5) + (x0 + x1)           ring, on pieces
        within each node       everyone gets it                            ring, on shares

    For every shape of nodes, any values and any operator: [rails_result]: every rank ends with
    the same value, the ring merge over the nodes of the ring merge within each node.
    [rails_all_reduces]: every rank is in it exactly once. *)
From Coq Require Import ZArith List Bool Permutation Lia.
From Refcoll Require Import Lists Modulo Schedule Columns Collectives Combinators Groups Traffic
  Chunking SideBySide Ring RingOnce Nodes Pieces Rails RailsAcross.
Import ListNotations.
Open Scope Z_scope.

Section RailsResult.
  Variables (N : Z) (nodes : list (list Z)).
  Hypothesis HN : 0 < N.
  Hypothesis valid : valid_nodes N nodes.
  Let K := node_count nodes.
  Let K_positive : 0 < K := some_nodes N nodes HN valid.

  (** Chunk c is chunk [c mod K] of piece [c / K]. *)
  Definition chunk_count : Z := pieces nodes * K.

  Lemma piece_of_chunk c : 0 <= c < chunk_count ->
    0 <= c / K < pieces nodes /\ c / K * K <= c < (c / K + 1) * K.
  Proof.
    intros Hc. unfold chunk_count in Hc. assert (D := Z.div_mod c K ltac:(lia)).
    assert (B := Z.mod_pos_bound c K ltac:(lia)). nia.
  Qed.

  (** The share of a node in which a chunk lies. *)
  Definition chunk_share (node : list Z) (c : Z) : Z := share_of nodes node (c / K).

  Lemma chunk_in_share node c : In node nodes -> 0 <= c < chunk_count ->
    0 <= chunk_share node c < size_of node /\
    cut (node_shares nodes node) (chunk_share node c) <= c
      < cut (node_shares nodes node) (chunk_share node c + 1).
  Proof.
    intros Hn Hc. destruct (piece_of_chunk c Hc) as [Hp B].
    destruct (piece_in_share N nodes valid node (c / K) Hn Hp) as [Hj P].
    unfold chunk_share. split; [exact Hj|].
    rewrite !(share_cut nodes) by (assumption || lia). fold K. nia.
  Qed.

  Lemma chunk_owner k c : 0 <= k < K -> member (owners nodes (c / K)) k =
    member (nth (Z.to_nat k) nodes []) (chunk_share (nth (Z.to_nat k) nodes []) c).
  Proof. intros Hk. now apply owner. Qed.

  Section Values.
    Context {A : Type} (op : A -> A -> A).

    (** Chunk c merged along the ring of a node's ranks, up to the one whose share it is in. *)
    Definition node_value (x : state A) (node : list Z) (c : Z) : A :=
      ring_value (size_of node) (group_before node Z.ltb) op (fun j _ => x (member node j) c)
        (chunk_share node c) (size_of node - 1).

    (** The same merged along the ring of nodes. *)
    Definition rails_value (x : state A) (c : Z) : A :=
      ring_value K (group_before (owners nodes (c / K)) Z.ltb) op
        (fun k _ => node_value x (nth (Z.to_nat k) nodes []) c) (c - c / K * K) (K - 1).

    Lemma scatters_result x node c : In node nodes -> 0 <= c < chunk_count ->
      run op (scatters nodes) (within_rounds nodes) x (member node (chunk_share node c)) c =
      node_value x node c.
    Proof.
      intros Hn Hc. destruct (chunk_in_share node c Hn Hc) as [Hj B].
      unfold scatters. rewrite (per_node_result N nodes valid)
        with (rounds := fun m => Z.to_nat (m - 1)) (i := chunk_share node c); try assumption.
      - apply ring_reduce_scatter_result; lia.
      - intros. now apply (shares_increase N nodes HN valid).
      - intros m Hm. now apply ring_reduce_scatter_matches.
      - intros m i _ _. apply ring_reduce_scatter_depth.
      - now apply (ring_parts_enough N nodes valid).
    Qed.

    Lemma gathers_result y node place c : In node nodes -> 0 <= place < size_of node ->
      0 <= c < chunk_count ->
      run op (gathers nodes) (within_rounds nodes) y (member node place) c =
      y (member node (chunk_share node c)) c.
    Proof.
      intros Hn Hp Hc. destruct (chunk_in_share node c Hn Hc) as [Hj B].
      unfold gathers. rewrite (per_node_result N nodes valid)
        with (rounds := fun m => Z.to_nat (m - 1)) (i := chunk_share node c); try assumption.
      - exact (ring_all_gather_result (size_of node) ltac:(lia) _ op
                 (fun j _ => y (member node j) c) place _ Hp Hj).
      - intros. now apply (shares_increase N nodes HN valid).
      - intros m Hm. now apply ring_all_gather_matches.
      - intros m i _ _. apply ring_all_gather_depth.
      - now apply (ring_parts_enough N nodes valid).
    Qed.

    Lemma across_result x node c : In node nodes -> 0 <= c < chunk_count ->
      run op (all_rails nodes) (across_rounds nodes)
        (run op (scatters nodes) (within_rounds nodes) x) (member node (chunk_share node c)) c =
      rails_value x c.
    Proof.
      intros Hn Hc. destruct (piece_of_chunk c Hc) as [Hp B].
      destruct (node_number nodes node Hn) as (k & Hk & E).
      rewrite <- E, <- chunk_owner by assumption.
      rewrite (all_rails_result N nodes HN valid) by assumption.
      unfold rails_value. apply ring_value_ext; [assumption|]. intros j Hj.
      rewrite chunk_owner by assumption. apply scatters_result; [|assumption].
      now apply (kth_node nodes).
    Qed.

    (** The same value on every rank. *)
    Theorem rails_result x r c : 0 <= r < N -> 0 <= c < chunk_count ->
      run op (rails nodes) (rails_rounds nodes) x r c = rails_value x c.
    Proof.
      intros Hr Hc. assert (M := rails_parts_match N nodes HN valid).
      transitivity (run op (then_ (scatters nodes) (then_ (all_rails nodes) (gathers nodes)))
                      (rails_rounds nodes) x r c).
      { apply (run_congruent Z.ltb op N); auto; [now apply rails_matches|].
        intros q t _ _. unfold round. now rewrite (rails_parts N nodes HN valid). }
      unfold rails_rounds.
      rewrite (run_then N _ _ _ _ (scatters_length N nodes valid) (scatters_matches N nodes valid)
                 (rails_tail_matches N nodes HN valid)) by assumption.
      rewrite (run_then N _ _ _ _ (all_rails_length N nodes HN valid)
                 (all_rails_matches N nodes HN valid) (gathers_matches N nodes valid))
        by assumption.
      destruct (node_of_rank N nodes valid r Hr) as [Hn Hin].
      destruct (index_of r (node_of nodes r)) as [place|] eqn:E; [|now apply index_of_none in E].
      apply index_of_some in E as [Hplace E]. rewrite <- E at 1.
      rewrite gathers_result by assumption. now apply across_result.
    Qed.
  End Values.

  (** ** Everyone exactly once *)

  Lemma node_value_everyone node c : In node nodes -> 0 <= c < chunk_count ->
    Permutation (node_value (@app contribution) own node c) (map (fun q => (q, c)) node).
  Proof.
    intros Hn Hc. unfold node_value. rewrite ring_value_all;
      [|now apply (node_size_positive N nodes valid)|now apply chunk_in_share].
    rewrite <- (all_members node) at 2. rewrite map_map. unfold own.
    induction (ranks (size_of node)) as [|j l IH]; [reflexivity|]. cbn [flat_map map app].
    now constructor.
  Qed.

  Theorem rails_all_reduces : all_reduces N chunk_count (rails nodes) (rails_rounds nodes).
  Proof.
    intros r c Hr Hc. unfold contributions. rewrite rails_result by assumption.
    unfold rails_value. destruct (piece_of_chunk c Hc) as [_ B].
    rewrite ring_value_all by lia.
    apply (over_nodes N nodes valid (fun node => node_value (@app contribution) own node c)).
    intros node Hn. now apply node_value_everyone.
  Qed.
End RailsResult.
