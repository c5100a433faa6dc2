(** Pieces of the vector between the cuts of all nodes (refcoll/algorithms/shares.py).

        node of 2:   |         place 0       |        place 1        |       cuts 0, 3, 6
        node of 3:   |   place 0   |    place 1    |    place 2      |       cuts 0, 2, 4, 6
        pieces       |      0      |    1    |  2  |        3        |

    A node of m ranks cuts the vector at all j/m.  A fraction stands here as an integer, the
    fraction times [unit], the least common multiple of all m (6 above).  Each piece lies in
    one share of every node, and has its owner there: [piece_in_share].  Each piece is cut
    again into [chunks] chunks. *)
From Coq Require Import ZArith List Bool Sorted Lia.
From Refcoll Require Import Lists Groups Chunking Nodes.
Import ListNotations.
Open Scope Z_scope.

Definition unit (nodes : list (list Z)) : Z := fold_right Z.lcm 1 (map size_of nodes).

(** [sorted({...})], an element at a time. *)
Fixpoint insert (q : Z) (l : list Z) : list Z :=
  match l with
  | [] => [q]
  | first :: rest =>
      if q <? first then q :: l else if q =? first then l else first :: insert q rest
  end.

Definition node_cuts (nodes : list (list Z)) (node : list Z) : list Z :=
  map (fun j => j * (unit nodes / size_of node)) (range 0 (size_of node + 1)).
Definition cuts (nodes : list (list Z)) : list Z :=
  fold_right insert [] (flat_map (node_cuts nodes) nodes).

(** [_places(nodes)[q]]: the number of a cut. *)
Definition place_of (nodes : list (list Z)) (q : Z) : Z :=
  match index_of q (cuts nodes) with Some place => place | None => 0 end.

Definition pieces (nodes : list (list Z)) : Z := size_of (cuts nodes) - 1.

(** For a piece, the rank of each node in whose share it lies. *)
Definition owners (nodes : list (list Z)) (piece : Z) : list Z :=
  map (fun node => member node (member (cuts nodes) piece * size_of node / unit nodes)) nodes.

