(** What a hierarchical all-reduce by leaders costs, within nodes and between them.

        within its node     S for each link in the node's tree, up and down again
        between nodes       a leader: 2S - |chunk k| - |chunk k+1|; others: nothing

    Elements sent and received, for chunks of any lengths: [leaders_sent_within],
    [leaders_received_within], [leaders_sent_between], [leaders_received_between]. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Columns Combinators Groups Traffic Chunking SideBySide
  Ring RingTraffic Tree TreeTraffic Nodes NodesTraffic Rails Leaders.
Import ListNotations.
Open Scope Z_scope.

Section LeadersTraffic.
  Variables (N : Z) (nodes : list (list Z)) (len : Z -> Z).
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
  Let near := NodesTraffic.near node place.
  Let far := NodesTraffic.far node.
  Local Notation S := (total len K).

  (** The trees move the whole vector as one chunk. *)
  Lemma whole_vector : block_length len [0; K] 0 = S.
  Proof.
    unfold block_length, K. rewrite !(whole_cut nodes). cbn [Z.leb Z.compare Z.add]. reflexivity.
  Qed.

  Lemma leaders_one_each j : 0 <= j < K ->
    In (member (leaders_of nodes) j) (nth (Z.to_nat j) nodes []).
  Proof.
    intros Hj. assert (E : member (leaders_of nodes) j = member (nth (Z.to_nat j) nodes []) 0).
    { unfold member at 1, leaders_of. unfold K, node_count in Hj.
      rewrite nth_indep with (d' := member [] 0) by (rewrite map_length; lia).
      now rewrite (map_nth (fun each => member each 0)). }
    rewrite E. apply (leader_in N nodes valid). now apply kth_node.
  Qed.

  (** The ring's part of r: nothing, unless it leads its node. *)
  Lemma on_leaders : on_ranks (leaders_of nodes) ring_all_reduce r =
    if place =? 0 then on_ranks (leaders_of nodes) ring_all_reduce (member (leaders_of nodes) k)
    else [].
  Proof.
    assert (Lk : member (leaders_of nodes) k = member node 0).
    { unfold member at 1, leaders_of. destruct is_node as [Hk E]. unfold K, node_count in Hk.
      rewrite nth_indep with (d' := member [] 0) by (rewrite map_length; lia).
      rewrite (map_nth (fun each => member each 0)). now rewrite E. }
    destruct (Z.eqb_spec place 0) as [E|Hne]; [unfold r; now rewrite Lk, E|].
    assert (Out : ~ In r (leaders_of nodes)).
    { intros H. apply in_map_iff in H as (other & E & Ho).
      assert (Hn := node_in nodes node k is_node).
      assert (other = node) as ->.
      { apply (node_unique N nodes valid _ _ r); [assumption|assumption| |now apply member_in].
        rewrite <- E. now apply (leader_in N nodes valid). }
      apply member_injective in E; [lia|now apply (node_distinct N nodes valid)|lia|assumption]. }
    unfold on_ranks. apply index_of_none in Out. now rewrite Out.
  Qed.

  Lemma leaders_ring_fits :
    let count := size_of (leaders_of nodes) in let core i := ring_all_reduce i count in
    matches count core (ring_rounds nodes) /\ ends_after count core (ring_rounds nodes).
  Proof.
    cbn zeta. rewrite (leaders_size nodes). fold K. split; [now apply ring_all_reduce_matches|].
    intros i Hi. change (ring_all_reduce i K) with (ring K i).
    rewrite ring_all_reduce_depth. reflexivity.
  Qed.

  Lemma across_sent f g :
    (forall j, 0 <= j < K -> place = 0 -> f (member (leaders_of nodes) j) = g j) ->
    sent_where len f (across nodes r) =
    if place =? 0 then sent_where len g (ring_all_reduce k K) else 0.
  Proof.
    intros E. unfold across. rewrite padded_sent, on_leaders.
    destruct (Z.eqb_spec place 0) as [H|H]; [|reflexivity]. destruct leaders_ring_fits as [M En].
    assert (C := on_ranks_sent_where _ _ _ (leaders_distinct N nodes valid) M len f k En).
    rewrite (leaders_size nodes) in C. apply C; [apply is_node|]. intros j Hj. now apply E.
  Qed.

  Lemma across_received f g :
    (forall j, 0 <= j < K -> place = 0 -> f (member (leaders_of nodes) j) = g j) ->
    received_where len f (across nodes r) =
    if place =? 0 then received_where len g (ring_all_reduce k K) else 0.
  Proof.
    intros E. unfold across. rewrite padded_received, on_leaders.
    destruct (Z.eqb_spec place 0) as [H|H]; [|reflexivity]. destruct leaders_ring_fits as [M En].
    assert (C := on_ranks_received_where _ _ _ (leaders_distinct N nodes valid) M len f k En).
    rewrite (leaders_size nodes) in C. apply C; [apply is_node|]. intros j Hj. now apply E.
  Qed.

  Lemma leader_place : place = 0 -> member (leaders_of nodes) k = r.
  Proof.
    intros E. unfold r. rewrite E. unfold member at 1, leaders_of.
    destruct is_node as [Hk En]. unfold K, node_count in Hk.
    rewrite nth_indep with (d' := member [] 0) by (rewrite map_length; lia).
    rewrite (map_nth (fun each => member each 0)). now rewrite En.
  Qed.

  (** Up, across and down, counted over any peers. *)
  Lemma leaders_sent_where f g h : (forall i, 0 <= i < m -> f (member node i) = g i) ->
    (forall j, 0 <= j < K -> place = 0 -> f (member (leaders_of nodes) j) = h j) ->
    sent_where len f (by_leaders nodes r) =
    sent_where (block_length len [0; K]) g (binomial_reduce place m)
    + sent_where (block_length len [0; K]) g (binomial_broadcast place m)
    + if place =? 0 then sent_where len h (ring_all_reduce k K) else 0.
  Proof.
    intros Hg Hh. rewrite (leaders_parts N nodes HN valid). unfold then_. rewrite !sent_where_app.
    rewrite (across_sent f h Hh). unfold up, down.
    rewrite !(per_node_sent_where N nodes valid node place k is_node Hplace) with
      (rounds := levels m) (g := g); try assumption;
      try (intros; apply binomial_reduce_depth); try (intros; apply binomial_broadcast_depth);
      [fold K m; lia|apply binomial_broadcast_matches|apply binomial_reduce_matches]; unfold m; lia.
  Qed.

  Lemma leaders_received_where f g h : (forall i, 0 <= i < m -> f (member node i) = g i) ->
    (forall j, 0 <= j < K -> place = 0 -> f (member (leaders_of nodes) j) = h j) ->
    received_where len f (by_leaders nodes r) =
    received_where (block_length len [0; K]) g (binomial_reduce place m)
    + received_where (block_length len [0; K]) g (binomial_broadcast place m)
    + if place =? 0 then received_where len h (ring_all_reduce k K) else 0.
  Proof.
    intros Hg Hh. rewrite (leaders_parts N nodes HN valid). unfold then_.
    rewrite !received_where_app.
    rewrite (across_received f h Hh). unfold up, down.
    rewrite !(per_node_received_where N nodes valid node place k is_node Hplace) with
      (rounds := levels m) (g := g); try assumption;
      try (intros; apply binomial_reduce_depth); try (intros; apply binomial_broadcast_depth);
      [fold K m; lia|apply binomial_broadcast_matches|apply binomial_reduce_matches]; unfold m; lia.
  Qed.

  Lemma near_leaders j : 0 <= j < K -> place = 0 -> near (member (leaders_of nodes) j) = false.
  Proof.
    intros Hj E. apply (one_of_each_not_near N nodes valid node place k is_node);
      [apply leaders_one_each|assumption|now apply leader_place].
  Qed.

  Lemma far_leaders j : 0 <= j < K -> place = 0 -> far (member (leaders_of nodes) j) = others k j.
  Proof.
    intros Hj _. apply (one_of_each_far N nodes valid node place k is_node);
      [apply leaders_one_each|assumption].
  Qed.

  Lemma zero_either_way (b : bool) : (if b then 0 else 0) = 0.
  Proof. now destruct b. Qed.

  (** ** Within the node: S for each link, up and down *)

  Theorem leaders_sent_within : sent_where len near (by_leaders nodes r) = links m place * S.
  Proof.
    rewrite (leaders_sent_where near (others place) (fun _ => false));
      [|apply (mates_are_near N nodes valid node place k is_node Hplace)|apply near_leaders].
    rewrite sent_nowhere, zero_either_way, Z.add_0_r, <- whole_vector.
    rewrite <- (binomial_all_reduce_sent m (block_length len [0; K]) place) by (unfold m; lia).
    unfold sent, tree, binomial_all_reduce. now rewrite sent_where_app.
  Qed.

  Theorem leaders_received_within :
    received_where len near (by_leaders nodes r) = links m place * S.
  Proof.
    rewrite (leaders_received_where near (others place) (fun _ => false));
      [|apply (mates_are_near N nodes valid node place k is_node Hplace)|apply near_leaders].
    rewrite received_nowhere, zero_either_way, Z.add_0_r, <- whole_vector.
    rewrite <- (binomial_all_reduce_received m (block_length len [0; K]) place) by (unfold m; lia).
    unfold received, tree, binomial_all_reduce. now rewrite received_where_app.
  Qed.

  (** ** Between nodes: a ring of the leaders *)

  Theorem leaders_sent_between : sent_where len far (by_leaders nodes r) =
    if place =? 0 then 2 * S - len k - len ((k + 1) mod K) else 0.
  Proof.
    rewrite (leaders_sent_where far (fun _ => false) (others k));
      [|apply mates_are_not_far|apply far_leaders].
    rewrite !sent_nowhere, !Z.add_0_l. destruct (place =? 0); [|reflexivity].
    apply (ring_all_reduce_sent len K K_positive k), is_node.
  Qed.

  Theorem leaders_received_between : received_where len far (by_leaders nodes r) =
    if place =? 0 then 2 * S - len ((k - 1) mod K) - len k else 0.
  Proof.
    rewrite (leaders_received_where far (fun _ => false) (others k));
      [|apply mates_are_not_far|apply far_leaders].
    rewrite !received_nowhere, !Z.add_0_l. destruct (place =? 0); [|reflexivity].
    apply (ring_all_reduce_received len K K_positive k), is_node.
  Qed.
End LeadersTraffic.
