(** Whom a rank talks to, within its node or beyond, and what the former costs.

        nodes [0; 1], [2; 3], [4; 5]; rank 2:     near: 3           far: 0, 1, 4, 5
        one rank of each node: 0, 2, 4            for rank 2 all but itself are far

    [mates_are_near]: the members of its node are near.  [one_of_each_far]: among ranks that
    stand one for each node, all others are far.  [per_node_sent_where]: what a schedule inside
    every node sends, counted over any choice of peers. *)
From Coq Require Import ZArith List Bool Permutation Lia.
From Refcoll Require Import Lists Schedule Columns Combinators Groups Traffic Chunking SideBySide
  Nodes.
Import ListNotations.
Open Scope Z_scope.

Section NodesTraffic.
  Variables (N : Z) (nodes : list (list Z)).
  Hypothesis valid : valid_nodes N nodes.
  Let K := node_count nodes.

  (** The rank at [place] of a node of [m], which is number [k]. *)
  Variables (node : list Z) (place k : Z).
  Hypothesis is_node : 0 <= k < K /\ nth (Z.to_nat k) nodes [] = node.
  Hypothesis Hplace : 0 <= place < size_of node.
  Let r := member node place.
  Let m := size_of node.

  Definition near (q : Z) : bool := others r q && existsb (fun p => p =? q) node.
  Definition far (q : Z) : bool := negb (existsb (fun p => p =? q) node).

  Lemma node_in : In node nodes.
  Proof. destruct is_node as [Hk E]. rewrite <- E. now apply (kth_node nodes). Qed.

  Lemma rank_in_node : node_of nodes r = node /\ In r node.
  Proof.
    assert (Hin : In r node) by now apply member_in.
    split; [|assumption]. apply (node_of_member N nodes valid); [apply node_in|assumption].
  Qed.

  Lemma in_node q : In q node -> existsb (fun p => p =? q) node = true.
  Proof. intros H. apply existsb_exists. exists q. split; [assumption|apply Z.eqb_refl]. Qed.

  Lemma not_in_node q : ~ In q node -> existsb (fun p => p =? q) node = false.
  Proof.
    intros H. apply not_true_iff_false. rewrite existsb_exists. intros (p & Hp & E).
    apply Z.eqb_eq in E. now subst.
  Qed.

  (** ** The members of the node *)

  Lemma mates_are_near i : 0 <= i < m -> near (member node i) = others place i.
  Proof.
    intros Hi. unfold near, r.
    rewrite other_members by (try assumption; apply (node_distinct N nodes valid), node_in).
    rewrite in_node by now apply member_in. apply andb_true_r.
  Qed.

  Lemma mates_are_not_far i : 0 <= i < m -> far (member node i) = false.
  Proof. intros Hi. unfold far. now rewrite in_node by now apply member_in. Qed.

  (** ** Ranks of which the j-th is of the j-th node *)

  Section OneOfEach.
    Variable group : list Z.
    Hypothesis one_each : forall j, 0 <= j < K -> In (member group j) (nth (Z.to_nat j) nodes []).

    Lemma one_of_each_far j : 0 <= j < K -> far (member group j) = others k j.
    Proof.
      intros Hj. unfold far, others. f_equal. assert (Hin := one_each j Hj).
      destruct (Z.eqb_spec j k) as [->|Hne].
      - apply in_node. rewrite (proj2 is_node) in Hin. exact Hin.
      - apply not_in_node. intros H. apply Hne. assert (D := nodes_distinct N nodes valid).
        assert (Same := node_unique N nodes valid _ _ _ (kth_node nodes j Hj) node_in Hin H).
        assert (Hk := proj1 is_node). rewrite <- (proj2 is_node) in Same.
        unfold K, node_count in Hj, Hk.
        apply (NoDup_nth nodes []) in Same; [lia|assumption|lia|lia].
    Qed.

    Lemma one_of_each_not_near j : 0 <= j < K -> member group k = r ->
      near (member group j) = false.
    Proof.
      intros Hj E. assert (F := one_of_each_far j Hj). unfold far, near, others in *.
      destruct (existsb _ node); [|apply andb_false_r]. cbn [negb] in F.
      symmetry in F. apply negb_false_iff, Z.eqb_eq in F as ->. rewrite andb_true_r.
      now apply negb_false_iff, Z.eqb_eq.
    Qed.
  End OneOfEach.

  (** ** A schedule inside every node: its own traffic, on the node's own chunks *)

  Section Core.
    Variables (core : Z -> Z -> schedule) (cuts_for : list Z -> list Z) (n rounds : nat).
    Hypothesis core_matches : matches m (fun i => core i m) rounds.
    Hypothesis core_length : forall i, 0 <= i < m -> length (core i m) = rounds.
    Variables (len : Z -> Z) (f g : Z -> bool).
    Hypothesis same : forall i, 0 <= i < m -> f (member node i) = g i.

    Lemma core_ends : ends_after (size_of node) (fun i => core i (size_of node)) rounds.
    Proof. intros i Hi. now rewrite core_length. Qed.

    Theorem per_node_sent_where : sent_where len f (per_node nodes core cuts_for n r) =
      sent_where (block_length len (cuts_for node)) g (core place m).
    Proof.
      unfold per_node. rewrite padded_sent, (proj1 rank_in_node).
      unfold within, r. rewrite on_chunks_sent.
      rewrite (on_ranks_sent_where node core rounds) with (near := g);
        [reflexivity| |exact core_matches|exact core_ends|exact Hplace|exact same].
      apply (node_distinct N nodes valid), node_in.
    Qed.

    Theorem per_node_received_where : received_where len f (per_node nodes core cuts_for n r) =
      received_where (block_length len (cuts_for node)) g (core place m).
    Proof.
      unfold per_node. rewrite padded_received, (proj1 rank_in_node).
      unfold within, r. rewrite on_chunks_received.
      rewrite (on_ranks_received_where node core rounds) with (near := g);
        [reflexivity| |exact core_matches|exact core_ends|exact Hplace|exact same].
      apply (node_distinct N nodes valid), node_in.
    Qed.
  End Core.
End NodesTraffic.
