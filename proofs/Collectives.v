(** What each collective must achieve (refcoll/collectives.py), and what that means for values.

        before: rank r, chunk c holds  [(r, c)]         one contribution: rank r's own
        after:  rank r, chunk c holds  [(2,c); (3,c); (0,c); (1,c)]

    Run a schedule on lists of contributions, merged by appending: lists forget nothing, so
    what a chunk ends with tells who is in it, how often, from which chunk, and in which order.
    An all-reduce must end, everywhere, with every rank's contribution to the chunk exactly
    once.  Then its result is right for every commutative and associative operator; and where
    the contributions also stand in rank order, for every associative one
    ([all_reduce_is_sum], [all_reduce_in_rank_order_is_sum]). *)
From Coq Require Import ZArith List Permutation Lia.
From Refcoll Require Import Lists Schedule Columns.
Import ListNotations.
Open Scope Z_scope.

Definition contribution := (Z * Z)%type.              (* rank, chunk *)
Definition own : state (list contribution) := fun r c => [(r, c)].

(** What every rank holds after [n] rounds: who contributed, in the order of operands. *)
Definition contributions (P : program) (n : nat) : state (list contribution) :=
  run (@app contribution) P n own.

(** Every rank's contribution to chunk [c], in rank order. *)
Definition everyone (N c : Z) : list contribution := map (fun q => (q, c)) (ranks N).

(** ** The post-conditions, for N ranks and C chunks *)

Definition all_reduces (N C : Z) (P : program) (n : nat) : Prop :=
  forall r c, 0 <= r < N -> 0 <= c < C -> Permutation (contributions P n r c) (everyone N c).

Definition all_reduces_in_rank_order (N C : Z) (P : program) (n : nat) : Prop :=
  forall r c, 0 <= r < N -> 0 <= c < C -> contributions P n r c = everyone N c.

(** Chunk r is rank r's. *)
Definition reduce_scatters (N : Z) (P : program) (n : nat) : Prop :=
  forall r, 0 <= r < N -> Permutation (contributions P n r r) (everyone N r).

Definition reduces_to_root (N C : Z) (P : program) (n : nat) : Prop :=
  forall c, 0 <= c < C -> Permutation (contributions P n 0 c) (everyone N c).

Definition all_gathers (N : Z) (P : program) (n : nat) : Prop :=
  forall r c, 0 <= r < N -> 0 <= c < N -> contributions P n r c = [(c, c)].

Definition broadcasts (N C : Z) (P : program) (n : nat) : Prop :=
  forall r c, 0 <= r < N -> 0 <= c < C -> contributions P n r c = [(0, c)].

Lemma in_rank_order_all_reduces N C P n : all_reduces_in_rank_order N C P n -> all_reduces N C P n.
Proof. intros H r c Hr Hc. now rewrite H. Qed.

(** ** From contributions to values *)

Section Values.
  Context {A : Type} (op : A -> A -> A) (x : state A).
  Hypothesis associative : forall a b c, op a (op b c) = op (op a b) c.

  (** The merge of some contributions, left to right; none for no contribution. *)
  Definition merge (a b : option A) : option A :=
    match a, b with
    | Some a, Some b => Some (op a b)
    | None, b => b
    | a, None => a
    end.
  Definition value (held : list contribution) : option A :=
    fold_right (fun p => merge (Some (x (fst p) (snd p)))) None held.

  Lemma merge_associative a b c : merge a (merge b c) = merge (merge a b) c.
  Proof. destruct a, b, c; cbn; try reflexivity. now rewrite associative. Qed.

  Lemma value_app l l' : value (l ++ l') = merge (value l) (value l').
  Proof.
    induction l as [|p l IH]; [cbn [app]; now destruct (value l')|].
    cbn [app value fold_right]. fold (value (l ++ l')) (value l).
    now rewrite IH, merge_associative.
  Qed.

  (** What a run on values gives is the merge of what it gives on contributions. *)
  Lemma run_value P n r c : Some (run op P n x r c) = value (contributions P n r c).
  Proof.
    unfold contributions. set (each := fun r c => Some (x r c)).
    transitivity (run merge P n each r c).
    - now apply (run_homomorphism _ op merge Some).
    - symmetry. apply (run_homomorphism _ (@app contribution) merge value value_app).
      reflexivity.
  Qed.

  (** ((x0 + x1) + x2) + ... + x(N-1), for chunk c. *)
  Definition sum_in_rank_order (N c : Z) : A :=
    fold_left (fun total q => op total (x q c)) (range 1 N) (x 0 c).

  Lemma value_from l a :
    fold_left (fun total q => op total (x (fst q) (snd q))) l a =
    match value l with None => a | Some b => op a b end.
  Proof.
    revert a. induction l as [|[q c] l IH]; intros a; [reflexivity|].
    cbn [fold_left value fold_right fst snd]. fold (value l). rewrite IH.
    destruct (value l); cbn; now rewrite ?associative.
  Qed.

  Lemma value_everyone N c : 0 < N -> value (everyone N c) = Some (sum_in_rank_order N c).
  Proof.
    intros HN. unfold everyone, ranks, sum_in_rank_order. rewrite range_first by assumption.
    change (0 + 1) with 1. generalize (range 1 N) as l. intros l.
    assert (H := value_from (map (fun q => (q, c)) l) (x 0 c)). rewrite fold_left_map in H.
    cbn [fst snd] in H. rewrite H. cbn [map value fold_right fst snd].
    fold (value (map (fun q => (q, c)) l)). now destruct (value _).
  Qed.

  (** Operands met in rank order: right for any associative operator. *)
  Theorem all_reduce_in_rank_order_is_sum N C P n : all_reduces_in_rank_order N C P n ->
    forall r c, 0 <= r < N -> 0 <= c < C -> run op P n x r c = sum_in_rank_order N c.
  Proof.
    intros H r c Hr Hc. enough (E : Some (run op P n x r c) = Some (sum_in_rank_order N c))
      by now injection E.
    rewrite run_value, H, value_everyone by lia. reflexivity.
  Qed.

  Hypothesis commutative : forall a b, op a b = op b a.

  Lemma merge_commutative a b : merge a b = merge b a.
  Proof. destruct a, b; cbn; try reflexivity. now rewrite commutative. Qed.

  Lemma value_permutation l l' : Permutation l l' -> value l = value l'.
  Proof.
    induction 1 as [|p l l' _ IH|p q l|l l' l'' _ IH _ IH']; [reflexivity| | |congruence].
    - cbn [value fold_right]. fold (value l) (value l'). now rewrite IH.
    - cbn [value fold_right]. fold (value l).
      now rewrite !merge_associative, (merge_commutative (Some _) (Some _)).
  Qed.

  (** Everyone exactly once: right for any commutative and associative operator. *)
  Theorem contributions_sum N P n r c : 0 < N ->
    Permutation (contributions P n r c) (everyone N c) ->
    run op P n x r c = sum_in_rank_order N c.
  Proof.
    intros HN H. enough (E : Some (run op P n x r c) = Some (sum_in_rank_order N c))
      by now injection E.
    now rewrite run_value, (value_permutation _ _ H), value_everyone.
  Qed.

  Theorem all_reduce_is_sum N C P n : all_reduces N C P n ->
    forall r c, 0 <= r < N -> 0 <= c < C -> run op P n x r c = sum_in_rank_order N c.
  Proof. intros H r c Hr Hc. apply contributions_sum; [lia|now apply H]. Qed.

  Theorem reduce_scatter_is_sum N P n : reduce_scatters N P n ->
    forall r, 0 <= r < N -> run op P n x r r = sum_in_rank_order N r.
  Proof. intros H r Hr. apply contributions_sum; [lia|now apply H]. Qed.
End Values.
