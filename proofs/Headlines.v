(** The headlines, spelled out in the words of the schedule language: read these first.

        what is said here          Schedule.v, Traffic.v: what programs do, and send
        is what is proved there    Ring*.v, Optimal*.v, LowerBound*.v, Async*.v, Progress.v

    A statement such as [busiest_least N (all_reduce N S) P len] says what its definitions make
    it say.  Here the same stands without them, and so would no longer follow if one of them
    came to ask for less.  [op] and values are any, N is any number of ranks:
    - [ring_all_reduce_is_right]: it is an all-reduce, and each of its messages has its receive.
    - [ring_all_reduce_is_optimal], [rabenseifner_is_optimal]: in every all-reduce of as many
      elements some rank sends, and some rank receives, no less than any rank of this one.
    - [binomial_broadcast_is_quickest]: at one send and one receive a rank a round, no broadcast
      takes fewer rounds.
    - [ring_all_reduce_at_any_timing]: however ranks drift and messages wait, with whatever room
      in the channels: some move is possible, or everyone has finished, with the sum. *)
From Coq Require Import ZArith List Bool Permutation Lia.
From Refcoll Require Import Lists Schedule Collectives Traffic.
From Refcoll Require Import Ring RingOnce AnySize Tree LowerBoundSchedules LowerBoundRounds.
From Refcoll Require Import Optimal OptimalRounds.
From Refcoll Require Import Async AsyncResult AsyncAlgorithms Progress.
Import ListNotations.
Open Scope Z_scope.

(** ** Words *)

