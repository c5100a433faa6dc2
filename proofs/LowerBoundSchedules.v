(** Schedules are algorithms in the model of LowerBound.v, so that its bounds hold for them.

        program, areas of C chunks        the same in the model
        round t                           phase t; nothing is computed apart from messages
        rank 1: Send [4; 7] 0             a transfer from 1 to 0 that carries units
        rank 0: Reduce [1; 4] 1             4 mod C, 7 mod C; it does what the Reduce does
        chunk c, in all areas             unit c: the state is what all areas hold of it

    That is so if, in every round, messages fit ([round_fits]: the ranks named exist, and what
    q sends to r and what r receives from q are as many messages, of the same chunks but for
    their areas: Python's verdicts "bounds", "matching", aligned).
    [run_is_outcome]: the program's run is the algorithm's outcome.  That it costs the same
    stands in LowerBoundCosts.v. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Landing Traffic Messages.
From Refcoll Require Import LowerBound LowerBoundBytes LowerBoundSteps.
Import ListNotations.
Open Scope Z_scope.

Section Fits.
  Variables (N C : Z).

  (** The chunk of which index [i] is a copy in some area. *)
  Definition unit_of (i : Z) : Z := i mod C.

  Definition round_fits (P : Z -> step) : Prop :=
    (forall r a, 0 <= r < N -> In a (P r) -> 0 <= peer a < N) /\
    (forall q r, 0 <= q < N -> 0 <= r < N ->
       map (map unit_of) (sends_to r (P q)) = map (map unit_of) (receives_from q (P r))).

  Definition fits (P : program) (n : nat) : Prop := forall t, (t < n)%nat -> round_fits (round P t).

  Lemma matches_fits P n : matches N P n -> fits P n.
  Proof.
    intros M t Ht. destruct (M t Ht) as [Hp Hs]. split; [exact Hp|].
    intros q r Hq Hr. now rewrite Hs.
  Qed.

  Lemma deliver_fits P r : round_fits P -> 0 <= r < N ->
    forall each, In each (deliver P r [] (P r)) ->
    In (fst each) (P r) /\ map unit_of (snd each) = map unit_of (chunks (fst each)).
  Proof.
    intros [Hp Hs] Hr. enough (G : forall todo earlier, P r = earlier ++ todo ->
      forall each, In each (deliver P r earlier todo) -> In (fst each) todo /\
        map unit_of (snd each) = map unit_of (chunks (fst each))) by now apply G.
    induction todo as [|a todo IH]; intros earlier E each; [easy|]. cbn [deliver].
    assert (Later : In each (deliver P r (earlier ++ [a]) todo) -> In (fst each) (a :: todo) /\
      map unit_of (snd each) = map unit_of (chunks (fst each))).
    { intros H. apply IH in H; [|now rewrite <- app_assoc]. split; [right|]; apply H. }
    destruct (is_send a) eqn:Sa; [exact Later|]. intros [<-|H]; [|now apply Later].
    cbn [fst snd]. split; [now left|].
    assert (Hq : 0 <= peer a < N) by (apply (Hp r); [|rewrite E]; auto with datatypes).
    rewrite <- (map_nth (map unit_of)), Hs, E, receives_from_app, map_app, app_nth2
      by (assumption || rewrite map_length; lia).
    rewrite map_length, Nat.sub_diag.
    destruct a as [c p|c p|c p e]; [discriminate| |]; cbn; now rewrite Z.eqb_refl.
  Qed.
End Fits.

Section Model.
  Context {A : Type} (before : Z -> Z -> bool) (op : A -> A -> A).
  Variables (N C : Z) (P : program) (n : nat) (len : Z -> Z).
  Hypothesis HC : 0 < C.
  Hypothesis it_fits : fits N C P n.

  Local Notation unit_of := (unit_of C).
  Local Notation all_areas := (Z -> A).                    (* of one chunk: area -> value *)

  Definition transfer_of (m : message) : transfer all_areas := Transfer
    (from m) (to m) (map unit_of (chunks (taken_by m)))
    (fun u theirs_ mine area =>
       landed before op (taken_by m) (to m) (map (fun i => theirs_ (i / C)) (theirs m))
              (area * C + u) (mine area)).

  Definition phase_of (P : Z -> step) : phase all_areas :=
    Phase (fun _ _ held => held) (map transfer_of (round_messages N P)).
  Definition model : algorithm := map (fun t => phase_of (round P t)) (seq 0 n).

  (** ** It does the same *)

  Lemma combine_alike {X Y} (g : X -> Y) l l' i j : map g l = map g l' ->
    In (i, j) (combine l l') -> g i = g j.
  Proof.
    revert l'. induction l as [|x l IH]; intros [|y l'] E H; try easy.
    injection E as Exy E. destruct H as [H|H]; [now injection H as <- <-|now apply (IH l')].
  Qed.

  Lemma index_of_unit area u : 0 <= u < C ->
    unit_of (area * C + u) = u /\ (area * C + u) / C = area.
  Proof.
    intros Hu. unfold LowerBoundSchedules.unit_of. split.
    - rewrite Z.add_comm, Z.mod_add, Z.mod_small; lia.
    - rewrite Z.add_comm, Z.div_add, Z.div_small; lia.
  Qed.

  Lemma index_split i : i = i / C * C + unit_of i.
  Proof. unfold LowerBoundSchedules.unit_of. rewrite Z.mul_comm. apply Z.div_mod. lia. Qed.

  (** The program's state and the model's, on the ranks that exist. *)
  Definition alike (st : state A) (held : Z -> Z -> all_areas) : Prop :=
    forall r u area, 0 <= r < N -> 0 <= u < C -> held r u area = st r (area * C + u).

  Lemma one_message st held m r u memory own : alike st held ->
    0 <= from m < N -> to m = r -> 0 <= u < C ->
    map unit_of (theirs m) = map unit_of (chunks (taken_by m)) ->
    (forall area, own area = memory (area * C + u)) ->
    forall area, take held r u own (transfer_of m) area =
                 arrive before op st r memory (taken_by m, theirs m) (area * C + u).
  Proof.
    intros L Hf <- Hu Hunits Hown area. rewrite arrive_landed. unfold take, transfer_of.
    cbn [giver taker units merge]. rewrite Z.eqb_refl. cbn [andb].
    destruct (index_of_unit area u Hu) as [U _].
    destruct (mem u (map unit_of (chunks (taken_by m)))) eqn:M.
    - rewrite Hown. apply landed_same. intros j Hj.
      apply (combine_alike unit_of) in Hj; [|now symmetry]. rewrite U in Hj.
      rewrite (L (from m) u) by assumption. f_equal. rewrite Hj. symmetry. apply index_split.
    - rewrite landed_elsewhere; [apply Hown|]. intros Hin.
      enough (mem u (map unit_of (chunks (taken_by m))) = true) by congruence.
      apply mem_In. rewrite <- U at 1. now apply in_map.
  Qed.

  Lemma phase_is_round Q st held : round_fits N C Q -> alike st held ->
    alike (round_by before op Q st) (play held (phase_of Q)).
  Proof.
    intros F L r u area Hr Hu. rewrite <- (round_messages_meaning before op N Q st r Hr).
    unfold play, phase_of, take_messages. cbn [compute transfers].
    assert (Ms : forall m, In m (round_messages N Q) -> 0 <= from m < N /\
      map unit_of (theirs m) = map unit_of (chunks (taken_by m))).
    { intros m Hm. apply in_flat_map in Hm as (q & Hq & Hm). apply in_ranks in Hq.
      apply in_map_iff in Hm as (each & <- & He). apply (deliver_fits N C) in He; trivial.
      split; [|apply He]. now apply (proj1 F q). }
    assert (Start : forall area, held r u area = st r (area * C + u)) by (intros; now apply L).
    revert area Start Ms. generalize (st r) as memory, (held r u) as own.
    induction (round_messages N Q) as [|m ms IH]; intros memory own area Start Ms; [apply Start|].
    cbn [map fold_left]. apply IH; [|intros; apply Ms; now right].
    destruct (Ms m ltac:(now left)) as [Hf Hm].
    destruct (Z.eqb_spec (to m) r) as [E|E]; [now apply one_message|].
    unfold take, transfer_of. cbn [taker]. apply Z.eqb_neq in E. now rewrite E.
  Qed.

  (** [init]: what all areas of a chunk hold at first, given the rank's input to it. *)
  Context {Input : Type}.
  Variable init : Z -> Z -> Input -> all_areas.
  Definition first_state (x : Z -> Z -> Input) : state A :=
    fun r i => init r (unit_of i) (x r (unit_of i)) (i / C).

  Theorem run_is_outcome x r u area : 0 <= r < N -> 0 <= u < C ->
    outcome init model x r u area = run_by before op P n (first_state x) r (area * C + u).
  Proof.
    unfold outcome, model. revert r u area.
    enough (G : forall k, (k <= n)%nat -> alike (run_by before op P k (first_state x))
      (fold_left play (map (fun t => phase_of (round P t)) (seq 0 k))
                 (fun r u => init r u (x r u))))
      by now apply G.
    induction k as [|k IH]; intros Hk.
    - intros r u area Hr Hu. cbn. unfold first_state.
      now destruct (index_of_unit area u Hu) as [-> ->].
    - rewrite seq_S, map_app, fold_left_app. cbn [map fold_left run_by Nat.add].
      apply phase_is_round; [apply it_fits; lia|apply IH; lia].
  Qed.
End Model.
