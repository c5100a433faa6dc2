(** Nodes (refcoll/topology.py), and one schedule inside each of them at once.

        nodes = [[0; 1]; [4; 2; 3]]          any sizes, any order, each rank once
        node 0:  0 -- 1                      [per_node core]: the schedule among the ranks of
        node 1:  4 -- 2 -- 3                 each rank's own node, on the node's own chunks

    [per_node_result]: a rank ends with what the schedule gives at its place in its node, on
    what its node holds, as if there were no other.
    [valid_by_computation]: computing tells for which lists of nodes all this is said. *)
From Coq Require Import ZArith List Bool Permutation Lia.
From Refcoll Require Import Lists Schedule Columns Combinators Groups Traffic Chunking SideBySide.
Import ListNotations.
Open Scope Z_scope.

(** Each of the ranks once, no empty node. *)
Definition valid_nodes (N : Z) (nodes : list (list Z)) : Prop :=
  Permutation (concat nodes) (ranks N) /\ ~ In [] nodes.

Definition are_valid (N : Z) (nodes : list (list Z)) : bool :=
  (Z.of_nat (length (concat nodes)) =? Z.max 0 N) &&
  forallb (fun r => mem r (concat nodes)) (ranks N) &&
  forallb (fun node => negb (length node =? 0)%nat) nodes.

Theorem valid_by_computation N nodes : are_valid N nodes = true <-> valid_nodes N nodes.
Proof.
  unfold are_valid, valid_nodes. rewrite !andb_true_iff, !forallb_forall, Z.eqb_eq. split.
  - intros ((L & All) & E). split.
    + apply Permutation_sym, NoDup_Permutation_bis; [apply range_NoDup| |].
      * unfold ranks. rewrite range_length. lia.
      * intros r Hr. now apply mem_In, All.
    + intros H. now apply E in H.
  - intros (P & E). repeat split.
    + rewrite (Permutation_length P). unfold ranks. rewrite range_length. lia.
    + intros r Hr. apply mem_In. now apply (Permutation_in _ (Permutation_sym P)).
    + intros [|a node] Hn; [contradiction|reflexivity].
Qed.

Definition node_count (nodes : list (list Z)) : Z := Z.of_nat (length nodes).

(** [nodes[home(rank, nodes)]]. *)
Definition node_of (nodes : list (list Z)) (rank : Z) : list Z :=
  match find (fun node => existsb (fun r => r =? rank) node) nodes with
  | Some node => node
  | None => []
  end.

Lemma NoDup_halves {X} (l l' : list X) : NoDup (l ++ l') ->
  NoDup l /\ NoDup l' /\ forall x, In x l -> ~ In x l'.
Proof.
  induction l as [|a l IH]; intros H; [repeat split; auto using NoDup_nil|].
  cbn [app] in H. inversion H as [|? ? Hni Hnd]; subst. destruct (IH Hnd) as (A & B & C).
  rewrite in_app_iff in Hni. repeat split; [constructor; tauto|assumption|].
  intros x [->|Hx]; [tauto|now apply C].
Qed.