(** The first chunk of each of a node's shares, and the end. *)
Definition shares (ranks_ : Z) (nodes : list (list Z)) (chunks : Z) : list Z :=
  map (fun j => place_of nodes (j * (unit nodes / ranks_)) * chunks) (range 0 (ranks_ + 1)).

(** ** Sorted without repetition *)

Lemma in_insert q l x : In x (insert q l) <-> x = q \/ In x l.
Proof.
  induction l as [|a l IH]; cbn; [intuition|].
  destruct (q <? a); [cbn; intuition|]. destruct (Z.eqb_spec q a) as [->|]; cbn; [intuition|].
  rewrite IH. intuition.
Qed.

Lemma insert_sorted q l : StronglySorted Z.lt l -> StronglySorted Z.lt (insert q l).
Proof.
  induction l as [|a l IH]; intros S; cbn; [repeat constructor|].
  inversion S as [|? ? S' F]; subst. rewrite Forall_forall in F.
  destruct (Z.ltb_spec q a).
  - constructor; [assumption|]. rewrite Forall_forall. intros x [->|Hx]; [lia|].
    specialize (F x Hx). lia.
  - destruct (Z.eqb_spec q a); [assumption|]. constructor; [now apply IH|].
    rewrite Forall_forall. intros x Hx. apply in_insert in Hx as [->|Hx]; [lia|now apply F].
Qed.

Lemma sorted_nth l i j : StronglySorted Z.lt l -> 0 <= i < j -> j < size_of l ->
  member l i < member l j.
Proof.
  unfold size_of, member. revert i j.
  induction l as [|a l IH]; intros i j S Hij Hj; cbn [length] in Hj; [lia|].
  inversion S as [|? ? S' F]; subst. rewrite Forall_forall in F.
  replace (Z.to_nat j) with (Datatypes.S (Z.to_nat (j - 1))) by lia. cbn [nth].
  destruct (Z.eq_dec i 0) as [->|Hi].
  - apply F, nth_In. lia.
  - replace (Z.to_nat i) with (Datatypes.S (Z.to_nat (i - 1))) by lia.
    apply IH; [assumption|lia|lia].
Qed.

(** ** The cuts of valid nodes *)

Section Pieces.
  Variables (N : Z) (nodes : list (list Z)).
  Hypothesis HN : 0 < N.
  Hypothesis valid : valid_nodes N nodes.

  Lemma cuts_sorted : StronglySorted Z.lt (cuts nodes).
  Proof.
    unfold cuts. induction (flat_map (node_cuts nodes) nodes); cbn; [constructor|].
    now apply insert_sorted.
  Qed.

  Lemma in_cuts q : In q (cuts nodes) <->
    exists node j, In node nodes /\ 0 <= j <= size_of node /\ q = j * (unit nodes / size_of node).
  Proof.
    assert (G : forall l, In q (fold_right insert [] l) <-> In q l).
    { induction l as [|a l IH]; cbn; [tauto|]. rewrite in_insert, IH. intuition. }
    unfold cuts. rewrite G, in_flat_map. unfold node_cuts. split.
    - intros (node & Hn & H). apply in_map_iff in H as (j & <- & Hj). apply in_range in Hj.
      exists node, j. repeat split; [assumption|lia|lia].
    - intros (node & j & Hn & Hj & ->). exists node. split; [assumption|].
      apply in_map_iff. exists j. split; [reflexivity|]. apply in_range. lia.
  Qed.

  Lemma unit_positive : 0 < unit nodes.
  Proof.
    assert (G : forall l, (forall node, In node l -> In node nodes) -> 0 < unit l).
    { induction l as [|node l IH]; intros H; unfold unit; cbn [map fold_right]; [lia|].
      fold (unit l).
      assert (P := node_size_positive N nodes valid node (H node (or_introl eq_refl))).
      assert (U : 0 < unit l) by (apply IH; intros; apply H; now right).
      assert (L := Z.lcm_nonneg (size_of node) (unit l)).
      assert (E := Z.lcm_eq_0 (size_of node) (unit l)). lia. }
    apply G. auto.
  Qed.

  (** A node of m ranks: unit = m * width, where [width] is one share's. *)
  Lemma share_width node : In node nodes ->
    unit nodes = size_of node * (unit nodes / size_of node) /\ 0 < unit nodes / size_of node.
  Proof.
    intros Hn. assert (P := node_size_positive N nodes valid node Hn). assert (U := unit_positive).
    assert (D : forall l, In node l -> (size_of node | unit l)).
    { induction l as [|m l IH]; [easy|]. unfold unit. cbn [map fold_right]. fold (unit l).
      intros [->|H]; [apply Z.divide_lcm_l|]. eapply Z.divide_trans; [now apply IH|].
      apply Z.divide_lcm_r. }
    destruct (D nodes Hn) as [w E]. rewrite E, Z.div_mul by lia. nia.
  Qed.

  Lemma cut_between q : In q (cuts nodes) -> 0 <= q <= unit nodes.
  Proof.
    intros H. apply in_cuts in H as (node & j & Hn & Hj & ->).
    destruct (share_width node Hn) as [E W]. nia.
  Qed.

  Lemma some_node : exists node, In node nodes.
  Proof.
    destruct (node_of_rank N nodes valid 0 ltac:(lia)) as [H _]. eauto.
  Qed.

  Lemma place_of_cut q : In q (cuts nodes) ->
    0 <= place_of nodes q < size_of (cuts nodes) /\ member (cuts nodes) (place_of nodes q) = q.
  Proof.
    intros H. unfold place_of. destruct (index_of q (cuts nodes)) as [i|] eqn:E.
    - now apply index_of_some.
    - exfalso. now apply index_of_none in E.
  Qed.

  (** Cuts are numbered in order. *)
  Lemma place_order a p : In a (cuts nodes) -> 0 <= p < size_of (cuts nodes) ->
    (place_of nodes a <= p <-> a <= member (cuts nodes) p).
  Proof.
    intros Ha Hp. destruct (place_of_cut a Ha) as [Hi E]. rewrite <- E at 2.
    destruct (Z.lt_trichotomy (place_of nodes a) p) as [H|[->|H]]; [|lia|].
    - assert (L := sorted_nth _ _ _ cuts_sorted (conj (proj1 Hi) H) (proj2 Hp)). lia.
    - assert (L := sorted_nth _ _ _ cuts_sorted (conj (proj1 Hp) H) (proj2 Hi)). lia.
  Qed.

  Lemma place_of_first : place_of nodes 0 = 0.
  Proof.
    destruct some_node as [node Hn]. assert (P := node_size_positive N nodes valid node Hn).
    assert (H : In 0 (cuts nodes))
      by (apply in_cuts; exists node, 0; repeat split; (assumption || lia)).
    destruct (place_of_cut 0 H) as [Hp _].
    assert (B : 0 <= member (cuts nodes) 0)
      by (apply cut_between, member_in; lia).
    apply (place_order 0 0 H) in B; lia.
  Qed.

  Lemma place_of_last : place_of nodes (unit nodes) = pieces nodes.
  Proof.
    destruct some_node as [node Hn]. destruct (share_width node Hn) as [E W].
    assert (P := node_size_positive N nodes valid node Hn).
    assert (H : In (unit nodes) (cuts nodes))
      by (apply in_cuts; exists node, (size_of node); repeat split; (assumption || lia)).
    destruct (place_of_cut _ H) as [Hp Em]. unfold pieces.
    destruct (Z.lt_ge_cases (place_of nodes (unit nodes)) (size_of (cuts nodes) - 1)) as [L|L];
      [|lia].
    assert (S := sorted_nth _ _ _ cuts_sorted (conj (proj1 Hp) L) ltac:(lia)). rewrite Em in S.
    assert (B := cut_between (member (cuts nodes) (size_of (cuts nodes) - 1))
      ltac:(apply member_in; lia)). lia.
  Qed.

  (** ** The share of a node in which a piece lies *)

  Definition share_of (node : list Z) (piece : Z) : Z :=
    member (cuts nodes) piece * size_of node / unit nodes.

  Lemma share_in_cuts node j : In node nodes -> 0 <= j <= size_of node ->
    In (j * (unit nodes / size_of node)) (cuts nodes).
  Proof. intros Hn Hj. apply in_cuts. eauto. Qed.

  Theorem piece_in_share node piece : In node nodes -> 0 <= piece < pieces nodes ->
    let width := unit nodes / size_of node in let j := share_of node piece in
    0 <= j < size_of node /\
    place_of nodes (j * width) <= piece < place_of nodes ((j + 1) * width).
  Proof.
    intros Hn Hp width j. destruct (share_width node Hn) as [E W]. fold width in E, W.
    assert (P := node_size_positive N nodes valid node Hn). unfold pieces in Hp.
    set (q := member (cuts nodes) piece).
    assert (Q : 0 <= q < unit nodes).
    { assert (Hq : In q (cuts nodes)) by (apply member_in; lia).
      assert (L := sorted_nth _ piece (size_of (cuts nodes) - 1) cuts_sorted ltac:(lia) ltac:(lia)).
      assert (B := cut_between (member (cuts nodes) (size_of (cuts nodes) - 1))
        ltac:(apply member_in; lia)). assert (B' := cut_between q Hq). fold q in L. lia. }
    assert (J : j = q / width).
    { unfold j, share_of. fold q. rewrite E, (Z.mul_comm (size_of node)).
      now rewrite Z.div_mul_cancel_r by lia. }
    assert (D := Z.div_mod q width ltac:(lia)). rewrite <- J in D.
    assert (B := Z.mod_pos_bound q width W).
    assert (Hj : 0 <= j < size_of node) by (split; [rewrite J; apply Z.div_pos; lia|nia]).
    split; [assumption|]. split.
    - apply place_order; [apply share_in_cuts; (assumption || lia)|lia|]. fold q. lia.
    - apply Z.lt_nge. intros H. apply place_order in H;
        [|apply share_in_cuts; (assumption || lia)|lia]. fold q in H. lia.
  Qed.
End Pieces.
