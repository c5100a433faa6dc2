(** The rails that a rank is on, in a hierarchical all-reduce.

        node [2; 3] of three, place 0: rank 2      share 0, pieces 0 and 1
        on the rails of pieces 0 and 1, at its node's number; all other owners are far

    [owns_my_pieces]: a rank is on the rails of the pieces in its share, and on no others.
    [place_on_rail]: at its node's number.  [owner_far]: there all others are far. *)
From Coq Require Import ZArith List Bool Permutation Lia.
From Refcoll Require Import Lists Modulo Schedule Columns Combinators Groups Traffic
  Chunking SideBySide Ring RingTraffic Nodes Pieces Rails RailsAcross RailsResult NodesTraffic.
Import ListNotations.
Open Scope Z_scope.

Section RailsPeers.
  Variables (N : Z) (nodes : list (list Z)).
  Hypothesis HN : 0 < N.
  Hypothesis valid : valid_nodes N nodes.
  Let K := node_count nodes.
  Let K_positive : 0 < K := some_nodes N nodes HN valid.

  (** The rank at [place] of a node, which is number [k]. *)
  Variables (node : list Z) (place k : Z).
  Hypothesis is_node : 0 <= k < K /\ nth (Z.to_nat k) nodes [] = node.
  Hypothesis Hplace : 0 <= place < size_of node.
  Let r := member node place.
  Let m := size_of node.

  (** The pieces in r's share. *)
  Definition my_pieces : list Z :=
    let width := unit nodes / m in
    range (place_of nodes (place * width)) (place_of nodes ((place + 1) * width)).

  Lemma in_nodes : In node nodes.
  Proof. exact (node_in nodes node k is_node). Qed.

  Lemma r_in_node : In r node.
  Proof. now apply member_in. Qed.

  Lemma owners_one_each piece j : 0 <= piece < pieces nodes -> 0 <= j < K ->
    In (member (owners nodes piece) j) (nth (Z.to_nat j) nodes []).
  Proof.
    intros Hp Hj. rewrite owner by assumption.
    apply (owner_of_node N nodes valid); [now apply kth_node|assumption].
  Qed.

  (** On the rails that r is on, its place is its node's number. *)
  Lemma place_on_rail piece : 0 <= piece < pieces nodes -> In r (owners nodes piece) ->
    member (owners nodes piece) k = r.
  Proof.
    intros Hp Hr. apply in_map_iff in Hr as (other & E' & Ho).
    assert (Hin := owner_of_node N nodes valid other piece Ho Hp).
    change (member other (share_of nodes other piece) = r) in E'. rewrite E' in Hin.
    assert (other = node) as ->.
    { apply (node_unique N nodes valid _ _ r);
        [assumption|apply in_nodes|assumption|apply r_in_node]. }
    rewrite owner by apply is_node. rewrite (proj2 is_node). exact E'.
  Qed.

  (** On a rail all but itself are far. *)
  Lemma owner_far piece j : 0 <= piece < pieces nodes -> 0 <= j < K ->
    far node (member (owners nodes piece) j) = others k j.
  Proof.
    intros Hp Hj. apply (one_of_each_far N nodes valid node place k is_node); [|assumption].
    intros i Hi. now apply owners_one_each.
  Qed.

  Lemma owner_not_near piece j : 0 <= piece < pieces nodes -> 0 <= j < K ->
    In r (owners nodes piece) -> near node place (member (owners nodes piece) j) = false.
  Proof.
    intros Hp Hj Hr. apply (one_of_each_not_near N nodes valid node place k is_node);
      [|assumption|now apply place_on_rail].
    intros i Hi. now apply owners_one_each.
  Qed.

  (** r owns the pieces in its share, and no others. *)
  Lemma owns_my_pieces piece : 0 <= piece < pieces nodes ->
    (In r (owners nodes piece) <-> In piece my_pieces).
  Proof.
    intros Hp. unfold my_pieces. rewrite in_range.
    destruct (piece_in_share N nodes valid node piece in_nodes Hp) as [Hj B]. fold m in Hj, B.
    set (j := share_of nodes node piece) in *.
    assert (Iff : In r (owners nodes piece) <-> j = place).
    { split.
      - intros Hr. apply in_map_iff in Hr as (other & E & Ho).
        assert (Hin := owner_of_node N nodes valid other piece Ho Hp).
        change (member other (share_of nodes other piece) = r) in E. rewrite E in Hin.
        assert (other = node) as ->.
        { apply (node_unique N nodes valid _ _ r);
            [assumption|apply in_nodes|assumption|apply r_in_node]. }
        apply member_injective in E; try assumption.
        apply (node_distinct N nodes valid), in_nodes.
      - intros E. apply in_map_iff. exists node. split; [|apply in_nodes].
        change (member node j = r). now rewrite E. }
    rewrite Iff. split; [intros E; now rewrite <- E|]. intros B'.
    assert (Cut := shares_increase N nodes HN valid node).
    apply (block_unique (node_shares nodes node) (fun i => Cut i in_nodes) (piece * K));
      rewrite !(share_cut nodes) by (apply in_nodes || (fold m; lia)); fold K m; nia.
  Qed.

  Lemma my_pieces_exist piece : In piece my_pieces -> 0 <= piece < pieces nodes.
  Proof.
    unfold my_pieces. intros H. apply in_range in H.
    assert (C := share_in_cuts nodes node place in_nodes ltac:(lia)).
    assert (C' := share_in_cuts nodes node (place + 1) in_nodes ltac:(lia)).
    apply place_of_cut in C as [C _], C' as [C' _]. unfold pieces. fold m in C, C'. lia.
  Qed.
End RailsPeers.
