(** What a hierarchical all-reduce by leaders computes.  (The schedule: Leaders.v.)

        up        0: x0 + x1     2: x2 + x3     4: x4 + x5         trees within nodes
        across    (x2 + x3) + (x4 + x5) + (x0 + x1), from chunk to chunk turned round
        down      everyone gets it

    [leaders_result]: for every shape of nodes, any values and any operator, every rank ends
    with the ring merge over the nodes of the tree merge within each.  [leaders_all_reduces]:
    every rank is in it exactly once. *)
From Coq Require Import ZArith List Bool Permutation Lia.
From Refcoll Require Import Lists Modulo Schedule Columns Collectives Combinators Groups Traffic
  Chunking SideBySide Blocks Ring RingOnce Tree TreeResult Nodes Rails RailsResult Leaders.
Import ListNotations.
Open Scope Z_scope.

Section LeadersResult.
  Variables (N : Z) (nodes : list (list Z)).
  Hypothesis HN : 0 < N.
  Hypothesis valid : valid_nodes N nodes.
  Let K := node_count nodes.
  Let K_positive : 0 < K := some_nodes N nodes HN valid.

  Section Values.
    Context {A : Type} (op : A -> A -> A).

    (** Chunk c merged by a node's tree. *)
    Definition leader_value (x : state A) (node : list Z) (c : Z) : A :=
      tree_value (size_of node) (group_before node Z.ltb) op (fun j => x (member node j) c) 0
        (levels (size_of node)).

    (** The same merged along the ring of nodes. *)
    Definition leaders_value (x : state A) (c : Z) : A :=
      ring_value K (group_before (leaders_of nodes) Z.ltb) op
        (fun k _ => leader_value x (nth (Z.to_nat k) nodes []) c) c (K - 1).

    Lemma in_whole c : 0 <= c < K -> cut [0; K] 0 <= c < cut [0; K] (0 + 1).
    Proof.
      intros Hc. unfold K. rewrite !(whole_cut nodes). cbn [Z.leb Z.compare Z.add]. exact Hc.
    Qed.

    Lemma up_result x node c : In node nodes -> 0 <= c < K ->
      run op (up nodes) (up_rounds nodes) x (member node 0) c = leader_value x node c.
    Proof.
      intros Hn Hc. assert (P := node_size_positive N nodes valid node Hn). unfold up.
      rewrite (per_node_result N nodes valid _ _ _ levels
                 (whole_increases N nodes HN valid) reduce_fits reduce_ends
                 (levels_fit N nodes valid))
        with (i := 0) by (assumption || lia || now apply in_whole).
      exact (binomial_reduce_result (size_of node) P _ op (fun j _ => x (member node j) c)).
    Qed.

    Lemma down_result y node place c : In node nodes -> 0 <= place < size_of node -> 0 <= c < K ->
      run op (down nodes) (up_rounds nodes) y (member node place) c = y (member node 0) c.
    Proof.
      intros Hn Hp Hc. assert (P := node_size_positive N nodes valid node Hn). unfold down.
      rewrite (per_node_result N nodes valid _ _ _ levels
                 (whole_increases N nodes HN valid) broadcast_fits broadcast_ends
                 (levels_fit N nodes valid))
        with (i := 0) by (assumption || lia || now apply in_whole).
      exact (binomial_broadcast_result (size_of node) P _ op (fun j _ => y (member node j) c)
               place Hp).
    Qed.

    Lemma leader k : 0 <= k < K ->
      member (leaders_of nodes) k = member (nth (Z.to_nat k) nodes []) 0.
    Proof.
      intros Hk. unfold member at 1, leaders_of. unfold K, node_count in Hk.
      rewrite nth_indep with (d' := member [] 0) by (rewrite map_length; lia).
      now rewrite (map_nth (fun node => member node 0)).
    Qed.

    Lemma ring_of_leaders_result y k c : 0 <= k < K -> 0 <= c < K ->
      run op (across nodes) (ring_rounds nodes) y (member (leaders_of nodes) k) c =
      ring_value K (group_before (leaders_of nodes) Z.ltb) op
        (fun j _ => y (member (leaders_of nodes) j) c) c (K - 1).
    Proof.
      intros Hk Hc.
      assert (Size := leaders_size nodes). fold K in Size.
      assert (Hin : In (member (leaders_of nodes) k) (leaders_of nodes))
        by (apply member_in; now rewrite Size).
      transitivity (run op (on_ranks (leaders_of nodes) ring_all_reduce) (ring_rounds nodes) y
                      (member (leaders_of nodes) k) c).
      { apply (run_congruent Z.ltb op N); auto.
        - apply (across_matches N nodes HN valid).
        - apply (on_leaders_matches N nodes HN valid).
        - intros q t _ _. apply nth_padded.
        - now apply (leaders_exist N nodes valid). }
      assert (M : matches (size_of (leaders_of nodes))
        (fun i => ring_all_reduce i (size_of (leaders_of nodes))) (ring_rounds nodes))
        by (rewrite Size; now apply ring_all_reduce_matches).
      rewrite (on_ranks_result N _ _ _ (leaders_distinct N nodes valid)
                 (leaders_exist N nodes valid) M) by now rewrite Size.
      rewrite Size.
      exact (ring_all_reduce_result K K_positive _ op
               (fun i => y (member (leaders_of nodes) i)) k c Hk Hc).
    Qed.

    (** The same value on every rank. *)
    Theorem leaders_result x r c : 0 <= r < N -> 0 <= c < K ->
      run op (by_leaders nodes) (leaders_rounds nodes) x r c = leaders_value x c.
    Proof.
      intros Hr Hc.
      transitivity (run op (then_ (up nodes) (then_ (across nodes) (down nodes)))
                      (leaders_rounds nodes) x r c).
      { apply (run_congruent Z.ltb op N); auto.
        - now apply leaders_matches.
        - now apply parts_match.
        - intros q t _ _. unfold round. now rewrite (leaders_parts N nodes HN valid). }
      unfold leaders_rounds.
      rewrite (run_then N _ _ _ _ (up_length N nodes valid) (up_matches N nodes valid)
                 (tail_matches N nodes HN valid)) by assumption.
      rewrite (run_then N _ _ _ _ (fun q _ => across_length nodes q)
                 (across_matches N nodes HN valid) (down_matches N nodes valid)) by assumption.
      destruct (node_of_rank N nodes valid r Hr) as [Hn Hin].
      destruct (index_of r (node_of nodes r)) as [place|] eqn:E; [|now apply index_of_none in E].
      apply index_of_some in E as [Hplace E]. rewrite <- E at 1.
      rewrite down_result by assumption.
      destruct (node_number nodes _ Hn) as (k & Hk & Ek). rewrite <- Ek, <- leader by assumption.
      rewrite ring_of_leaders_result by assumption.
      apply ring_value_ext; [assumption|]. intros j Hj. rewrite leader by assumption.
      apply up_result; [|assumption]. apply nth_In. unfold K, node_count in Hj. lia.
    Qed.
  End Values.

  (** ** Everyone exactly once *)

  Lemma leader_value_everyone node c : In node nodes ->
    Permutation (leader_value (@app contribution) own node c) (map (fun q => (q, c)) node).
  Proof.
    intros Hn. unfold leader_value.
    rewrite tree_value_ranks by now apply (node_size_positive N nodes valid).
    rewrite <- (all_members node) at 2. rewrite map_map. unfold own.
    induction (ranks (size_of node)) as [|j l IH]; [reflexivity|]. cbn [flat_map map app].
    now constructor.
  Qed.

  Theorem leaders_all_reduces : all_reduces N K (by_leaders nodes) (leaders_rounds nodes).
  Proof.
    intros r c Hr Hc. unfold contributions. rewrite leaders_result by assumption.
    unfold leaders_value. rewrite ring_value_all by assumption.
    apply (over_nodes N nodes valid (fun node => leader_value (@app contribution) own node c)).
    intros node Hn. now apply leader_value_everyone.
  Qed.
End LeadersResult.
