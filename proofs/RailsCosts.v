(** What a rank's part in a hierarchical all-reduce costs, from what its rings cost.

        [rails_sent_where], [rails_received_where]:
            in its node, at its place           the ring's, chunks as long as the shares
          + for each piece in its share         the ring's, at its node's number, the piece's
                                                own chunks

    counted over any choice of peers: RailsTraffic.v chooses those near, and those far. *)
From Coq Require Import ZArith List Bool Permutation Lia.
From Refcoll Require Import Lists Modulo Schedule Columns Combinators Groups Traffic
  Chunking SideBySide Ring RingTraffic Nodes NodesTraffic Pieces Rails RailsAcross RailsResult
  RailsPeers.
Import ListNotations.
Open Scope Z_scope.

Section RailsCosts.
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
  Let mine := my_pieces nodes node place.

  (** Elements in a share; in chunk i of a piece, and in all K of it; in the vector. *)
  Definition share_length (j : Z) : Z := block_length len (node_shares nodes node) j.
  Definition chunk_length (piece i : Z) : Z := len (piece * K + i).
  Definition piece_lengths (piece : Z) : Z -> Z :=
    block_length len (range (piece * K) ((piece + 1) * K + 1)).
  Definition piece_length (piece : Z) : Z := total (chunk_length piece) K.
  Definition whole_length : Z := total len (chunk_count nodes).

  Lemma in_nodes : In node nodes.
  Proof. exact (node_in nodes node k is_node). Qed.

  Lemma m_above_0 : 0 < m.
  Proof. unfold m. lia. Qed.

  Lemma shares_total : total share_length m = whole_length.
  Proof.
    assert (Cut := shares_increase N nodes HN valid node).
    assert (G : forall j : nat, Z.of_nat j <= m -> total share_length (Z.of_nat j) =
      volume len (range (cut (node_shares nodes node) 0)
                        (cut (node_shares nodes node) (Z.of_nat j)))).
    { induction j as [|j IH]; intros Hj; [now rewrite range_empty by reflexivity|].
      replace (Z.of_nat (S j)) with (Z.of_nat j + 1) by lia. unfold total, ranks in *.
      rewrite range_last, volume_app, IH, volume_one by lia. unfold share_length, block_length.
      symmetry. apply volume_range_split. split.
      - apply (cut_monotone _ (fun i => Cut i in_nodes)). lia.
      - apply Cut, in_nodes. }
    assert (M := m_above_0). specialize (G (Z.to_nat m)). rewrite Z2Nat.id in G by lia.
    rewrite G by lia. rewrite !(share_cut nodes) by (apply in_nodes || (fold m; lia)). fold m.
    rewrite Z.mul_0_l, (place_of_first N nodes HN valid), Z.mul_0_l.
    destruct (share_width N nodes valid node in_nodes) as [E _]. fold m in E. rewrite <- E.
    rewrite (place_of_last N nodes HN valid). reflexivity.
  Qed.

  (** Between nodes: a sum over the pieces in the rank's share. *)
  Lemma sum_over_mine (f : Z -> Z) :
    (forall piece, 0 <= piece < pieces nodes -> ~ In piece mine -> f piece = 0) ->
    zsum (map f (range 0 (pieces nodes))) = zsum (map f mine).
  Proof.
    intros Zero. unfold mine, my_pieces in *. fold m in Zero |- *.
    set (a := place_of nodes (place * (unit nodes / m))) in *.
    set (b := place_of nodes ((place + 1) * (unit nodes / m))) in *.
    assert (C := share_in_cuts nodes node place in_nodes ltac:(lia)).
    assert (C' := share_in_cuts nodes node (place + 1) in_nodes ltac:(lia)).
    assert (P := place_of_cut nodes _ C). assert (P' := place_of_cut nodes _ C').
    fold m in P, P'. fold a in P. fold b in P'. destruct P as [P _], P' as [P' E'].
    assert (AB : a <= b).
    { apply (place_order nodes); [exact C|fold m b; lia|]. fold m b. rewrite E'.
      destruct (share_width N nodes valid node in_nodes) as [_ W]. fold m in W. nia. }
    rewrite (range_split 0 a (pieces nodes)), (range_split a b (pieces nodes)), !map_app, !zsum_app
      by (unfold pieces; lia).
    rewrite (zsum_zero f (range 0 a)), (zsum_zero f (range b _)); [lia| |];
      intros x Hx; apply in_range in Hx; apply Zero; rewrite ?in_range; unfold pieces in *; lia.
  Qed.

  Lemma rail_chunk_length piece i : 0 <= i < K ->
    piece_lengths piece i = chunk_length piece i.
  Proof.
    intros Hi. unfold piece_lengths, block_length. rewrite !(rail_cut N nodes HN valid). fold K.
    replace (Z.min (Z.max 0 (i + 1)) K) with (i + 1) by lia.
    replace (Z.min (Z.max 0 i) K) with i by lia. rewrite Z.add_assoc, range_one.
    exact (volume_one len _).
  Qed.

  Section Rail.
    Variables (piece : Z) (f g : Z -> bool).
    Hypothesis exists_ : 0 <= piece < pieces nodes.
    Hypothesis same : forall j, 0 <= j < K -> f (member (owners nodes piece) j) = g j.
    Hypothesis owned : In r (owners nodes piece).
    Let lengths : Z -> Z := piece_lengths piece.

    Lemma owners_core :
      matches (size_of (owners nodes piece))
        (fun i => ring_all_reduce i (size_of (owners nodes piece))) (across_rounds nodes) /\
      ends_after (size_of (owners nodes piece))
        (fun i => ring_all_reduce i (size_of (owners nodes piece))) (across_rounds nodes).
    Proof.
      rewrite owners_size. fold K. split; [now apply ring_all_reduce_matches|].
      intros i Hi. change (ring_all_reduce i K) with (ring K i).
      rewrite ring_all_reduce_depth. reflexivity.
    Qed.

    Lemma one_rail_sent :
      sent_where len f (one_rail nodes piece r) = sent_where lengths g (ring_all_reduce k K).
    Proof.
      destruct owners_core as [M En]. unfold one_rail, rail, r. rewrite on_chunks_sent.
      fold K (piece_lengths piece) lengths.
      rewrite <- (place_on_rail N nodes valid node place k is_node Hplace piece) by assumption.
      assert (H := on_ranks_sent_where _ _ _ (owners_distinct N nodes valid piece exists_) M
                     lengths f k En). rewrite owners_size in H.
      apply H; [apply is_node|exact same].
    Qed.

    Lemma one_rail_received :
      received_where len f (one_rail nodes piece r) =
        received_where lengths g (ring_all_reduce k K).
    Proof.
      destruct owners_core as [M En]. unfold one_rail, rail, r. rewrite on_chunks_received.
      fold K (piece_lengths piece) lengths.
      rewrite <- (place_on_rail N nodes valid node place k is_node Hplace piece) by assumption.
      assert (H := on_ranks_received_where _ _ _ (owners_distinct N nodes valid piece exists_) M
                     lengths f k En). rewrite owners_size in H.
      apply H; [apply is_node|exact same].
    Qed.
  End Rail.

  Lemma not_owned piece : ~ In r (owners nodes piece) -> one_rail nodes piece r = [].
  Proof.
    intros H. unfold one_rail, rail, on_ranks. apply index_of_none in H. now rewrite H.
  Qed.

  Lemma scatter_fits : matches m (fun i => ring_reduce_scatter i m) (Z.to_nat (m - 1)).
  Proof. apply ring_reduce_scatter_matches, m_above_0. Qed.

  Lemma gather_fits : matches m (fun i => ring_all_gather i m) (Z.to_nat (m - 1)).
  Proof. apply ring_all_gather_matches, m_above_0. Qed.

  Theorem rails_sent_where f g h :
    (forall i, 0 <= i < m -> f (member node i) = g i) ->
    (forall piece, 0 <= piece < pieces nodes -> In r (owners nodes piece) ->
       forall j, 0 <= j < K -> f (member (owners nodes piece) j) = h j) ->
    sent_where len f (rails nodes r) =
    sent_where share_length g (ring_reduce_scatter place m)
    + sent_where share_length g (ring_all_gather place m)
    + zsum (map (fun piece => sent_where (piece_lengths piece) h (ring_all_reduce k K)) mine).
  Proof.
    intros Hg Hh. rewrite (rails_parts N nodes HN valid). unfold then_. rewrite !sent_where_app.
    unfold scatters, gathers.
    rewrite (per_node_sent_where N nodes valid node place k is_node Hplace _ _ _ _ scatter_fits
               (fun i _ => ring_reduce_scatter_depth m i) len f g Hg).
    rewrite (per_node_sent_where N nodes valid node place k is_node Hplace _ _ _ _ gather_fits
               (fun i _ => ring_all_gather_depth m i) len f g Hg).
    change (block_length len (node_shares nodes node)) with share_length. fold m.
    enough (E : sent_where len f (all_rails nodes r) = zsum (map (fun piece =>
      sent_where (piece_lengths piece) h (ring_all_reduce k K)) mine)) by (rewrite E; lia).
    unfold all_rails, rail_programs. rewrite map_map, together_sent, map_map, sum_over_mine.
    - apply zsum_ext. intros piece Hm.
      assert (Hp := my_pieces_exist nodes node place k is_node Hplace piece Hm).
      assert (Ho : In r (owners nodes piece))
        by now apply (owns_my_pieces N nodes HN valid node place k is_node Hplace).
      apply one_rail_sent; [assumption|now apply Hh|assumption].
    - intros piece Hp Hout. rewrite not_owned; [reflexivity|]. intros H. apply Hout.
      now apply (owns_my_pieces N nodes HN valid node place k is_node Hplace).
  Qed.

  Theorem rails_received_where f g h :
    (forall i, 0 <= i < m -> f (member node i) = g i) ->
    (forall piece, 0 <= piece < pieces nodes -> In r (owners nodes piece) ->
       forall j, 0 <= j < K -> f (member (owners nodes piece) j) = h j) ->
    received_where len f (rails nodes r) =
    received_where share_length g (ring_reduce_scatter place m)
    + received_where share_length g (ring_all_gather place m)
    + zsum (map (fun piece => received_where (piece_lengths piece) h (ring_all_reduce k K)) mine).
  Proof.
    intros Hg Hh. rewrite (rails_parts N nodes HN valid). unfold then_. rewrite !received_where_app.
    unfold scatters, gathers.
    rewrite (per_node_received_where N nodes valid node place k is_node Hplace _ _ _ _ scatter_fits
               (fun i _ => ring_reduce_scatter_depth m i) len f g Hg).
    rewrite (per_node_received_where N nodes valid node place k is_node Hplace _ _ _ _ gather_fits
               (fun i _ => ring_all_gather_depth m i) len f g Hg).
    change (block_length len (node_shares nodes node)) with share_length. fold m.
    enough (E : received_where len f (all_rails nodes r) = zsum (map (fun piece =>
      received_where (piece_lengths piece) h (ring_all_reduce k K)) mine)) by (rewrite E; lia).
    unfold all_rails, rail_programs. rewrite map_map, together_received, map_map, sum_over_mine.
    - apply zsum_ext. intros piece Hm.
      assert (Hp := my_pieces_exist nodes node place k is_node Hplace piece Hm).
      assert (Ho : In r (owners nodes piece))
        by now apply (owns_my_pieces N nodes HN valid node place k is_node Hplace).
      apply one_rail_received; [assumption|now apply Hh|assumption].
    - intros piece Hp Hout. rewrite not_owned; [reflexivity|]. intros H. apply Hout.
      now apply (owns_my_pieces N nodes HN valid node place k is_node Hplace).
  Qed.
End RailsCosts.
