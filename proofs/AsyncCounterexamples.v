(** Neither half of [orderly] can be left out.

        naive ring: every rank sends,       overwritten: two ranks exchange, and each copies
        and only then receives              what comes over what it still has to send
          0 -> 1 -> 2 -> 0                    0: x0 <-- x1      1: x1 --> x0, or x1 --> x1
          all wait in their send              whichever is read first

    - [naive_ring_deadlocks]: under rendezvous no execution of the naive ring, on any number of
      ranks from 2 on, ever finishes: nobody even ends the first step.  Its messages pair up
      over the whole schedule, but not round by round.
      [naive_ring_buffered_finishes]: with room for one message a channel it can finish.
    - [overwritten_goes_wrong]: its messages pair up in every round, and yet an execution
      finishes with another result than the synchronous run. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Modulo Schedule Async.
Import ListNotations.
Open Scope Z_scope.

(** ** Send first, then receive *)

Definition naive_ring (rank size : Z) : schedule :=
  [[Send [0] ((rank + 1) mod size)]; [Copy [0] ((rank - 1) mod size)]].

Section NaiveRing.
  Context {A : Type} (before : Z -> Z -> bool) (op : A -> A -> A) (st : state A).
  Variable N : Z.
  Hypothesis two_or_more : 2 <= N.
  Definition naive : program := fun r => naive_ring r N.

  (** Over the whole schedule, each channel has as many receives as sends. *)
  Lemma naive_ring_pairs_over_all q r : 0 <= q < N -> 0 <= r < N ->
    sends_before naive q r 2 = receives_before naive q r 2.
  Proof.
    intros Hq Hr. cbn. destruct (Z.eqb_spec ((q + 1) mod N) r), (Z.eqb_spec ((r - 1) mod N) q);
      try reflexivity; exfalso; modlia.
  Qed.

  Definition all_in_their_send (m : machine A) : Prop :=
    forall r, 0 <= r < N -> ended m r = O /\ (inside m r = true -> done m r O = false).

  Lemma nobody_ends k m : reaches before op N naive 2 (rendezvous naive) st k m ->
    all_in_their_send m.
  Proof.
    induction 1 as [|k m m' _ IH Hm]; [now split|].
    destruct Hm as
      [r Hr Hi Ht|q i c to v Hq Hi Hc Hd Hp Hf|r i a v Hr Hi Ha Sa Hd Hb Hv|r Hr Hi Hall].
    - intros q Hq. destruct (IH q Hq) as [E D]. split; [exact E|]. cbn [inside done].
      unfold set. destruct (q =? r); easy.
    - exfalso. destruct (IH q Hq) as [E _]. unfold its_step in Hc. rewrite E in Hc, Hp.
      destruct i as [|[|i]]; try discriminate. injection Hc as _ <-.
      unfold rendezvous, buffered, started in Hp.
      assert (Hto : 0 <= (q + 1) mod N < N) by modlia.
      destruct (IH _ Hto) as [E' _]. rewrite E' in Hp.
      destruct (inside m ((q + 1) mod N)); cbn in Hp; lia.
    - exfalso. destruct (IH r Hr) as [E _]. unfold its_step in Ha. rewrite E in Ha.
      destruct i as [|[|i]]; try discriminate. now injection Ha as <-.
    - exfalso. destruct (IH r Hr) as [E D]. rewrite (Hall O) in D; [now discriminate D|].
      unfold its_step. rewrite E. cbn. lia.
  Qed.

  Theorem naive_ring_deadlocks k m :
    reaches before op N naive 2 (rendezvous naive) st k m -> ~ finished N 2 m.
  Proof.
    intros H F. apply nobody_ends in H. destruct (H 0 ltac:(lia)) as [E _].
    destruct (F 0 ltac:(lia)) as [E' _]. congruence.
  Qed.
End NaiveRing.

(** ** A Copy over what the step sends *)

Definition overwritten : program := fun r => [[Send [0] (1 - r); Copy [0] (1 - r)]].

Lemma overwritten_pairs : round_pairs 2 (round overwritten 0).
Proof.
  split.
  - intros r a Hr [<-|[<-|[]]]; cbn [peer]; lia.
  - intros q r _ _. cbn [overwritten round nth sends_to receives_from].
    destruct (Z.eqb_spec (1 - q) r), (Z.eqb_spec (1 - r) q); reflexivity || lia.
Qed.

Lemma overwritten_races r : ~ race_free (round overwritten 0 r).
Proof.
  intros H. destruct (H [Send [0] (1 - r)] [0] (1 - r) [] eq_refl 0 (or_introl eq_refl)) as [Hs _].
  apply Hs. now left.
Qed.

Lemma overwritten_in_step (st : state Z) r : 0 <= r < 2 ->
  run Z.add overwritten 1 st r 0 = st (1 - r) 0.
Proof. intros Hr. assert (r = 0 \/ r = 1) as [-> | ->] by lia; reflexivity. Qed.

(** One move more, whose conditions are seen by computing. *)
Ltac by_computing := first
  [ lia | reflexivity | discriminate | unfold rendezvous, buffered; cbn; lia
  | intros [|[|i]] Hi; (reflexivity || (cbn in Hi; lia))
  | constructor; [right; split; [intros []|reflexivity]|constructor] ].
Ltac then_ H next := eapply Moves in H; [|apply next; by_computing];
  cbn [ended inside done kept memory channel] in H.

(** Rank 0 receives before its own send has been read: then both hold what rank 1 had. *)
Theorem overwritten_goes_wrong (st : state Z) :
  exists k m, reaches Z.ltb Z.add 2 overwritten 1 (rendezvous overwritten) st k m /\
    finished 2 1 m /\ memory m 0 0 = st 1 0 /\ memory m 1 0 = st 1 0.
Proof.
  assert (H := Begins Z.ltb Z.add 2 overwritten 1 (rendezvous overwritten) st). unfold start in H.
  then_ H uconstr:(Starts _ _ _ _ _ _ _ 0).
  then_ H uconstr:(Starts _ _ _ _ _ _ _ 1).
  then_ H uconstr:(Reads _ _ _ _ _ _ _ 1 0 [0] 0 [st 1 0]).
  then_ H uconstr:(Takes _ _ _ _ _ _ _ 0 1 (Copy [0] 1) [st 1 0]).
  then_ H uconstr:(Reads _ _ _ _ _ _ _ 0 0 [0] 1 [st 1 0]).
  then_ H uconstr:(Takes _ _ _ _ _ _ _ 1 1 (Copy [0] 0) [st 1 0]).
  then_ H uconstr:(Ends _ _ _ _ _ _ _ 0).
  then_ H uconstr:(Ends _ _ _ _ _ _ _ 1).
  do 2 eexists. split; [exact H|]. split; [|now split].
  intros r Hr. assert (r = 0 \/ r = 1) as [-> | ->] by lia; now split.
Qed.

(** ** The naive ring again: two ranks, with room for one message *)

Theorem naive_ring_buffered_finishes (st : state Z) : exists k m,
  reaches Z.ltb Z.add 2 (naive 2) 2 (buffered (naive 2) 1) st k m /\ finished 2 2 m.
Proof.
  assert (H := Begins Z.ltb Z.add 2 (naive 2) 2 (buffered (naive 2) 1) st). unfold start in H.
  then_ H uconstr:(Starts _ _ _ _ _ _ _ 0).
  then_ H uconstr:(Starts _ _ _ _ _ _ _ 1).
  then_ H uconstr:(Reads _ _ _ _ _ _ _ 0 0 [0] 1 [st 0 0]).
  then_ H uconstr:(Reads _ _ _ _ _ _ _ 1 0 [0] 0 [st 1 0]).
  then_ H uconstr:(Ends _ _ _ _ _ _ _ 0).
  then_ H uconstr:(Ends _ _ _ _ _ _ _ 1).
  then_ H uconstr:(Starts _ _ _ _ _ _ _ 0).
  then_ H uconstr:(Starts _ _ _ _ _ _ _ 1).
  then_ H uconstr:(Takes _ _ _ _ _ _ _ 0 0 (Copy [0] 1) [st 1 0]).
  then_ H uconstr:(Takes _ _ _ _ _ _ _ 1 0 (Copy [0] 0) [st 0 0]).
  then_ H uconstr:(Ends _ _ _ _ _ _ _ 0).
  then_ H uconstr:(Ends _ _ _ _ _ _ _ 1).
  do 2 eexists. split; [exact H|].
  intros r Hr. assert (r = 0 \/ r = 1) as [-> | ->] by lia; now split.
Qed.
