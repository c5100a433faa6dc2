(** Running a program by computation: the meaning of Schedule.v, made fast enough to test.

        round 1      round 2             [run] describes a state as a function, which remembers
        +------+     +------+            every round before it; asked for one value, it plays
        | table| --> | table| --> ...    them all again, and again for each value that this one
        +------+     +------+            needs.  [run_in_tables] writes each state down first.

    [run_in_tables_is_run]: both are the same, for any program, whether its messages fit or not.
    So what tests compute with [run_in_tables], and compare with what refcoll's interpreters
    compute, is what the theorems speak of. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Columns Collectives.
Import ListNotations.
Open Scope Z_scope.

(** Entry [i] of a list, counted from 0, if there is one. *)
Definition entry {X} (i : Z) (l : list X) : option X :=
  if 0 <=? i then nth_error l (Z.to_nat i) else None.

(** The first [N] schedules of a program, written down; from there on the program itself. *)
Definition written (N : Z) (P : program) : program :=
  let schedules := map P (ranks N) in
  fun r => match entry r schedules with Some s => s | None => P r end.

Section Tables.
  Context {A : Type} (N C : Z).

  Definition table (st : state A) : list (list A) := map (fun r => map (st r) (ranks C)) (ranks N).

  (** The same state, its first [C] chunks on its first [N] ranks written down. *)
  Definition tabulated (st : state A) : state A :=
    let rows := table st in
    fun r c => match entry r rows with
               | Some row => match entry c row with Some value => value | None => st r c end
               | None => st r c
               end.

  Fixpoint run_in_tables (op : A -> A -> A) (P : program) (n : nat) (st : state A) : state A :=
    match n with
    | O => tabulated st
    | S t => tabulated (round_by Z.ltb op (round P t) (run_in_tables op P t st))
    end.
End Tables.

(** The longest schedule. *)
Definition rounds (N : Z) (P : program) : nat :=
  fold_right Nat.max O (map (fun r => length (P r)) (ranks N)).

(** Who contributed to each chunk of each rank, in the order of operands, when all is done. *)
Definition contributions_table (N C : Z) (P : program) : list (list (list contribution)) :=
  let Q := written N P in table N C (run_in_tables N C (@app contribution) Q (rounds N Q) own).

(** ** Nothing changes *)

Lemma entry_of_ranks {X} (f : Z -> X) N i v : entry i (map f (ranks N)) = Some v -> v = f i.
Proof.
  unfold entry. destruct (Z.leb_spec 0 i); [|discriminate]. intros E.
  assert (H' := E). rewrite <- (nth_error_nth _ _ (f i) E).
  assert (L := proj1 (nth_error_Some _ _) (ltac:(rewrite H'; discriminate))). unfold ranks in *.
  rewrite map_length, range_length in L. rewrite nth_loop by lia. f_equal. lia.
Qed.

Lemma written_is_program N P r : written N P r = P r.
Proof. unfold written. destruct entry eqn:E; [now apply entry_of_ranks in E|reflexivity]. Qed.

Lemma tabulated_is_state {A} N C (st : state A) r c : tabulated N C st r c = st r c.
Proof.
  unfold tabulated, table. destruct (entry r _) eqn:E; [|reflexivity].
  apply entry_of_ranks in E. subst. destruct (entry c _) eqn:E; [|reflexivity].
  now apply entry_of_ranks in E.
Qed.

Theorem run_in_tables_is_run {A} N C (op : A -> A -> A) P n st r c :
  run_in_tables N C op P n st r c = run op P n st r c.
Proof.
  revert r c. induction n as [|t IH]; intros r c; cbn [run_in_tables run_by];
    rewrite tabulated_is_state; [reflexivity|].
  now apply (round_homomorphism Z.ltb op op (fun a => a)).
Qed.
