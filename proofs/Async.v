(** How ranks run a schedule, each at its own pace: the machine that the theorems on timing
    speak of (refcoll/interpreters/execute.py, refcoll/transport.py).

        rank 0   [-- step 0 --][------- step 1 -------][- step 2 -]      each rank passes
        rank 1      [---- step 0 ----]     [- step 1 -]    [- step 2 -]  through its steps
                      ^read     ^taken                                   when it can

    A rank *starts* a step: all its sends and receives are posted together.  Then, one at a
    time, in whatever order it happens:
    - the transport *reads* a send, that is, takes the chunks out of the sender's memory: as
      they are at that moment, or as they were when the step started, which is what it must
      have kept of chunks that the step reduces into;
    - a receive *takes* its message, once that has been read: the k-th message from q to r is
      for r's k-th receive from q, counted over the whole schedule.  A Copy may land at any
      time; a Reduce waits for the receives that are written before it.
    When all of this is done, the rank *ends* the step.

    [transport] says which messages may be read now: with [rendezvous], only those whose
    receive is posted; with [buffered m], m more on each channel; with [unbounded], all.

    [orderly] is what a program must be, for the theorems in AsyncResult.v and Progress.v:
    - in every round, as many messages from q to r are sent as are received ([round_pairs]:
      Python's "bounds" of ranks, "matching", aligned);
    - no Copy hits a chunk that the step sends, or received before ([race_free]: "race").
    It is decided by computation: [AsyncCheck.orderly_by_computation]. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Landing.
Import ListNotations.
Open Scope Z_scope.

(** ** Which programs *)

Definition round_pairs (N : Z) (P : Z -> step) : Prop :=
  (forall r a, 0 <= r < N -> In a (P r) -> 0 <= peer a < N) /\
  (forall q r, 0 <= q < N -> 0 <= r < N ->
     length (sends_to r (P q)) = length (receives_from q (P r))).

Definition is_copy (a : action) : bool := match a with Copy _ _ => true | _ => false end.
Definition chunks_where (which : action -> bool) (s : step) : list Z :=
  flat_map chunks (filter which s).
Definition sent_chunks : step -> list Z := chunks_where is_send.
Definition received_chunks : step -> list Z := chunks_where (fun a => negb (is_send a)).
Definition reduced_chunks : step -> list Z :=
  chunks_where (fun a => negb (is_send a) && negb (is_copy a)).

Definition race_free (s : step) : Prop :=
  forall earlier c source later, s = earlier ++ Copy c source :: later ->
  forall i, In i c -> ~ In i (sent_chunks s) /\ ~ In i (received_chunks earlier).

Definition pairs (N : Z) (P : program) (n : nat) : Prop :=
  forall t, (t < n)%nat -> round_pairs N (round P t).

Definition orderly (N : Z) (P : program) (n : nat) : Prop :=
  pairs N P n /\ forall t r, (t < n)%nat -> 0 <= r < N -> race_free (round P t r).

(** ** The machine *)

(** Messages from q to r in the first [t] rounds, counted where they are sent and received. *)
Fixpoint sends_before (P : program) (q r : Z) (t : nat) : nat :=
  match t with
  | O => O
  | S t => sends_before P q r t + length (sends_to r (round P t q))
  end.
Fixpoint receives_before (P : program) (q r : Z) (t : nat) : nat :=
  match t with
  | O => O
  | S t => receives_before P q r t + length (receives_from q (round P t r))
  end.

(** The number, among all messages from q to r, of the one that action [i] of a step sends,
    and of the one that it receives. *)
Definition send_number (P : program) (q r : Z) (t i : nat) : nat :=
  sends_before P q r t + length (sends_to r (firstn i (round P t q))).
Definition receive_number (P : program) (q r : Z) (t i : nat) : nat :=
  receives_before P q r t + length (receives_from q (firstn i (round P t r))).

Record machine (A : Type) := Machine {
  ended : Z -> nat;                          (* how many steps a rank has ended *)
  inside : Z -> bool;                        (* whether it has started the next one *)
  done : Z -> nat -> bool;                   (* which actions of that are done *)
  kept : state A;                            (* what a rank held when it started that *)
  memory : state A;                          (* what it holds now *)
  channel : Z -> Z -> nat -> option (list A) (* message k from q to r, once it has been read *)
}.
Arguments Machine {A}. Arguments ended {A}. Arguments inside {A}. Arguments done {A}.
Arguments kept {A}. Arguments memory {A}. Arguments channel {A}.

Definition set {X : Type} (f : Z -> X) (r : Z) (x : X) : Z -> X :=
  fun q => if q =? r then x else f q.
Definition tick (f : Z -> nat -> bool) (r : Z) (i : nat) : Z -> nat -> bool :=
  set f r (fun j => if (j =? i)%nat then true else f r j).
Definition put {X : Type} (f : Z -> Z -> nat -> option X) (q r : Z) (k : nat) (x : X) :=
  fun q' r' k' => if (q' =? q) && (r' =? r) && (k' =? k)%nat then Some x else f q' r' k'.

Definition transport (A : Type) := machine A -> Z -> Z -> nat -> Prop.

Section Moves.
  Context {A : Type} (before : Z -> Z -> bool) (op : A -> A -> A).
  Variables (N : Z) (P : program) (n : nat) (may_read : transport A).

  (** The step that rank [r] is in, or will start next. *)
  Definition its_step (m : machine A) (r : Z) : step := round P (ended m r) r.

  (** What the transport may find for chunk [c] when it reads a send of rank [q]. *)
  Definition may_find (m : machine A) (q c : Z) (value : A) : Prop :=
    value = kept m q c \/ ~ In c (reduced_chunks (its_step m q)) /\ value = memory m q c.

  Definition receives_done_before (m : machine A) (r : Z) (i : nat) : Prop :=
    forall j b, (j < i)%nat -> nth_error (its_step m r) j = Some b -> is_send b = false ->
    done m r j = true.

  Inductive move (m : machine A) : machine A -> Prop :=
  | Starts r : 0 <= r < N -> inside m r = false -> (ended m r < n)%nat ->
      move m (Machine (ended m) (set (inside m) r true) (set (done m) r (fun _ => false))
                (set (kept m) r (memory m r)) (memory m) (channel m))
  | Reads q i c to values : 0 <= q < N -> inside m q = true ->
      nth_error (its_step m q) i = Some (Send c to) -> done m q i = false ->
      may_read m q to (send_number P q to (ended m q) i) -> Forall2 (may_find m q) c values ->
      move m (Machine (ended m) (inside m) (tick (done m) q i) (kept m) (memory m)
                (put (channel m) q to (send_number P q to (ended m q) i) values))
  | Takes r i a values : 0 <= r < N -> inside m r = true ->
      nth_error (its_step m r) i = Some a -> is_send a = false -> done m r i = false ->
      (is_copy a = false -> receives_done_before m r i) ->
      channel m (peer a) r (receive_number P (peer a) r (ended m r) i) = Some values ->
      move m (Machine (ended m) (inside m) (tick (done m) r i) (kept m)
                (set (memory m) r (fun c => landed before op a r values c (memory m r c)))
                (channel m))
  | Ends r : 0 <= r < N -> inside m r = true ->
      (forall i, (i < length (its_step m r))%nat -> done m r i = true) ->
      move m (Machine (set (ended m) r (S (ended m r))) (set (inside m) r false) (done m)
                (kept m) (memory m) (channel m)).

  Definition start (st : state A) : machine A :=
    Machine (fun _ => O) (fun _ => false) (fun _ _ => false) st st (fun _ _ _ => None).

  (** [reaches st k m]: from [st], [k] moves, of any ranks in any order, can lead to [m]. *)
  Inductive reaches (st : state A) : nat -> machine A -> Prop :=
  | Begins : reaches st O (start st)
  | Moves k m m' : reaches st k m -> move m m' -> reaches st (S k) m'.

  Definition finished (m : machine A) : Prop :=
    forall r, 0 <= r < N -> ended m r = n /\ inside m r = false.
End Moves.

(** ** Transports *)

(** How many steps rank [r] has started. *)
Definition started {A} (m : machine A) (r : Z) : nat :=
  if inside m r then S (ended m r) else ended m r.

Definition buffered {A} (P : program) (room : nat) : transport A :=
  fun m q r k => (k < receives_before P q r (started m r) + room)%nat.
Definition rendezvous {A} (P : program) : transport A := buffered P 0.
Definition unbounded {A} : transport A := fun _ _ _ _ => True.

(** ** First lemmas *)

Lemma set_same {X} (f : Z -> X) r x : set f r x r = x.
Proof. unfold set. now rewrite Z.eqb_refl. Qed.

Lemma set_other {X} (f : Z -> X) r x q : q <> r -> set f r x q = f q.
Proof. unfold set. destruct (Z.eqb_spec q r); [contradiction|reflexivity]. Qed.

Lemma tick_true f r i q j : tick f r i q j = true -> f q j = true \/ (q = r /\ j = i).
Proof.
  unfold tick, set. destruct (Z.eqb_spec q r) as [->|]; [|tauto].
  destruct (Nat.eqb_spec j i) as [->|]; tauto.
Qed.

Lemma tick_keeps f r i q j : f q j = true -> tick f r i q j = true.
Proof.
  unfold tick, set. destruct (Z.eqb_spec q r) as [->|]; [|tauto].
  now destruct (j =? i)%nat.
Qed.

Lemma tick_else f r i q j : (q = r -> j <> i) -> tick f r i q j = f q j.
Proof.
  intros H. unfold tick, set. destruct (Z.eqb_spec q r) as [->|]; [|reflexivity].
  destruct (Nat.eqb_spec j i); [now apply H in e|reflexivity].
Qed.

Lemma tick_done f r i : tick f r i r i = true.
Proof. unfold tick. now rewrite set_same, Nat.eqb_refl. Qed.

Lemma in_chunks_where which s c :
  In c (chunks_where which s) <-> exists a, In a s /\ which a = true /\ In c (chunks a).
Proof.
  unfold chunks_where. rewrite in_flat_map. split; intros (a & H & Hc).
  - apply filter_In in H as [Ha Hw]. eauto.
  - destruct Hc as [Hw Hc]. exists a. now rewrite filter_In.
Qed.

Lemma put_some {X} (f : Z -> Z -> nat -> option X) q r k x q' r' k' y :
  put f q r k x q' r' k' = Some y -> (q' = q /\ r' = r /\ k' = k /\ y = x) \/ f q' r' k' = Some y.
Proof.
  unfold put. destruct (Z.eqb_spec q' q), (Z.eqb_spec r' r), (Nat.eqb_spec k' k);
    cbn [andb]; intros H; auto. injection H as <-. auto.
Qed.

(** A message is numbered alike at both ends. *)
Lemma before_agree N P n q r t : pairs N P n -> 0 <= q < N -> 0 <= r < N -> (t <= n)%nat ->
  sends_before P q r t = receives_before P q r t.
Proof.
  intros HP Hq Hr. induction t as [|t IH]; intros Ht; [reflexivity|]. cbn.
  rewrite IH by lia. f_equal. now apply HP.
Qed.

(** What foundation programs are: matching is more than pairing. *)
Lemma matches_pairs N P n : matches N P n -> pairs N P n.
Proof.
  intros M t Ht. destruct (M t Ht) as [Hp Hs]. split; [exact Hp|].
  intros q r Hq Hr. now rewrite Hs.
Qed.