Section Nodes.
  Variables (N : Z) (nodes : list (list Z)).
  Hypothesis valid : valid_nodes N nodes.

  Lemma all_distinct : NoDup (concat nodes).
  Proof.
    destruct valid as [P _]. apply Permutation_sym in P. eapply Permutation_NoDup; [exact P|].
    apply range_NoDup.
  Qed.

  Lemma node_ranks_exist node r : In node nodes -> In r node -> 0 <= r < N.
  Proof.
    intros Hn Hr. destruct valid as [P _]. apply in_ranks, (Permutation_in _ P), in_concat. eauto.
  Qed.

  Lemma node_distinct node : In node nodes -> NoDup node.
  Proof.
    assert (D := all_distinct). revert D. generalize nodes as l.
    induction l as [|n l IH]; intros D Hn; [easy|]. cbn [concat] in D.
    apply NoDup_halves in D as (D1 & D2 & _). destruct Hn as [->|Hn]; auto.
  Qed.

  Lemma node_unique n1 n2 r : In n1 nodes -> In n2 nodes -> In r n1 -> In r n2 -> n1 = n2.
  Proof.
    assert (D := all_distinct). revert D. generalize nodes as l.
    induction l as [|n l IH]; intros D H1 H2 R1 R2; [easy|]. cbn [concat] in D.
    apply NoDup_halves in D as (_ & D & X).
    destruct H1 as [->|H1], H2 as [->|H2]; [reflexivity| | |now apply IH];
      exfalso; apply (X r); try assumption; apply in_concat; eauto.
  Qed.

  Lemma nodes_distinct : NoDup nodes.
  Proof.
    assert (D := all_distinct). assert (E := proj2 valid). revert D E. generalize nodes as l.
    induction l as [|n l IH]; intros D E; [constructor|]. cbn [concat] in D.
    apply NoDup_halves in D as (_ & D & X). constructor; [|apply IH; [assumption|]].
    - intros H. destruct n as [|a n]; [apply E; now left|].
      apply (X a (or_introl eq_refl)), in_concat. exists (a :: n). split; [assumption|now left].
    - intros H. apply E. now right.
  Qed.

  Lemma node_of_rank r : 0 <= r < N -> In (node_of nodes r) nodes /\ In r (node_of nodes r).
  Proof.
    intros Hr. destruct valid as [P _]. apply in_ranks in Hr.
    apply (Permutation_in _ (Permutation_sym P)), in_concat in Hr as (node & Hn & Hin).
    unfold node_of. destruct (find _ nodes) as [found|] eqn:E.
    - apply find_some in E as [Hf E]. apply existsb_exists in E as (q & Hq & E).
      apply Z.eqb_eq in E as ->. now split.
    - exfalso. assert (H := find_none _ _ E node Hn). cbn beta in H.
      rewrite <- not_true_iff_false, existsb_exists in H. apply H.
      exists r. now rewrite Z.eqb_refl.
  Qed.

  Lemma node_of_member node r : In node nodes -> In r node -> node_of nodes r = node.
  Proof.
    intros Hn Hr. destruct (node_of_rank r) as [H1 H2]; [now apply (node_ranks_exist node)|].
    now apply (node_unique _ _ r).
  Qed.

  Lemma node_size_positive node : In node nodes -> 0 < size_of node.
  Proof.
    intros Hn. destruct valid as [_ H]. unfold size_of. destruct node; [contradiction|].
    cbn [length]. lia.
  Qed.

  Lemma kth_node k : 0 <= k < node_count nodes -> In (nth (Z.to_nat k) nodes []) nodes.
  Proof. intros Hk. apply nth_In. unfold node_count in Hk. lia. Qed.

  (** A node's number among the nodes. *)
  Lemma node_number node : In node nodes ->
    exists k, 0 <= k < node_count nodes /\ nth (Z.to_nat k) nodes [] = node.
  Proof.
    intros Hn. apply (In_nth _ _ []) in Hn as (k & Hk & E).
    exists (Z.of_nat k). rewrite Nat2Z.id. unfold node_count. split; [lia|assumption].
  Qed.

  (** Node after node, their ranks are all ranks. *)
  Lemma over_nodes {X} (f : list Z -> list X) (h : Z -> X) :
    (forall node, In node nodes -> Permutation (f node) (map h node)) ->
    Permutation (flat_map (fun k => f (nth (Z.to_nat k) nodes [])) (ranks (node_count nodes)))
                (map h (ranks N)).
  Proof.
    intros H. assert (E : flat_map (fun k => f (nth (Z.to_nat k) nodes []))
      (ranks (node_count nodes)) = flat_map f nodes).
    { unfold ranks, range, node_count.
      rewrite Z.sub_0_r, Nat2Z.id, !flat_map_concat_map, map_map. f_equal.
      transitivity (map (fun k => f (nth k nodes [])) (seq 0 (length nodes)));
        [apply map_ext; intros k; do 2 f_equal; lia|]. clear.
      induction nodes as [|a l IH]; [reflexivity|]. cbn [length seq map nth].
      f_equal. rewrite <- seq_shift, map_map. exact IH. }
    rewrite E. transitivity (map h (concat nodes)); [|now apply Permutation_map, valid].
    clear E. revert H. generalize nodes as l.
    induction l as [|node l IH]; intros H; [reflexivity|]. cbn [flat_map concat].
    rewrite map_app. apply Permutation_app; [apply H; now left|].
    apply IH. intros; apply H; now right.
  Qed.

  (** ** A schedule inside every node *)

  Section PerNode.
    Variables (core : Z -> Z -> schedule) (cuts_for : list Z -> list Z) (n : nat)
      (rounds : Z -> nat).
    Hypothesis increasing : forall node i, In node nodes ->
      cut (cuts_for node) i <= cut (cuts_for node) (i + 1).
    Hypothesis core_matches : forall m, 0 < m -> matches m (fun i => core i m) (rounds m).
    Hypothesis core_ends : forall m i, 0 < m -> 0 <= i < m -> length (core i m) = rounds m.
    Hypothesis enough : forall node, In node nodes -> (rounds (size_of node) <= n)%nat.

    Definition within (node : list Z) : program :=
      fun r => on_chunks (cuts_for node) (on_ranks node core r).
    Definition per_node : program :=
      fun r => padded (within (node_of nodes r) r) (Z.of_nat n).

    Lemma core_ends_after m : 0 < m -> ends_after m (fun i => core i m) (rounds m).
    Proof. intros Hm i Hi. now rewrite core_ends. Qed.

    Lemma on_node_matches node : In node nodes ->
      matches N (on_ranks node core) (rounds (size_of node)).
    Proof.
      intros Hn. apply on_ranks_matches; [now apply node_distinct|
        intros; now apply (node_ranks_exist node)|].
      now apply core_matches, node_size_positive.
    Qed.

    Lemma on_node_length node r : In node nodes ->
      (length (on_ranks node core r) <= rounds (size_of node))%nat.
    Proof.
      intros Hn. unfold on_ranks. destruct (index_of r node) as [i|] eqn:E; [|cbn; lia].
      apply index_of_some in E as [Hi _]. rewrite map_length, core_ends; [lia| |assumption].
      now apply node_size_positive.
    Qed.

    Lemma within_length node r : In node nodes ->
      (length (within node r) <= rounds (size_of node))%nat.
    Proof. intros Hn. unfold within. rewrite on_chunks_length. now apply on_node_length. Qed.

    Lemma within_matches node : In node nodes -> matches N (within node) n.
    Proof.
      intros Hn. apply (matches_beyond N _ (rounds (size_of node))).
      - intros r _. now apply within_length.
      - now apply on_chunks_matches, on_node_matches.
    Qed.

    Lemma per_node_length r : 0 <= r < N -> length (per_node r) = n.
    Proof.
      intros Hr. destruct (node_of_rank r Hr) as [Hn _].
      assert (L := within_length (node_of nodes r) r Hn). specialize (enough _ Hn).
      assert (P := padded_length (within (node_of nodes r) r) (Z.of_nat n) ltac:(lia)).
      unfold per_node. lia.
    Qed.

    Lemma per_node_follows r t : 0 <= r < N ->
      round per_node t r = round (within (node_of nodes r)) t r.
    Proof. intros _. apply nth_padded. Qed.

    Lemma per_node_idle q r t : 0 <= q < N -> 0 <= r < N ->
      node_of nodes q <> node_of nodes r -> round (within (node_of nodes q)) t r = IDLE.
    Proof.
      intros Hq Hr Hne. unfold within. rewrite on_chunks_round.
      rewrite outsider_round; [reflexivity|]. intros Hin. apply Hne.
      destruct (node_of_rank q Hq) as [Hn _]. symmetry. now apply node_of_member.
    Qed.

    Theorem per_node_matches : matches N per_node n.
    Proof.
      apply (groups_match N n per_node (node_of nodes) within per_node_follows per_node_idle).
      intros r Hr. now apply within_matches, node_of_rank.
    Qed.

    Theorem per_node_result {A} before (op : A -> A -> A) st node place c i : In node nodes ->
      0 <= place < size_of node -> cut (cuts_for node) i <= c < cut (cuts_for node) (i + 1) ->
      run_by before op per_node n st (member node place) c =
      run_by (group_before node before) op (fun j => core j (size_of node))
        (rounds (size_of node)) (fun j _ => st (member node j) c) place i.
    Proof.
      intros Hn Hp Hc. assert (Hin : In (member node place) node) by now apply member_in.
      assert (Hr := node_ranks_exist node _ Hn Hin).
      rewrite (groups_result N n per_node (node_of nodes) within per_node_follows per_node_idle)
        by (try assumption; intros; now apply within_matches, node_of_rank).
      rewrite (node_of_member node) by assumption.
      rewrite (run_beyond before op N (within node) (rounds (size_of node)) n)
        by (assumption || now apply enough || (intros q _; now apply within_length)).
      unfold within. rewrite on_chunks_result with (N := N) (i := i);
        [|intros; now apply increasing|now apply on_node_matches|assumption|assumption].
      rewrite on_ranks_result with (N := N); try assumption.
      - reflexivity.
      - now apply node_distinct.
      - intros; now apply (node_ranks_exist node).
      - now apply core_matches, node_size_positive.
    Qed.
  End PerNode.
End Nodes.
