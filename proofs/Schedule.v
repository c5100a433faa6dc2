(** The schedule language (refcoll/schedule.py), and what a schedule does.

        rank 0                      rank 1                    one step of all ranks:
        Send [0] 1, Reduce [1] 1    Send [1] 0, Reduce [0] 0

          x00 x01                     x10 x11                 what they hold before
              |  \________    ________/  |
              |   ________\__/           |                    sends carry these values
              |  /         \             |
          x00 x01+x11        x00+x10  x11                     what they hold after

    A schedule is a list of steps; a step is a list of actions; a program gives each rank its
    schedule, and step number t of all ranks is one *round*.  Three rules fix the meaning:

    - A round reads before it writes: a send carries what its chunks held before the round.
    - The k-th send from a to b in a round meets the k-th receive at b from a.
    - Receives are applied in the order in which they are written.

    Nothing is assumed of the values or of the operator: [op] may be any function of two values.
    The operand of the rank that comes earlier in [before] goes left, unless the Reduce says
    on which side the incoming one stands.  For the ranks themselves [before] is [<]; among
    the members of a group it is the order of the ranks that they stand for. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists.
Import ListNotations.
Open Scope Z_scope.

(** ** The language *)

Inductive side := Left | Right.

Inductive action :=
| Send (chunks : list Z) (to : Z)
| Copy (chunks : list Z) (source : Z)
| Reduce (chunks : list Z) (source : Z) (incoming : option side).

Definition step := list action.
Definition schedule := list step.
Definition program := Z -> schedule.

Definition IDLE : step := [].

Definition chunks (a : action) : list Z :=
  match a with Send c _ => c | Copy c _ => c | Reduce c _ _ => c end.
Definition peer (a : action) : Z :=
  match a with Send _ q => q | Copy _ q => q | Reduce _ q _ => q end.
Definition is_send (a : action) : bool := match a with Send _ _ => true | _ => false end.

(** Step number [t] of every rank; a rank whose schedule has ended is idle. *)
Definition round (P : program) (t : nat) : Z -> step := fun r => nth t (P r) IDLE.

(** ** Matching *)

(** The chunks of each message that a step sends to [r], in order. *)
Fixpoint sends_to (r : Z) (s : step) : list (list Z) :=
  match s with
  | [] => []
  | Send c to :: rest => if to =? r then c :: sends_to r rest else sends_to r rest
  | _ :: rest => sends_to r rest
  end.

(** The chunks of each message that a step receives from [q], in order. *)
Fixpoint receives_from (q : Z) (s : step) : list (list Z) :=
  match s with
  | [] => []
  | Copy c source :: rest
  | Reduce c source _ :: rest =>
      if source =? q then c :: receives_from q rest else receives_from q rest
  | Send _ _ :: rest => receives_from q rest
  end.

(** Each receive of [todo] with the chunks, at the sender, of the send that it meets, where
    [earlier] is what stands before [todo] in the step. *)
Fixpoint deliver (P : Z -> step) (r : Z) (earlier todo : step) : list (action * list Z) :=
  match todo with
  | [] => []
  | a :: rest =>
      let later := deliver P r (earlier ++ [a]) rest in
      if is_send a then later
      else let k := length (receives_from (peer a) earlier) in
           (a, nth k (sends_to r (P (peer a))) []) :: later
  end.

(** ** Meaning *)

(** What every rank holds in every chunk: [st r c]. *)
Definition state (A : Type) := Z -> Z -> A.

Section Meaning.
  Context {A : Type} (before : Z -> Z -> bool) (op : A -> A -> A).

  Definition incoming_goes_left (side : option side) (source rank : Z) : bool :=
    match side with None => before source rank | Some Left => true | Some Right => false end.

  (** What a receive makes, on [rank], of the value that arrives and of its own. *)
  Definition receive (a : action) (rank : Z) (incoming own : A) : A :=
    match a with
    | Send _ _ => own
    | Copy _ _ => incoming
    | Reduce _ source side =>
        if incoming_goes_left side source rank then op incoming own else op own incoming
    end.

  Definition write (memory : Z -> A) (c : Z) (value : A) : Z -> A :=
    fun i => if i =? c then value else memory i.

  (** One message arrives: chunk after chunk, the sender's [theirs] into [chunks a]. *)
  Definition arrive (st : state A) (r : Z) (memory : Z -> A) (message : action * list Z) : Z -> A :=
    let (a, theirs) := message in
    fold_left (fun memory pair =>
                 write memory (fst pair)
                   (receive a r (st (peer a) (snd pair)) (memory (fst pair))))
              (combine (chunks a) theirs) memory.

  Definition round_by (P : Z -> step) (st : state A) : state A :=
    fun r => fold_left (arrive st r) (deliver P r [] (P r)) (st r).

  (** What all ranks hold after the first [n] rounds. *)
  Fixpoint run_by (P : program) (n : nat) (st : state A) : state A :=
    match n with
    | O => st
    | S t => round_by (round P t) (run_by P t st)
    end.
End Meaning.

(** Among the ranks themselves the lower one's operand goes left. *)
Notation run := (run_by Z.ltb).

(** ** Programs whose messages fit *)

(** In this round every rank names ranks that exist, and what [q] sends to [r] and what [r]
    receives from [q] are the same messages, of the same chunks, in the same order.
    (Python's verdicts "matching" and "aligned", for programs of one area.) *)
Definition round_matches (N : Z) (P : Z -> step) : Prop :=
  (forall r a, 0 <= r < N -> In a (P r) -> 0 <= peer a < N) /\
  (forall q r, 0 <= q < N -> 0 <= r < N -> sends_to r (P q) = receives_from q (P r)).

Definition matches (N : Z) (P : program) (n : nat) : Prop :=
  forall t, (t < n)%nat -> round_matches N (round P t).

(** No rank has anything left to do after [n] rounds. *)
Definition ends_after (N : Z) (P : program) (n : nat) : Prop :=
  forall r, 0 <= r < N -> (length (P r) <= n)%nat.

(** ** First lemmas *)

Lemma receives_from_app q s s' :
  receives_from q (s ++ s') = receives_from q s ++ receives_from q s'.
Proof.
  induction s as [|[c p|c p|c p e] s IH]; cbn; try destruct (p =? q); now rewrite ?IH.
Qed.

Lemma sends_to_app r s s' : sends_to r (s ++ s') = sends_to r s ++ sends_to r s'.
Proof.
  induction s as [|[c p|c p|c p e] s IH]; cbn; try destruct (p =? r); now rewrite ?IH.
Qed.

Lemma round_beyond P t r : (length (P r) <= t)%nat -> round P t r = IDLE.
Proof. intros H. unfold round. now rewrite nth_overflow. Qed.

Lemma run_step {A} before (op : A -> A -> A) P t st :
  run_by before op P (S t) st = round_by before op (round P t) (run_by before op P t st).
Proof. reflexivity. Qed.

Lemma round_idle {A} before (op : A -> A -> A) P st r :
  P r = IDLE -> round_by before op P st r = st r.
Proof. intros H. unfold round_by. now rewrite H. Qed.
