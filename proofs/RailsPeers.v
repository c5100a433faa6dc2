(** Whom a rank talks to in a hierarchical all-reduce: near, in its node, or far.

        node 1, place 0 of 2:   rank 2          near: 3           far: 0, 1, 4, 5
                                rails of piece 0: owners 0, 2, 4 -- all but itself are far

    [mates_are_near]: within its node a rank talks to near ranks only.  [owner_far]: on a rail
    to far ranks only.  [owns_my_pieces]: it is on the rails of the pieces in its share. *)
From Coq Require Import ZArith List Bool Permutation Lia.
From Refcoll Require Import Lists Modulo Schedule Columns Combinators Groups Traffic
  Chunking SideBySide Ring RingTraffic Nodes Pieces Rails RailsAcross RailsResult.
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

  Definition near (q : Z) : bool := others r q && existsb (fun p => p =? q) node.
  Definition far (q : Z) : bool := negb (existsb (fun p => p =? q) node).

  (** The pieces in r's share. *)
  Definition my_pieces : list Z :=
    let width := unit nodes / m in
    range (place_of nodes (place * width)) (place_of nodes ((place + 1) * width)).

  Lemma in_nodes : In node nodes.
  Proof. destruct is_node as [Hk E]. rewrite <- E. now apply (kth_node nodes). Qed.

  Lemma r_exists : 0 <= r < N /\ node_of nodes r = node /\ In r node.
  Proof.
    assert (Hin : In r node) by now apply member_in.
    assert (Hr := node_ranks_exist N nodes valid node r in_nodes Hin).
    split; [assumption|]. split; [|assumption]. apply (node_of_member N nodes valid); [apply in_nodes|assumption].
  Qed.

  Lemma m_positive : 0 < m.
  Proof. unfold m. lia. Qed.

  (** ** Who is near, who is far *)

  Lemma mates_are_near i : 0 <= i < m -> near (member node i) = others place i.
  Proof.
    intros Hi. unfold near, r.
    rewrite other_members by (try assumption; apply (node_distinct N nodes valid), in_nodes).
    rewrite (proj2 (existsb_exists _ _)); [apply andb_true_r|].
    exists (member node i). split; [now apply member_in|apply Z.eqb_refl].
  Qed.

  Lemma mates_are_not_far i : 0 <= i < m -> far (member node i) = false.
  Proof.
    intros Hi. unfold far. apply negb_false_iff, existsb_exists.
    exists (member node i). split; [now apply member_in|apply Z.eqb_refl].
  Qed.

  (** Of the owners of a piece only the node's own is in the node. *)
  Lemma owner_far piece j : 0 <= piece < pieces nodes -> 0 <= j < K ->
    far (member (owners nodes piece) j) = others k j.
  Proof.
    intros Hp Hj. unfold far, others. f_equal.
    assert (Hin := owner_of_node N nodes valid _ piece (kth_node nodes j Hj) Hp).
    rewrite <- owner in Hin by assumption. destruct (Z.eqb_spec j k) as [->|Hne].
    - apply existsb_exists. eexists. split; [|apply Z.eqb_refl]. destruct is_node as [_ <-]. exact Hin.
    - apply not_true_iff_false. rewrite existsb_exists. intros (q & Hq & E). apply Z.eqb_eq in E.
      subst q. assert (Same := node_unique N nodes valid _ _ _ (kth_node nodes j Hj) in_nodes Hin Hq).
      destruct is_node as [Hk <-]. apply Hne.
      assert (D := nodes_distinct N nodes valid).
      unfold K, node_count in Hj, Hk.
      apply (NoDup_nth nodes []) in Same; [lia|assumption|lia|lia].
  Qed.

  (** On the rails that r is on, its place is its node's number. *)
  Lemma place_on_rail piece : 0 <= piece < pieces nodes -> In r (owners nodes piece) ->
    member (owners nodes piece) k = r.
  Proof.
    intros Hp Hr. apply in_map_iff in Hr as (other & E' & Ho).
    assert (Hin := owner_of_node N nodes valid other piece Ho Hp).
    change (member other (share_of nodes other piece) = r) in E'. rewrite E' in Hin.
    assert (other = node) as ->.
    { apply (node_unique N nodes valid _ _ r); [assumption|apply in_nodes|assumption|apply r_exists]. }
    rewrite owner by apply is_node. rewrite (proj2 is_node). exact E'.
  Qed.

  Lemma owner_not_near piece j : 0 <= piece < pieces nodes -> 0 <= j < K ->
    In r (owners nodes piece) -> near (member (owners nodes piece) j) = false.
  Proof.
    intros Hp Hj Hr. assert (F := owner_far piece j Hp Hj). unfold far, near, others in *.
    destruct (existsb _ node) eqn:E; [|apply andb_false_r]. cbn [negb] in F.
    symmetry in F. apply negb_false_iff, Z.eqb_eq in F as ->. rewrite andb_true_r.
    apply negb_false_iff, Z.eqb_eq. now apply place_on_rail.
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
        { apply (node_unique N nodes valid _ _ r); [assumption|apply in_nodes|assumption|apply r_exists]. }
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
