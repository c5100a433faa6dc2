(** How many steps a rank takes in a hierarchical all-reduce.

        rails       2(m-1) in its node of m, and 2(K-1) between K nodes, all rails at once
        leaders     twice its links in its node's tree; a leader 2(K-1) more

    [rails_steps], [leaders_steps], for every shape of nodes. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Columns Combinators Groups Traffic Chunking SideBySide
  Steps Ring RingTraffic Tree TreeTraffic StepsTaken Nodes NodesTraffic Pieces Rails RailsAcross
  RailsPeers RailsCosts Leaders LeadersTraffic.
Import ListNotations.
Open Scope Z_scope.

Section HierarchicalSteps.
  Variables (N : Z) (nodes : list (list Z)).
  Hypothesis HN : 0 < N.
  Hypothesis valid : valid_nodes N nodes.
  Let K := node_count nodes.
  Let K_positive : 0 < K := some_nodes N nodes HN valid.

  (** The rank at [place] of a node of [m], which is number [k]. *)
  Variables (node : list Z) (place k : Z).
  Hypothesis is_node : 0 <= k < K /\ nth (Z.to_nat k) nodes [] = node.
  Hypothesis Hplace : 0 <= place < size_of node.
  Let r := member node place.
  Let m := size_of node.

  Lemma per_node_steps core cuts_for n rounds : matches m (fun i => core i m) rounds ->
    (forall i, 0 <= i < m -> length (core i m) = rounds) ->
    busy_steps r (per_node nodes core cuts_for n r) = busy_steps place (core place m).
  Proof.
    intros M L. unfold per_node, r. rewrite padded_steps.
    rewrite (proj1 (rank_in_node N nodes valid node place k is_node Hplace)).
    unfold within. rewrite on_chunks_steps. apply (on_ranks_steps node core rounds);
      [|exact M| |assumption].
    - apply (node_distinct N nodes valid), (node_in nodes node k is_node).
    - intros i Hi. now rewrite L.
  Qed.

  (** ** Rails *)

  Lemma r_exists : 0 <= r < N.
  Proof.
    apply (node_ranks_exist N nodes valid node); [apply (node_in nodes node k is_node)|].
    now apply member_in.
  Qed.

  Lemma one_rail_steps piece : 0 <= piece < pieces nodes -> In r (owners nodes piece) ->
    busy_steps r (one_rail nodes piece r) = across_rounds nodes.
  Proof.
    intros Hp Ho. destruct (owners_core N nodes HN valid piece) as [M En].
    unfold one_rail, rail. rewrite on_chunks_steps. unfold r.
    rewrite <- (place_on_rail N nodes valid node place k is_node Hplace piece Hp Ho).
    rewrite (on_ranks_steps _ _ (across_rounds nodes)); try assumption.
    - rewrite owners_size. exact (ring_all_reduce_steps K K_positive k (proj1 is_node)).
    - now apply (owners_distinct N nodes valid).
    - rewrite owners_size. apply is_node.
  Qed.

  Theorem rails_steps : steps (rails nodes) r = Z.to_nat (2 * (m - 1) + 2 * (K - 1)).
  Proof.
    unfold steps. rewrite (rails_parts N nodes HN valid). unfold then_.
    rewrite !busy_steps_app. unfold scatters, gathers.
    assert (Hm : 0 < m) by (unfold m; lia).
    rewrite (per_node_steps _ _ _ (Z.to_nat (m - 1))
               (ring_reduce_scatter_matches m Hm) (fun i _ => ring_reduce_scatter_depth m i)).
    rewrite (per_node_steps _ _ _ (Z.to_nat (m - 1))
               (ring_all_gather_matches m Hm) (fun i _ => ring_all_gather_depth m i)).
    change (busy_steps place (ring_reduce_scatter place m)) with (steps (scatter m) place).
    change (busy_steps place (ring_all_gather place m)) with (steps (gather m) place).
    rewrite ring_reduce_scatter_steps, ring_all_gather_steps by assumption.
    enough (E : busy_steps r (all_rails nodes r) = across_rounds nodes)
      by (rewrite E; unfold across_rounds; fold K; lia).
    assert (L := all_rails_length N nodes HN valid r r_exists).
    destruct (owns_some_piece N nodes HN valid r r_exists) as (piece & Hp & Ho).
    assert (B := one_rail_steps piece Hp Ho).
    assert (L' := proj2 (one_rail_length nodes piece r) Ho).
    unfold all_rails in *. rewrite (together_steps r _ (one_rail nodes piece r)); try congruence.
    apply in_map_iff. exists (one_rail nodes piece). split; [reflexivity|].
    apply in_map_iff. exists piece. split; [reflexivity|now apply in_range].
  Qed.

  (** ** Leaders *)

  Theorem leaders_steps : Z.of_nat (steps (by_leaders nodes) r) =
    2 * links m place + if place =? 0 then 2 * (K - 1) else 0.
  Proof.
    unfold steps. rewrite (leaders_parts N nodes HN valid). unfold then_.
    rewrite !busy_steps_app. unfold up, down, across.
    assert (Hm : 0 < m) by (unfold m; lia).
    rewrite (per_node_steps _ _ _ (levels m) (binomial_reduce_matches m)
               (fun i _ => binomial_reduce_depth m i)).
    rewrite (per_node_steps _ _ _ (levels m) (binomial_broadcast_matches m)
               (fun i _ => binomial_broadcast_depth m i)).
    assert (U := binomial_reduce_steps m place Hm Hplace).
    assert (D := binomial_broadcast_steps m place Hm Hplace).
    unfold steps, reduce, broadcast in U, D. rewrite padded_steps.
    assert (O := on_leaders N nodes valid node place k is_node Hplace). fold r in O. rewrite O.
    destruct (Z.eqb_spec place 0) as [E|E]; [|unfold busy_steps at 2; cbn [filter length]; lia].
    destruct (leaders_ring_fits N nodes HN valid) as [M En].
    assert (LP := leader_place nodes node place k is_node E). fold r in LP. rewrite <- LP.
    assert (Size := leaders_size nodes). fold K in Size.
    rewrite (on_ranks_steps _ _ (ring_rounds nodes)); try assumption.
    - rewrite Size. change (ring_all_reduce k K) with (ring K k).
      assert (R := ring_all_reduce_steps K K_positive k (proj1 is_node)).
      unfold steps in R. rewrite R. lia.
    - apply (leaders_distinct N nodes valid).
    - rewrite Size. apply is_node.
  Qed.
End HierarchicalSteps.
