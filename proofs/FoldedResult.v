(** What a folded all-reduce ends with, given what its core does.  (The schedule: Folding.v.)

        round 0         the odd ranks of folded pairs hold x(2i) + x(2i+1)
        R rounds        the core, among the survivors
        last round      the even ranks get a copy

    [folded_result]: every rank ends with the core's balanced tree, over the survivors, in
    whose leaves a folded pair stands merged ([leaf]).  Two more rounds than the core
    ([folded_depth]).  In which order operands stand: FoldedOrder.v. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Columns Collectives Combinators Groups Traffic Blocks
  Doubling Folding.
Import ListNotations.
Open Scope Z_scope.

Section Folded.
  Variable N : Z.
  Hypothesis HN : 0 < N.
  Let K := Z.to_nat (Z.log2 N).
  Let p := power_below N.
  Let extra := N - p.

  (** A core among p ranks: R rounds, messages that fit, and a balanced tree as result. *)
  Variables (core : Z -> Z -> schedule) (whole : list Z) (R : nat).
  Hypothesis distinct : NoDup whole.
  Hypothesis core_length : forall i, 0 <= i < p -> length (core i p) = R.
  Hypothesis core_matches : matches p (fun i => core i p) R.
  Hypothesis core_result : forall A before (op : A -> A -> A) y i c,
    in_rank_order p before -> 0 <= i < p -> In c whole ->
    run_by before op (fun i => core i p) R y i c = block_value op (fun q => y q c) 0 K.

  Definition folded_program : program := fun r => folded core whole (Z.of_nat R) r N.
  Definition folded_rounds : nat := if extra =? 0 then R else S (R + 1).

  (** What the i-th survivor brings to the core. *)
  Definition leaf {A} (op : A -> A -> A) (x : state A) (c i : Z) : A :=
    if i <? extra then op (x (2 * i) c) (x (2 * i + 1) c) else x (i + extra) c.

  Let into : program := fun r => fold_in whole r N.
  Let middle : program := fun r => padded (on_ranks (survivors N) core r) (Z.of_nat R).
  Let outof : program := fun r => reverse IntoCopy (fold_in whole r N).

  Lemma survivors_exist' r : In r (survivors N) -> 0 <= r < N.
  Proof. now apply survivors_exist. Qed.

  Lemma on_survivors_matches : matches N (on_ranks (survivors N) core) R.
  Proof.
    apply on_ranks_matches; [now apply survivors_distinct|apply survivors_exist'|].
    rewrite survivors_size by assumption. exact core_matches.
  Qed.

  Lemma middle_matches : matches N middle R.
  Proof.
    apply (matches_congruent N (on_ranks (survivors N) core)); [|apply on_survivors_matches].
    intros r t _ _. symmetry. apply (round_padded (on_ranks (survivors N) core)).
  Qed.

  Lemma on_survivors_length r : (length (on_ranks (survivors N) core r) <= R)%nat.
  Proof.
    unfold on_ranks. destruct (index_of r (survivors N)) as [i|] eqn:E; [|cbn; lia].
    apply index_of_some in E as [Hi _]. rewrite survivors_size in * by assumption.
    rewrite map_length. fold p in Hi |- *. now rewrite core_length.
  Qed.

  Lemma middle_length r : length (middle r) = R.
  Proof.
    assert (H := on_survivors_length r).
    assert (L := padded_length (on_ranks (survivors N) core r) (Z.of_nat R) ltac:(lia)).
    unfold middle. lia.
  Qed.

  (** ** Folding in and out *)

  Section Folds.
    Hypothesis folds : 0 < extra.

    Ltac fold_step r Hr :=
      let i := fresh "i" in let Hi := fresh in
      destruct (fold_cases N r Hr) as [(i & Hi & ->)|[(i & Hi & ->)|Hi]];
      fold p extra in Hi;
      [rewrite (fold_in_even N whole folds _ Hi)|rewrite (fold_in_odd N whole folds _ Hi)
      |rewrite (fold_in_beyond N whole folds _ (proj1 Hi))].

    Ltac decide_ranks := repeat match goal with
      | |- context[?a =? ?b] => destruct (Z.eqb_spec a b); try lia; try reflexivity
      end.

    Lemma into_matches : matches N into 1.
    Proof.
      intros t Ht. replace t with O by lia. unfold round, into. split.
      - intros r a Hr. destruct power_between with (N := N) as (_ & Hp & Hpn); [assumption|].
        fold p in Hp, Hpn. unfold extra in *.
        fold_step r Hr; intros Ha; destruct Ha as [<-|[]] || destruct Ha; cbn [peer]; lia.
      - intros q r Hq Hr. fold_step q Hq; fold_step r Hr; cbn [reverse map rev app nth turned
          sends_to receives_from IDLE]; decide_ranks; reflexivity.
    Qed.

    Lemma outof_matches : matches N outof 1.
    Proof.
      intros t Ht. replace t with O by lia. unfold round, outof. split.
      - intros r a Hr. destruct power_between with (N := N) as (_ & Hp & Hpn); [assumption|].
        fold p in Hp, Hpn. unfold extra in *.
        fold_step r Hr; intros Ha; destruct Ha as [<-|[]] || destruct Ha; cbn [peer turned]; lia.
      - intros q r Hq Hr. fold_step q Hq; fold_step r Hr; cbn [reverse map rev app nth turned
          sends_to receives_from IDLE]; decide_ranks; reflexivity.
    Qed.

    Lemma into_result {A} (op : A -> A -> A) x i c : 0 <= i < p -> In c whole ->
      run op into 1 x (member (survivors N) i) c = leaf op x c i.
    Proof.
      intros Hi Hc. rewrite survivor by assumption. fold p extra. unfold leaf.
      destruct power_between with (N := N) as (_ & Hp & Hpn); [assumption|]. fold p in Hp, Hpn.
      cbn [run_by]. rewrite (round_column Z.ltb op N);
        [|apply into_matches; lia|unfold extra in *; destruct (Z.ltb_spec i (N - p)); lia].
      unfold round, into. destruct (Z.ltb_spec i extra) as [H|H].
      - rewrite fold_in_odd by (fold p; fold extra; lia). cbn [nth fold_left peer].
        rewrite take_named by assumption. cbn [receive incoming_goes_left].
        now replace (2 * i <? 2 * i + 1) with true by lia.
      - now rewrite fold_in_beyond by (fold p; fold extra; lia).
    Qed.

    (** Whoever sat out gets what its partner has. *)
    Lemma outof_result {A} (op : A -> A -> A) y v r c : 0 <= r < N -> In c whole ->
      (forall i, 0 <= i < p -> y (member (survivors N) i) c = v) -> run op outof 1 y r c = v.
    Proof.
      intros Hr Hc Hy. destruct power_between with (N := N) as (_ & Hp & Hpn); [assumption|].
      fold p in Hp, Hpn. cbn [run_by]. rewrite (round_column Z.ltb op N);
        [|apply outof_matches; lia|assumption].
      unfold round, outof. fold_step r Hr; cbn [reverse map rev app nth turned fold_left peer].
      - rewrite take_named by assumption. cbn [receive].
        rewrite <- (Hy i) by (unfold extra in *; lia).
        rewrite survivor by (assumption || (unfold extra in *; lia)). fold p extra.
        now replace (i <? extra) with true by lia.
      - rewrite take_send, <- (Hy i) by (unfold extra in *; lia).
        rewrite survivor by (assumption || (unfold extra in *; lia)). fold p extra.
        now replace (i <? extra) with true by lia.
      - rewrite <- (Hy (r - extra)) by (unfold extra in *; lia).
        rewrite survivor by (assumption || (unfold extra in *; lia)). fold p extra.
        replace (r - extra <? extra) with false by lia.
        now replace (r - extra + extra) with r by lia.
    Qed.
  End Folds.

  (** ** The whole *)

  Lemma folded_no_extra : extra = 0 -> forall r, folded_program r = core r p.
  Proof.
    intros E r. unfold folded_program, folded. fold p extra. rewrite E. cbn [Z.eqb].
    f_equal. unfold extra in E. lia.
  Qed.

  Lemma folded_parts : 0 < extra -> forall r,
    folded_program r = then_ into (then_ middle outof) r.
  Proof.
    intros H r. unfold folded_program, folded. fold p extra.
    now replace (extra =? 0) with false by lia.
  Qed.

  Lemma extra_cases : extra = 0 \/ 0 < extra.
  Proof.
    destruct power_between with (N := N) as (_ & _ & H); [assumption|].
    fold p in H. unfold extra. lia.
  Qed.

  Theorem folded_depth r : 0 <= r < N -> length (folded_program r) = folded_rounds.
  Proof.
    intros Hr. unfold folded_rounds. destruct extra_cases as [E|E].
    - rewrite folded_no_extra, core_length by (assumption || (unfold extra in E; lia)).
      now rewrite E.
    - rewrite folded_parts by assumption. replace (extra =? 0) with false by lia.
      unfold then_. rewrite !app_length, middle_length. unfold into, outof.
      rewrite reverse_length, fold_in_length by (fold p; fold extra; assumption). lia.
  Qed.

  Lemma parts_matches : 0 < extra -> matches N (then_ into (then_ middle outof)) (1 + (R + 1)).
  Proof.
    intros E. apply matches_then.
    - intros r _. now apply fold_in_length.
    - now apply into_matches.
    - apply matches_then;
        [intros; apply middle_length|apply middle_matches|now apply outof_matches].
  Qed.

  Theorem folded_matches : matches N folded_program folded_rounds.
  Proof.
    unfold folded_rounds. destruct extra_cases as [E|E].
    - rewrite E. cbn [Z.eqb]. replace N with p by (unfold extra in E; lia).
      apply (matches_congruent p (fun i => core i p)); [|exact core_matches].
      intros r t _ _. unfold round. now rewrite folded_no_extra.
    - replace (extra =? 0) with false by lia.
      apply (matches_congruent N (then_ into (then_ middle outof))); [|now apply parts_matches].
      intros r t _ _. unfold round. now rewrite folded_parts.
  Qed.

  Theorem folded_result {A} (op : A -> A -> A) x r c : 0 <= r < N -> In c whole ->
    run op folded_program folded_rounds x r c = block_value op (leaf op x c) 0 K.
  Proof.
    intros Hr Hc. destruct power_between with (N := N) as (HK & Hp & Hpn); [assumption|].
    fold K p in HK, Hp, Hpn. assert (M := folded_matches). unfold folded_rounds in *.
    destruct extra_cases as [E|E].
    - rewrite E in *. cbn [Z.eqb] in *. assert (EN : N = p) by (unfold extra in E; lia).
      transitivity (run op (fun i => core i p) R x r c).
      + apply (run_congruent Z.ltb op N); auto; [now rewrite EN|].
        intros q t _ _. unfold round. now rewrite folded_no_extra.
      + rewrite core_result; [|intros a b _ _; reflexivity|lia|assumption].
        apply block_value_ext. intros q Hq. unfold leaf. rewrite E, Z.add_0_r.
        now replace (q <? 0) with false by lia.
    - replace (extra =? 0) with false in * by lia.
      transitivity (run op (then_ into (then_ middle outof)) (1 + (R + 1)) x r c).
      { apply (run_congruent Z.ltb op N); auto; [now apply parts_matches|].
        intros q t _ _. unfold round. now rewrite folded_parts. }
      assert (L : forall q, 0 <= q < N -> length (into q) = 1%nat)
        by (intros; now apply fold_in_length).
      assert (L' : forall q, 0 <= q < N -> length (middle q) = R) by (intros; apply middle_length).
      assert (M1 := into_matches E). assert (M2 := middle_matches). assert (M3 := outof_matches E).
      assert (M23 := matches_then N middle outof R 1 L' M2 M3).
      rewrite (run_then N into (then_ middle outof) 1 (R + 1) L M1 M23) by assumption.
      rewrite (run_then N middle outof R 1 L' M2 M3) by assumption.
      apply outof_result; [assumption|assumption|assumption|]. intros i Hi.
      transitivity (run op (on_ranks (survivors N) core) R (run op into 1 x)
                      (member (survivors N) i) c).
      { apply (run_congruent Z.ltb op N); auto; [apply on_survivors_matches| |].
        - intros q t _ _. apply (round_padded (on_ranks (survivors N) core)).
        - apply survivors_exist', member_in. now rewrite survivors_size. }
      rewrite on_ranks_result with (N := N);
        rewrite ?survivors_size by assumption; try assumption;
        [|now apply survivors_distinct|apply survivors_exist'].
      fold p. rewrite core_result; [|now apply survivors_order|assumption|assumption].
      apply block_value_ext. intros q Hq. apply into_result; [assumption|lia|assumption].
  Qed.
End Folded.
