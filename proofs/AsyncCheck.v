(** [orderly] (Async.v) by computation, on schedules as lists: what the checker's verdicts
    "bounds" (of ranks), "matching", aligned and "race" say together.

        orderly_table n [schedule of rank 0; schedule of rank 1; ...] = true

    - [orderly_by_computation]: it is true exactly of orderly programs.
    - [race_free_reduces]: a step without a Copy cannot race.  [race_free_one_receive]: nor can
      one that receives once, and nothing that it sends. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Async.
Import ListNotations.
Open Scope Z_scope.

(** ** Races *)

(** No Copy of [todo] hits what is [sent], or what is [written] by then. *)
Fixpoint no_race (sent written : list Z) (todo : step) : bool :=
  match todo with
  | [] => true
  | Send _ _ :: rest => no_race sent written rest
  | Copy c _ :: rest =>
      forallb (fun i => negb (mem i sent || mem i written)) c && no_race sent (written ++ c) rest
  | Reduce c _ _ :: rest => no_race sent (written ++ c) rest
  end.

Lemma clear_of sent written c :
  forallb (fun i => negb (mem i sent || mem i written)) c = true <->
  forall i, In i c -> ~ In i sent /\ ~ In i written.
Proof.
  rewrite forallb_forall. split; intros H i Hi; specialize (H i Hi).
  - rewrite negb_true_iff, orb_false_iff in H. rewrite <- !mem_In. now destruct H as [-> ->].
  - rewrite <- !mem_In in H. destruct (mem i sent), (mem i written); tauto.
Qed.

Lemma received_chunks_app s s' :
  received_chunks (s ++ s') = received_chunks s ++ received_chunks s'.
Proof. unfold received_chunks, chunks_where. now rewrite filter_app, flat_map_app. Qed.

(** No Copy of [todo] hits what is sent, or received before, where [earlier] is done. *)
Definition clear (sent : list Z) (earlier todo : step) : Prop :=
  forall before c source after, todo = before ++ Copy c source :: after ->
  forall i, In i c -> ~ In i sent /\ ~ In i (received_chunks (earlier ++ before)).

Lemma clear_cons sent earlier a todo : clear sent earlier (a :: todo) <->
  (is_copy a = true -> forall i, In i (chunks a) -> ~ In i sent /\ ~ In i (received_chunks earlier))
  /\ clear sent (earlier ++ [a]) todo.
Proof.
  split.
  - intros H. split.
    + destruct a as [c p|c p|c p e]; try discriminate. intros _ i Hi.
      specialize (H [] c p todo eq_refl i Hi). now rewrite app_nil_r in H.
    + intros b c s l -> i Hi. rewrite <- app_assoc. now apply (H (a :: b) c s l).
  - intros [Ha H] [|a' b] c s l E i Hi; injection E as -> ->.
    + rewrite app_nil_r. now apply Ha.
    + specialize (H b c s l eq_refl i Hi). now rewrite <- app_assoc in H.
Qed.

Lemma no_race_clear sent todo earlier :
  no_race sent (received_chunks earlier) todo = true <-> clear sent earlier todo.
Proof.
  revert earlier. induction todo as [|a todo IH]; intros earlier.
  - split; [|reflexivity]. intros _ b c s l E. now destruct b.
  - rewrite clear_cons, <- IH, received_chunks_app. cbn [no_race].
    destruct a as [c p|c p|c p e]; unfold received_chunks at 3; cbn; rewrite ?app_nil_r;
      [|rewrite andb_true_iff, clear_of|]; intuition discriminate.
Qed.

Lemma race_free_computed s : no_race (sent_chunks s) [] s = true <-> race_free s.
Proof. apply (no_race_clear (sent_chunks s) s []). Qed.

(** ** Whole programs, as lists: a schedule for each rank *)

Definition of_table (table : list schedule) : program := fun r => nth (Z.to_nat r) table [].

Definition step_orderly (N : Z) (s : step) : bool :=
  forallb (fun a => (0 <=? peer a) && (peer a <? N)) s && no_race (sent_chunks s) [] s.

Definition round_orderly (steps : list step) : bool :=
  let N := Z.of_nat (length steps) in let P := fun r => nth (Z.to_nat r) steps IDLE in
  forallb (step_orderly N) steps &&
  forallb (fun q => forallb (fun r =>
    (length (sends_to r (P q)) =? length (receives_from q (P r)))%nat) (ranks N)) (ranks N).

Definition orderly_table (n : nat) (table : list schedule) : bool :=
  forallb (fun t => round_orderly (map (fun s => nth t s IDLE) table)) (seq 0 n).

Lemma forallb_ranks N (f : Z -> bool) :
  forallb f (ranks N) = true <-> forall r, 0 <= r < N -> f r = true.
Proof. rewrite forallb_forall. split; intros H r Hr; now apply H, in_ranks. Qed.

Lemma every_step (steps : list step) (holds : step -> Prop) :
  (forall s, In s steps -> holds s) <->
  forall r, 0 <= r < Z.of_nat (length steps) -> holds (nth (Z.to_nat r) steps IDLE).
Proof.
  split; intros H.
  - intros r Hr. apply H, nth_In. lia.
  - intros s Hs. apply In_nth with (d := IDLE) in Hs as (i & Hi & <-).
    rewrite <- (Nat2Z.id i). apply H. lia.
Qed.

Lemma step_orderly_spec N s :
  step_orderly N s = true <-> (forall a, In a s -> 0 <= peer a < N) /\ race_free s.
Proof.
  unfold step_orderly. rewrite andb_true_iff, race_free_computed, forallb_forall.
  split; intros [H R]; (split; [intros a Ha; specialize (H a Ha); lia|exact R]).
Qed.

Lemma round_orderly_spec steps :
  let N := Z.of_nat (length steps) in let P := fun r => nth (Z.to_nat r) steps IDLE in
  round_orderly steps = true <-> round_pairs N P /\ forall r, 0 <= r < N -> race_free (P r).
Proof.
  intros N P. unfold round_orderly. fold N P.
  rewrite andb_true_iff, forallb_forall, forallb_ranks,
    (every_step steps (fun s => step_orderly N s = true)).
  fold N. split.
  - intros [Hs Hn]. split; [split|].
    + intros r a Hr. specialize (Hs r Hr). apply step_orderly_spec in Hs as [Hs _]. apply Hs.
    + intros q r Hq Hr. specialize (Hn q Hq). rewrite forallb_ranks in Hn. now apply Nat.eqb_eq, Hn.
    + intros r Hr. specialize (Hs r Hr). now apply step_orderly_spec in Hs.
  - intros [[Hp Hn] Hr]. split.
    + intros r Hin. apply step_orderly_spec. split; [intros a; now apply Hp|now apply Hr].
    + intros q Hq. apply forallb_ranks. intros r Hin. now apply Nat.eqb_eq, Hn.
Qed.

Lemma round_of_table table t r :
  round (of_table table) t r = nth (Z.to_nat r) (map (fun s => nth t s IDLE) table) IDLE.
Proof.
  unfold round, of_table. rewrite <- (map_nth (fun s => nth t s IDLE)).
  f_equal. now destruct t.
Qed.

(** Only what the ranks that exist do matters. *)
Lemma round_pairs_congruent N P P' : (forall r, 0 <= r < N -> P r = P' r) ->
  round_pairs N P -> round_pairs N P'.
Proof.
  intros E [Hp Hn]. split.
  - intros r a Hr. rewrite <- E by assumption. now apply Hp.
  - intros q r Hq Hr. rewrite <- !E by assumption. now apply Hn.
Qed.

Theorem orderly_by_computation n table :
  orderly_table n table = true <-> orderly (Z.of_nat (length table)) (of_table table) n.
Proof.
  unfold orderly_table, orderly, pairs. rewrite forallb_forall.
  assert (Each : forall t, round_orderly (map (fun s => nth t s IDLE) table) = true <->
    round_pairs (Z.of_nat (length table)) (round (of_table table) t) /\
    forall r, 0 <= r < Z.of_nat (length table) -> race_free (round (of_table table) t r)).
  { intros t. rewrite round_orderly_spec, map_length.
    split; intros [Hp Hr]; (split; [eapply round_pairs_congruent; [|exact Hp]|]);
      intros r Hin; first [rewrite round_of_table|rewrite <- round_of_table]; auto. }
  split.
  - intros H. split.
    + intros t Ht. apply Each, H, in_seq. lia.
    + intros t r Ht. apply Each, H, in_seq. lia.
  - intros [Hp Hr] t Ht. apply in_seq in Ht. apply Each. split; [apply Hp; lia|].
    intros r. apply Hr. lia.
Qed.

(** A program's schedules as a table. *)
Lemma of_table_map N P r : 0 <= r < N -> of_table (map P (ranks N)) r = P r.
Proof.
  intros Hr. unfold of_table, ranks. rewrite nth_loop by lia. f_equal. lia.
Qed.

(** ** Steps that cannot race *)

Lemma race_free_reduces s : (forall a, In a s -> is_copy a = false) -> race_free s.
Proof.
  intros H earlier c source later E. specialize (H (Copy c source)). subst s.
  discriminate H. auto with datatypes.
Qed.

Lemma received_chunks_sends s : (forall a, In a s -> is_send a = true) -> received_chunks s = [].
Proof.
  induction s as [|a s IH]; intros H; [reflexivity|]. unfold received_chunks, chunks_where. cbn.
  rewrite H by now left. apply IH. intros b Hb. apply H. now right.
Qed.

(** Sends, then one receive, of chunks that the step does not send. *)
Lemma race_free_one_receive sends a : (forall b, In b sends -> is_send b = true) ->
  (forall i, In i (chunks a) -> ~ In i (sent_chunks sends)) -> race_free (sends ++ [a]).
Proof.
  intros Hs Ha earlier c source later E. destruct later as [|x later _] using rev_ind.
  - apply app_inj_tail in E as [-> ->]. intros i Hi. rewrite received_chunks_sends by assumption.
    split; [|easy]. intros Hc. apply (Ha i Hi). apply in_chunks_where in Hc as (b & Hb & Sb & Hc).
    apply in_app_or in Hb as [Hb|[<-|[]]]; [|discriminate]. apply in_chunks_where. eauto.
  - rewrite app_comm_cons, app_assoc in E. apply app_inj_tail in E as [E _].
    discriminate (Hs (Copy c source)). rewrite E. auto with datatypes.
Qed.