(** Step t of rank r; everybody's contributions to chunk c, in the end, on rank r. *)
Definition step_of (P : program) (t : nat) (r : Z) : step := nth t (P r) [].
Definition ends_with (P : program) (n : nat) (r c : Z) : list (Z * Z) :=
  run (@app (Z * Z)) P n (fun rank chunk => [(rank, chunk)]) r c.

(** In n rounds, every message has its receive, of the same of C chunks (in whatever area). *)
Definition fitting (N C : Z) (P : program) (n : nat) : Prop := forall t, (t < n)%nat ->
  (forall r a, 0 <= r < N -> In a (step_of P t r) -> 0 <= peer a < N) /\
  (forall q r, 0 <= q < N -> 0 <= r < N ->
     map (map (fun i => i mod C)) (sends_to r (step_of P t q)) =
     map (map (fun i => i mod C)) (receives_from q (step_of P t r))).

(** Every rank ends, in each of C chunks, with every rank's contribution exactly once. *)
Definition everyone_once (N C : Z) (P : program) (n : nat) : Prop :=
  forall r c, 0 <= r < N -> 0 <= c < C ->
  Permutation (ends_with P n r c) (map (fun q => (q, c)) (ranks N)).

(** ** The ring is an all-reduce *)

Theorem ring_all_reduce_is_right N : 0 < N ->
  let P := fun rank => ring_all_reduce rank N in let n := Z.to_nat (2 * (N - 1)) in
  (forall r, length (P r) = n) /\ fitting N N P n /\ everyone_once N N P n.
Proof.
  intros HN P n. repeat apply conj.
  - exact (ring_all_reduce_depth N).
  - exact (matches_fits N N P n (ring_all_reduce_matches N HN)).
  - exact (ring_all_reduces N HN).
Qed.

(** ** Bytes *)

(** Some rank of any all-reduce, of as many elements, does no less than any rank of [mine], whose
    chunks are of [size] elements each.  Here [len] cuts the elements into C chunks. *)
Definition no_busier (N elements : Z) (mine : program) (size : Z) : Prop :=
  forall (P : program) C n len, 0 < C -> fitting N C P n -> everyone_once N C P n ->
  (forall i, len (i mod C) = len i) -> (forall i, 0 <= len i) ->
  zsum (map len (ranks C)) = elements ->
  (exists busy, 0 <= busy < N /\
     forall r, 0 <= r < N -> sent (fun _ => size) mine r <= sent len P busy) /\
  (exists busy, 0 <= busy < N /\
     forall r, 0 <= r < N -> received (fun _ => size) mine r <= received len P busy).

Lemma no_busier_if N S mine size : busiest_least N (all_reduce N S) mine (fun _ => size) ->
  no_busier N S mine size.
Proof.
  intros (_ & Sent & Received) P C n len HC Fits Once Alike Positive Total.
  assert (K : all_reduce N S P len) by (exists C, n; repeat apply conj; assumption).
  split; [exact (Sent P len K)|exact (Received P len K)].
Qed.

Theorem ring_all_reduce_is_optimal N size : 0 < N -> 0 <= size ->
  no_busier N (N * size) (fun rank => ring_all_reduce rank N) size.
Proof. intros HN Hs. exact (no_busier_if _ _ _ _ (ring_all_reduce_optimal N HN size Hs)). Qed.

Theorem rabenseifner_is_optimal K size : 0 <= size -> let N := 2 ^ Z.of_nat K in
  no_busier N (N * size) (fun rank => rabenseifner_all_reduce rank N) size.
Proof. intros Hs. exact (no_busier_if _ _ _ _ (rabenseifner_optimal K size Hs)). Qed.

(** ** Rounds *)

Definition sends_elsewhere (r : Z) (a : action) : bool :=
  match a with Send _ to => negb (to =? r) | _ => false end.
Definition receives_from_elsewhere (r : Z) (a : action) : bool :=
  match a with Send _ _ => false | Copy _ q | Reduce _ q _ => negb (q =? r) end.
Definition at_one_port (N : Z) (P : program) (n : nat) : Prop :=
  forall t r, (t < n)%nat -> 0 <= r < N ->
  (length (filter (sends_elsewhere r) (step_of P t r)) <= 1)%nat /\
  (length (filter (receives_from_elsewhere r) (step_of P t r)) <= 1)%nat.

Lemma at_one_port_is N P n : at_one_port N P n -> one_port N P n.
Proof.
  intros H t r Ht Hr. destruct (H t r Ht Hr) as [Out In_].
  split; [rewrite <- Out|rewrite <- In_]; apply Nat.eq_le_incl; f_equal; apply filter_ext;
    now intros [].
Qed.

Theorem binomial_broadcast_is_quickest N : 0 < N ->
  forall (P : program) C n, 0 < C -> fitting N C P n -> at_one_port N P n ->
  (forall r c, 0 <= r < N -> 0 <= c < C -> ends_with P n r c = [(0, c)]) ->
  forall r, 0 <= r < N -> (length (binomial_broadcast r N) <= n)%nat.
Proof.
  intros HN P C n HC Fits Ported Told r Hr.
  rewrite (binomial_broadcast_depth N r : length (binomial_broadcast r N) = levels N).
  apply (proj2 (binomial_broadcast_fewest_rounds N HN) P n). exists C.
  repeat apply conj; trivial. exact (at_one_port_is N P n Ported).
Qed.

(** ** Timing *)

Theorem ring_all_reduce_at_any_timing {A} (op : A -> A -> A) (x : state A) N room moves m :
  (forall a b c, op a (op b c) = op (op a b) c) -> (forall a b, op a b = op b a) -> 0 < N ->
  let P := fun rank => ring_all_reduce rank N in let n := Z.to_nat (2 * (N - 1)) in
  reaches Z.ltb op N P n (buffered P room) x moves m ->
  (exists next, move Z.ltb op N P n (buffered P room) m next) \/
  (forall r, 0 <= r < N -> ended m r = n /\ inside m r = false) /\
  (forall r c, 0 <= r < N -> 0 <= c < N ->
     memory m r c = fold_left (fun total q => op total (x q c)) (range 1 N) (x 0 c)).
Proof.
  intros Assoc Comm HN P n Reached.
  assert (Slow : forall m q r k, rendezvous P m q r k -> buffered (A := A) P room m q r k)
    by (unfold rendezvous, buffered; lia).
  assert (O := ring_all_reduce_orderly N HN).
  destruct (never_stuck Z.ltb op N P n _ x (proj1 O) Slow moves m Reached) as [F|M];
    [right|now left].
  split; [exact F|]. intros r c Hr Hc.
  rewrite (async_result Z.ltb op N P n _ x O moves m r c Reached F Hr).
  exact (all_reduce_is_sum op x Assoc Comm N N P n (ring_all_reduces N HN) r c Hr Hc).
Qed.
