(** The rails of a hierarchical all-reduce: one ring for every piece, all at once.

        piece 0 (chunks 0 .. K-1)        owners: one rank of every node, in the order of nodes
        piece 1 (chunks K .. 2K-1)       each rail on its own chunks: they do not meet

    [all_rails_result]: on each piece's owners a ring all-reduce of the piece, as if there were
    no other.  [rails_matches], [rails_depth]: the whole algorithm. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Modulo Schedule Columns Combinators Groups Traffic Chunking
  SideBySide Ring Nodes Pieces Rails.
Import ListNotations.
Open Scope Z_scope.

Section Across.
  Variables (N : Z) (nodes : list (list Z)).
  Hypothesis HN : 0 < N.
  Hypothesis valid : valid_nodes N nodes.
  Let K := node_count nodes.
  Let K_positive : 0 < K := some_nodes N nodes HN valid.

  (** ** Owners: one rank of every node *)

  Lemma owners_size piece : size_of (owners nodes piece) = K.
  Proof. unfold size_of, owners. now rewrite map_length. Qed.

  Lemma owner piece k : 0 <= k < K -> member (owners nodes piece) k =
    member (nth (Z.to_nat k) nodes []) (share_of nodes (nth (Z.to_nat k) nodes []) piece).
  Proof.
    intros Hk. unfold member at 1, owners. unfold K, node_count in Hk.
    rewrite nth_indep with (d' := member [] (member (cuts nodes) piece * size_of [] / unit nodes))
      by (rewrite map_length; lia).
    now rewrite (map_nth (fun node =>
      member node (member (cuts nodes) piece * size_of node / unit nodes))).
  Qed.

  Lemma owner_of_node node piece : In node nodes -> 0 <= piece < pieces nodes ->
    In (member node (share_of nodes node piece)) node.
  Proof. intros Hn Hp. now apply member_in, (piece_in_share N nodes valid). Qed.

  Lemma owners_exist piece r : 0 <= piece < pieces nodes -> In r (owners nodes piece) -> 0 <= r < N.
  Proof.
    intros Hp H. apply in_map_iff in H as (node & <- & Hn).
    apply (node_ranks_exist N nodes valid node); [assumption|]. now apply owner_of_node.
  Qed.

  Lemma owners_distinct piece : 0 <= piece < pieces nodes -> NoDup (owners nodes piece).
  Proof.
    intros Hp. unfold owners.
    assert (G : forall l, (forall node, In node l -> In node nodes) -> NoDup (concat l) ->
      NoDup (map (fun node => member node (share_of nodes node piece)) l)).
    { induction l as [|node l IH]; intros Hl D; [constructor|]. cbn [concat map] in *.
      apply NoDup_halves in D as (_ & D & X). constructor; [|apply IH; auto with datatypes].
      intros H. apply in_map_iff in H as (other & E & Ho).
      apply (X (member node (share_of nodes node piece))).
      - apply owner_of_node; [apply Hl; now left|assumption].
      - rewrite <- E. apply in_concat. exists other. split; [assumption|].
        apply owner_of_node; [apply Hl; now right|assumption]. }
    apply G; [auto|]. apply (all_distinct N nodes valid).
  Qed.

  (** ** One rail *)

  Lemma on_owners_matches piece : 0 <= piece < pieces nodes ->
    matches N (on_ranks (owners nodes piece) ring_all_reduce) (across_rounds nodes).
  Proof.
    intros Hp. apply on_ranks_matches; [now apply owners_distinct|
      intros; now apply (owners_exist piece)|].
    rewrite owners_size. now apply ring_all_reduce_matches.
  Qed.

  Lemma one_rail_matches piece : 0 <= piece < pieces nodes ->
    matches N (one_rail nodes piece) (across_rounds nodes).
  Proof. intros Hp. now apply on_chunks_matches, on_owners_matches. Qed.

  Lemma one_rail_length piece r : (length (one_rail nodes piece r) <= across_rounds nodes)%nat /\
    (In r (owners nodes piece) -> length (one_rail nodes piece r) = across_rounds nodes).
  Proof.
    unfold one_rail, rail. rewrite on_chunks_length. unfold on_ranks.
    destruct (index_of r (owners nodes piece)) as [i|] eqn:E.
    - rewrite owners_size, map_length. change (ring_all_reduce i K) with (ring K i).
      rewrite ring_all_reduce_depth. now split.
    - split; [cbn; lia|]. intros H. now apply index_of_none in E.
  Qed.

  Lemma rail_cut piece i : cut (range (piece * K) ((piece + 1) * K + 1)) i =
    piece * K + Z.min (Z.max 0 i) K.
  Proof.
    replace ((piece + 1) * K + 1) with (piece * K + K + 1) by lia. apply cut_of_range. lia.
  Qed.

  (** A rail names the chunks of its own piece only. *)
  Lemma rail_chunks piece r t a c : In a (round (one_rail nodes piece) t r) -> In c (chunks a) ->
    piece * K <= c < (piece + 1) * K.
  Proof.
    unfold one_rail, rail. rewrite on_chunks_round. intros Ha Hc.
    apply in_map_iff in Ha as (b & <- & _).
    assert (In c (widened (range (piece * K) ((piece + 1) * K + 1)) (chunks b)))
      by now destruct b. clear Hc.
    apply in_flat_map in H as (i & _ & H). apply in_range in H. rewrite !rail_cut in H. lia.
  Qed.

  Theorem one_rail_result {A} before (op : A -> A -> A) st piece k c :
    0 <= piece < pieces nodes -> 0 <= k < K -> piece * K <= c < (piece + 1) * K ->
    run_by before op (one_rail nodes piece) (across_rounds nodes) st
      (member (owners nodes piece) k) c =
    ring_value K (group_before (owners nodes piece) before) op
      (fun j _ => st (member (owners nodes piece) j) c) (c - piece * K) (K - 1).
  Proof.
    intros Hp Hk Hc. unfold one_rail, rail.
    rewrite on_chunks_result with (N := N) (i := c - piece * K).
    - rewrite on_ranks_result with (N := N);
        try rewrite owners_size; try assumption.
      + unfold across_rounds. fold K. now apply ring_all_reduce_result; [|lia|lia].
      + now apply owners_distinct.
      + intros; now apply (owners_exist piece).
      + now apply ring_all_reduce_matches.
    - intros i. fold K. rewrite !rail_cut. lia.
    - now apply on_owners_matches.
    - apply (owners_exist piece); [assumption|]. apply member_in. now rewrite owners_size.
    - fold K. rewrite !rail_cut. lia.
  Qed.

  (** ** All rails *)

  Lemma rail_programs_match P : In P (rail_programs nodes) -> matches N P (across_rounds nodes).
  Proof.
    intros H. apply in_map_iff in H as (piece & <- & Hp). apply in_range in Hp.
    now apply one_rail_matches.
  Qed.

  Lemma all_rails_matches : matches N (all_rails nodes) (across_rounds nodes).
  Proof. apply together_matches, rail_programs_match. Qed.

  Theorem all_rails_result {A} before (op : A -> A -> A) st piece k c :
    0 <= piece < pieces nodes -> 0 <= k < K -> piece * K <= c < (piece + 1) * K ->
    run_by before op (all_rails nodes) (across_rounds nodes) st (member (owners nodes piece) k) c =
    ring_value K (group_before (owners nodes piece) before) op
      (fun j _ => st (member (owners nodes piece) j) c) (c - piece * K) (K - 1).
  Proof.
    intros Hp Hk Hc. unfold all_rails.
    rewrite (together_result N _ _ rail_programs_match before op st (one_rail nodes piece)
      (map (one_rail nodes) (range 0 piece))
      (map (one_rail nodes) (range (piece + 1) (pieces nodes)))).
    - now apply one_rail_result.
    - unfold rail_programs. rewrite (range_split 0 piece), (range_first piece) by lia.
      now rewrite map_app.
    - intros P HP q t a Hq Ha Hin. rewrite <- map_app in HP.
      apply in_map_iff in HP as (other & <- & Ho).
      apply rail_chunks with (c := c) in Ha; [|assumption].
      assert (other <> piece) by (apply in_app_iff in Ho as [H|H]; apply in_range in H; lia). nia.
    - apply (owners_exist piece); [assumption|]. apply member_in. now rewrite owners_size.
  Qed.

  (** Every rank owns some piece of the vector, so no rank is without a rail. *)
  Lemma owns_some_piece r : 0 <= r < N -> exists piece,
    0 <= piece < pieces nodes /\ In r (owners nodes piece).
  Proof.
    intros Hr. destruct (node_of_rank N nodes valid r Hr) as [Hn Hin].
    set (node := node_of nodes r) in *. destruct (share_width N nodes valid node Hn) as [E W].
    set (width := unit nodes / size_of node) in *.
    destruct (index_of r node) as [j|] eqn:Ij; [|now apply index_of_none in Ij].
    apply index_of_some in Ij as [Hj Mj].
    assert (C := share_in_cuts nodes node j Hn ltac:(lia)). fold width in C.
    destruct (place_of_cut nodes _ C) as [Hp Mp].
    assert (Last := place_of_last N nodes HN valid).
    assert (CL : In (unit nodes) (cuts nodes)).
    { rewrite E. unfold width. apply share_in_cuts; [assumption|lia]. }
    assert (L : place_of nodes (j * width) < pieces nodes).
    { apply Z.nle_gt. intros H. rewrite <- Last in H.
      apply place_order in H; [|assumption|assumption].
      rewrite Mp in H. nia. }
    exists (place_of nodes (j * width)). split; [lia|]. apply in_map_iff. exists node.
    split; [|assumption]. rewrite Mp, E. transitivity (member node j); [|exact Mj]. f_equal.
    rewrite <- Z.mul_assoc, (Z.mul_comm width), Z.div_mul by nia. reflexivity.
  Qed.

  Lemma all_rails_length r : 0 <= r < N -> length (all_rails nodes r) = across_rounds nodes.
  Proof.
    intros Hr. destruct (owns_some_piece r Hr) as (piece & Hp & Hin).
    unfold all_rails, together. rewrite map_length, seq_length. unfold rail_programs.
    rewrite map_map. apply Nat.le_antisymm.
    - unfold longest. rewrite map_map. induction (range 0 (pieces nodes)) as [|p l IH]; [cbn; lia|].
      cbn [map fold_right]. assert (L := proj1 (one_rail_length p r)). lia.
    - rewrite <- (proj2 (one_rail_length piece r) Hin). apply longest_bounds.
      apply in_map_iff. exists piece. split; [reflexivity|]. now apply in_range.
  Qed.

  (** ** The whole *)

  Lemma rails_tail_matches : matches N (then_ (all_rails nodes) (gathers nodes))
    (across_rounds nodes + within_rounds nodes).
  Proof.
    apply matches_then.
    - apply all_rails_length.
    - apply all_rails_matches.
    - now apply gathers_matches.
  Qed.

  Lemma rails_parts_match :
    matches N (then_ (scatters nodes) (then_ (all_rails nodes) (gathers nodes)))
      (rails_rounds nodes).
  Proof.
    apply matches_then.
    - now apply scatters_length.
    - now apply scatters_matches.
    - apply rails_tail_matches.
  Qed.

  Theorem rails_matches : matches N (rails nodes) (rails_rounds nodes).
  Proof.
    apply (matches_congruent N (then_ (scatters nodes) (then_ (all_rails nodes) (gathers nodes))));
      [|apply rails_parts_match].
    intros r t _ _. unfold round. now rewrite (rails_parts N nodes HN valid).
  Qed.

  (** 2(m-1) rounds within nodes, of at most m ranks; 2(K-1) rounds between them. *)
  Theorem rails_depth r : 0 <= r < N ->
    length (rails nodes r) = Z.to_nat (2 * (largest nodes - 1) + 2 * (K - 1)).
  Proof.
    intros Hr. rewrite (rails_parts N nodes HN valid). unfold then_.
    rewrite !app_length, (scatters_length N nodes valid), all_rails_length,
      (gathers_length N nodes valid) by assumption.
    destruct (some_node N nodes HN valid) as [node Hn].
    assert (B := node_size_bounds N nodes valid node Hn).
    unfold within_rounds, across_rounds. fold K. lia.
  Qed.
End Across.
