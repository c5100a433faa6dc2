(** Hierarchical all-reduces are orderly, for every shape of nodes, so that any timing gives what
    RailsResult.v and LeadersResult.v say (AsyncEnds.v).

        within nodes     each rank's own step, on wider chunks
        between nodes    several rails in one step of a rank: each on its own piece, so that no
                         Copy of one meets what another sends

    [rails_orderly], [leaders_orderly]. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Combinators Groups Chunking SideBySide Ring.
From Refcoll Require Import Tree Nodes Pieces Rails RailsAcross Leaders.
From Refcoll Require Import Async AsyncCombinators AsyncAlgorithms.
Import ListNotations.
Open Scope Z_scope.

Section Hierarchical.
  Variables (N : Z) (nodes : list (list Z)).
  Hypothesis HN : 0 < N.
  Hypothesis valid : valid_nodes N nodes.

  Lemma per_node_never_races core cuts_for rounds r : 0 <= r < N ->
    (forall node i, In node nodes -> cut (cuts_for node) i <= cut (cuts_for node) (i + 1)) ->
    (forall m place, 0 <= place < m -> never_races (core place m)) ->
    never_races (per_node nodes core cuts_for rounds r).
  Proof.
    intros Hr Increasing H. destruct (node_of_rank N nodes valid r Hr) as [Hn _].
    apply never_races_padded, never_races_on_chunks; [auto|].
    apply never_races_on_ranks. auto.
  Qed.

  (** ** Rails *)

  Lemma one_rail_never_races piece r : never_races (one_rail nodes piece r).
  Proof.
    apply never_races_on_chunks.
    - intros i. rewrite !(rail_cut N nodes HN valid). lia.
    - apply never_races_on_ranks. intros place Hp. apply ring_never_races; lia.
  Qed.

  Lemma all_rails_never_races r : never_races (all_rails nodes r).
  Proof.
    unfold all_rails, rail_programs. rewrite map_map. apply never_races_together.
    - intros s Hs. apply in_map_iff in Hs as (piece & <- & _). apply one_rail_never_races.
    - intros earlier s later t a b E Ha Hb.
      apply map_eq_app in E as (l1 & l2 & El & <- & E).
      apply map_eq_cons in E as (piece & l3 & -> & <- & <-).
      apply in_concat in Hb as (each & He & Hb). apply in_map_iff in He as (s & <- & Hs).
      apply in_map_iff in Hs as (other & <- & Ho).
      intros c Hc Hc'. apply (rail_chunks N nodes HN valid piece r t) in Hc; [|exact Ha].
      apply (rail_chunks N nodes HN valid other r t) in Hc'; [|exact Hb].
      assert (D : NoDup (l1 ++ piece :: l3)) by (rewrite <- El; apply range_NoDup).
      apply NoDup_remove_2 in D. apply D, in_or_app. right.
      replace piece with other by nia. exact Ho.
  Qed.

  Theorem rails_orderly : orderly N (rails nodes) (rails_rounds nodes).
  Proof.
    apply orderly_if; [now apply rails_matches|]. intros r Hr.
    rewrite (rails_parts N nodes HN valid). apply never_races_app; [|apply never_races_app].
    - apply (per_node_never_races ring_reduce_scatter (node_shares nodes)); trivial;
        [exact (shares_increase N nodes HN valid)|].
      intros; apply scatter_never_races.
    - apply all_rails_never_races.
    - apply (per_node_never_races ring_all_gather (node_shares nodes)); trivial;
        [exact (shares_increase N nodes HN valid)|].
      intros m place Hp. apply gather_never_races; lia.
  Qed.

  (** ** Leaders *)

  Theorem leaders_orderly : orderly N (by_leaders nodes) (leaders_rounds nodes).
  Proof.
    apply orderly_if; [now apply leaders_matches|]. intros r Hr.
    rewrite (leaders_parts N nodes HN valid). apply never_races_app; [|apply never_races_app].
    - apply (per_node_never_races binomial_reduce (fun _ => [0; node_count nodes])); trivial;
        [exact (whole_increases N nodes HN valid)|].
      intros; apply never_races_reversed.
    - apply never_races_padded, never_races_on_ranks. intros place Hp. apply ring_never_races; lia.
    - apply (per_node_never_races binomial_broadcast (fun _ => [0; node_count nodes])); trivial;
        [exact (whole_increases N nodes HN valid)|].
      intros; apply short_never_races, broadcast_short.
  Qed.
End Hierarchical.
