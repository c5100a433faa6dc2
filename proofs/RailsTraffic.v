(** What a hierarchical all-reduce over rails costs, within nodes and between them.

        rank r, at place j in its node of m, its node number k of K:
        within its node     2S - |share j| - |share j+1|              (an all-reduce's ring)
        between nodes       2|piece| - |chunk k| - |chunk k+1|        for each piece in share j

    Elements sent, for chunks of any lengths ([rails_sent_within], [rails_sent_between]), and
    received ([rails_received_within], [rails_received_between]).  Where the shares are equal
    it is 2(m-1)/m S within; where the K chunks of a piece are equal, 2(K-1)/K of r's share,
    S/m, between: [rails_sent_within_equal], [rails_sent_between_equal]. *)
From Coq Require Import ZArith List Bool Permutation Lia.
From Refcoll Require Import Lists Modulo Schedule Columns Combinators Groups Traffic
  Chunking SideBySide Ring RingTraffic Nodes NodesTraffic Pieces Rails RailsAcross RailsResult
  RailsPeers RailsCosts.
Import ListNotations.
Open Scope Z_scope.

Section RailsTraffic.
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
  Let mine := my_pieces nodes node place.

  Let share := share_length nodes len node.
  Let chunk := chunk_length nodes len.
  Let whole := whole_length nodes len.

  Lemma sent_out (length_ : Z -> Z) (P : program) i :
    sent_where length_ (others i) (P i) = sent length_ P i.
  Proof. reflexivity. Qed.

  Lemma received_in (length_ : Z -> Z) (P : program) i :
    received_where length_ (others i) (P i) = received length_ P i.
  Proof. reflexivity. Qed.

  Lemma piece_total piece : total (piece_lengths nodes len piece) K = piece_length nodes len piece.
  Proof. apply total_ext. intros i Hi. now apply (rail_chunk_length N nodes len HN valid). Qed.

  (** ** Within the node *)

  Theorem rails_sent_within : sent_where len near (rails nodes r) =
    2 * whole - share place - share ((place + 1) mod m).
  Proof.
    unfold r. rewrite (rails_sent_where N nodes len HN valid node place k is_node Hplace near
               (others place) (fun _ => false)).
    - rewrite (zsum_zero _ mine) by (intros; apply sent_nowhere).
      change (ring_reduce_scatter place (size_of node)) with (scatter m place).
      change (ring_all_gather place (size_of node)) with (gather m place).
      rewrite !sent_out, ring_reduce_scatter_sent, ring_all_gather_sent by (assumption || lia).
      fold share. unfold share, m.
      rewrite (shares_total N nodes len HN valid node place k is_node Hplace).
      fold whole. lia.
    - apply (mates_are_near N nodes valid node place k is_node Hplace).
    - intros. now apply (owner_not_near N nodes valid node place k is_node Hplace).
  Qed.

  Theorem rails_received_within : received_where len near (rails nodes r) =
    2 * whole - share ((place - 1) mod m) - share place.
  Proof.
    unfold r. rewrite (rails_received_where N nodes len HN valid node place k is_node Hplace near
               (others place) (fun _ => false)).
    - rewrite (zsum_zero _ mine) by (intros; apply received_nowhere).
      change (ring_reduce_scatter place (size_of node)) with (scatter m place).
      change (ring_all_gather place (size_of node)) with (gather m place).
      rewrite !received_in, ring_reduce_scatter_received, ring_all_gather_received
        by (assumption || lia).
      fold share. unfold share, m.
      rewrite (shares_total N nodes len HN valid node place k is_node Hplace).
      fold whole. lia.
    - apply (mates_are_near N nodes valid node place k is_node Hplace).
    - intros. now apply (owner_not_near N nodes valid node place k is_node Hplace).
  Qed.

  (** ** Between nodes *)

  Theorem rails_sent_between : sent_where len far (rails nodes r) =
    zsum (map (fun piece => 2 * piece_length nodes len piece - chunk piece k
                            - chunk piece ((k + 1) mod K)) mine).
  Proof.
    unfold r. rewrite (rails_sent_where N nodes len HN valid node place k is_node Hplace far
               (fun _ => false) (others k)).
    - rewrite !sent_nowhere, !Z.add_0_l. apply zsum_ext. intros piece _.
      change (ring_all_reduce k (node_count nodes)) with (ring K k).
      assert (B := Z.mod_pos_bound (k + 1) K K_positive).
      rewrite sent_out, ring_all_reduce_sent, piece_total by (assumption || apply is_node).
      now rewrite !(rail_chunk_length N nodes len HN valid) by (assumption || apply is_node).
    - apply mates_are_not_far.
    - intros. now apply (owner_far N nodes valid node place k is_node).
  Qed.

  Theorem rails_received_between : received_where len far (rails nodes r) =
    zsum (map (fun piece => 2 * piece_length nodes len piece - chunk piece ((k - 1) mod K)
                            - chunk piece k) mine).
  Proof.
    unfold r. rewrite (rails_received_where N nodes len HN valid node place k is_node Hplace far
               (fun _ => false) (others k)).
    - rewrite !received_nowhere, !Z.add_0_l. apply zsum_ext. intros piece _.
      change (ring_all_reduce k (node_count nodes)) with (ring K k).
      assert (B := Z.mod_pos_bound (k - 1) K K_positive).
      rewrite received_in, ring_all_reduce_received, piece_total by (assumption || apply is_node).
      now rewrite !(rail_chunk_length N nodes len HN valid) by (assumption || apply is_node).
    - apply mates_are_not_far.
    - intros. now apply (owner_far N nodes valid node place k is_node).
  Qed.

  (** ** Equal parts *)

  (** m sent = 2(m-1) S, that is, 2(m-1)/m S, where the shares of a node are equally long. *)
  Theorem rails_sent_within_equal : (forall i j, 0 <= i < m -> 0 <= j < m -> share i = share j) ->
    m * sent_where len near (rails nodes r) = 2 * (m - 1) * whole.
  Proof.
    intros E. rewrite rails_sent_within. assert (B := Z.mod_pos_bound (place + 1) m ltac:(lia)).
    rewrite (E ((place + 1) mod m) place) by assumption.
    assert (T : whole = m * share place).
    { unfold whole. rewrite <- (shares_total N nodes len HN valid node place k is_node Hplace).
      unfold total, volume. rewrite (zsum_ext _ (fun _ => share place)).
      - rewrite zsum_const. unfold ranks. rewrite range_length. fold m. f_equal. unfold m. lia.
      - intros j Hj. apply in_ranks in Hj. now apply E. }
    rewrite T. lia.
  Qed.

  (** The pieces in r's share are together as long as the share. *)
  Lemma pieces_volume a b : 0 <= a <= b ->
    zsum (map (piece_length nodes len) (range a b)) = volume len (range (a * K) (b * K)).
  Proof.
    intros H. replace b with (a + Z.of_nat (Z.to_nat (b - a))) by lia.
    induction (Z.to_nat (b - a)) as [|d IH].
    - rewrite Z.add_0_r, !range_empty by lia. reflexivity.
    - replace (a + Z.of_nat (S d)) with (a + Z.of_nat d + 1) by lia.
      rewrite range_last, map_app, zsum_app, IH by lia. cbn [map]. rewrite zsum_one.
      rewrite (volume_range_split len (a * K) ((a + Z.of_nat d) * K) ((a + Z.of_nat d + 1) * K))
        by nia. f_equal.
      unfold piece_length, total, volume, chunk_length, ranks. fold K.
      rewrite <- (map_map (fun i => (a + Z.of_nat d) * K + i) len).
      apply (f_equal (fun l => zsum (map len l))).
      transitivity (map (fun i => i + (a + Z.of_nat d) * K) (range 0 K)).
      + apply map_ext. intros i. lia.
      + rewrite range_shift. f_equal; lia.
  Qed.

  Lemma share_is_pieces : zsum (map (piece_length nodes len) mine) = share place.
  Proof.
    assert (Hn := in_nodes nodes node k is_node).
    unfold mine, my_pieces, share, share_length, block_length.
    rewrite !(share_cut nodes) by (assumption || lia). fold K m. apply pieces_volume.
    assert (C := share_in_cuts nodes node place Hn ltac:(lia)).
    assert (C' := share_in_cuts nodes node (place + 1) Hn ltac:(lia)).
    fold m in C, C'. destruct (place_of_cut nodes _ C) as [P _].
    destruct (place_of_cut nodes _ C') as [P' E]. split; [lia|].
    apply (place_order nodes); [exact C|exact P'|]. rewrite E.
    destruct (share_width N nodes valid node Hn) as [_ W]. fold m in W. nia.
  Qed.

  (** K sent = 2(K-1) |share|, that is, 2(K-1)/K S/m, where the K chunks of a piece are. *)
  Theorem rails_sent_between_equal :
    (forall piece i j, 0 <= i < K -> 0 <= j < K -> chunk piece i = chunk piece j) ->
    K * sent_where len far (rails nodes r) =
    2 * (K - 1) * share place.
  Proof.
    intros E. rewrite rails_sent_between, <- share_is_pieces, <- !zsum_scale. apply zsum_ext.
    intros piece _.
    assert (B := Z.mod_pos_bound (k + 1) K K_positive). destruct is_node as [Hk _].
    rewrite (E piece ((k + 1) mod K) k) by assumption.
    assert (T : piece_length nodes len piece = K * chunk piece k).
    { unfold piece_length, total, volume. rewrite (zsum_ext _ (fun _ => chunk piece k)).
      - rewrite zsum_const. unfold ranks. rewrite range_length. fold K. f_equal. lia.
      - intros j Hj. apply in_ranks in Hj. now apply E. }
    rewrite T. lia.
  Qed.
End RailsTraffic.
