(** Programs side by side: groups of ranks that do not talk to one another, and [together]
    (refcoll/schedule.py) on chunks that do not meet.

        disjoint groups           rank 0  1 | 2  3  4       each group as if it were alone:
                                       <->    <-> <->       [groups_result]
        together                  chunk 0   --> piece 0     step t of the whole holds step t
                                  chunk 1   --> piece 1     of every part, each on its own
                                                            chunks: [together_result] *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Columns Traffic.
Import ListNotations.
Open Scope Z_scope.

(** ** Disjoint groups of ranks *)

Section Groups.
  Variables (N : Z) (n : nat) (P : program).
  (** The group of each rank, and the program of each group, idle elsewhere. *)
  Variables (group_of : Z -> list Z) (part : list Z -> program).
  Hypothesis follows : forall r t, 0 <= r < N -> round P t r = round (part (group_of r)) t r.
  Hypothesis idle_elsewhere : forall q r t, 0 <= q < N -> 0 <= r < N ->
    group_of q <> group_of r -> round (part (group_of q)) t r = IDLE.
  Hypothesis parts_match : forall r, 0 <= r < N -> matches N (part (group_of r)) n.

  Lemma no_message q r t : 0 <= q < N -> 0 <= r < N -> (t < n)%nat ->
    group_of q <> group_of r ->
    sends_to r (round P t q) = [] /\ receives_from r (round P t q) = [].
  Proof.
    intros Hq Hr Ht Hne. rewrite follows by assumption.
    destruct (parts_match q Hq t Ht) as [_ M].
    split; [rewrite (M q r)|rewrite <- (M r q)]; try assumption;
      now rewrite (idle_elsewhere q r t).
  Qed.

  Theorem groups_match : matches N P n.
  Proof.
    intros t Ht. split.
    - intros r a Hr Ha. rewrite follows in Ha by assumption.
      now apply (proj1 (parts_match r Hr t Ht) r).
    - intros q r Hq Hr. destruct (list_eq_dec Z.eq_dec (group_of q) (group_of r)) as [E|E].
      + rewrite !follows, <- E by assumption. now apply (parts_match q Hq t Ht).
      + destruct (no_message q r t) as [-> _]; try assumption.
        destruct (no_message r q t) as [_ ->]; try assumption; [congruence|reflexivity].
  Qed.

  (** A receive names a rank of the same group. *)
  Lemma source_in_group r t a : 0 <= r < N -> (t < n)%nat -> In a (round P t r) ->
    is_send a = false -> 0 <= peer a < N /\ group_of (peer a) = group_of r.
  Proof.
    intros Hr Ht Ha Hs. assert (Hp : 0 <= peer a < N) by now apply (proj1 (groups_match t Ht) r).
    split; [assumption|].
    destruct (list_eq_dec Z.eq_dec (group_of (peer a)) (group_of r)) as [E|E]; [assumption|exfalso].
    destruct (no_message r (peer a) t) as [_ H]; try assumption; [congruence|].
    apply in_split in Ha as (s & s' & Ha). rewrite Ha, receives_from_app in H.
    apply app_eq_nil in H as [_ H]. destruct a as [c p|c p|c p e]; [discriminate| |];
      cbn in H; now rewrite Z.eqb_refl in H.
  Qed.

  Theorem groups_result {A} before (op : A -> A -> A) st r c : 0 <= r < N ->
    run_by before op P n st r c = run_by before op (part (group_of r)) n st r c.
  Proof.
    intros Hr. assert (Main : forall t, (t <= n)%nat -> forall q, 0 <= q < N ->
      group_of q = group_of r ->
      run_by before op P t st q c = run_by before op (part (group_of r)) t st q c).
    { induction t as [|t IH]; intros Ht q Hq E; [reflexivity|]. cbn [run_by].
      rewrite (round_column before op N) by (try apply groups_match; lia).
      rewrite (round_column before op N) by (try apply parts_match; lia).
      rewrite IH by (assumption || lia).
      assert (F := follows q t Hq). rewrite E in F. rewrite <- F.
      apply fold_left_ext. intros a v Ha. destruct (is_send a) eqn:Sa.
      - destruct a; [now rewrite !take_send|discriminate|discriminate].
      - destruct (source_in_group q t a) as [Hp Ep]; try assumption.
        rewrite IH; [reflexivity|lia|assumption|congruence]. }
    now apply Main.
  Qed.
End Groups.

(** ** Together *)

Definition longest (parts : list schedule) : nat := fold_right Nat.max O (map (@length step) parts).

Definition together (parts : list schedule) : schedule :=
  map (fun t => concat (map (fun s => nth t s IDLE) parts)) (seq 0 (longest parts)).

Lemma longest_bounds parts s : In s parts -> (length s <= longest parts)%nat.
Proof.
  unfold longest. induction parts as [|p parts IH]; [easy|]. intros [->|H]; cbn [map fold_right].
  - lia.
  - specialize (IH H). lia.
Qed.

Lemma together_nth parts t :
  nth t (together parts) IDLE = concat (map (fun s => nth t s IDLE) parts).
Proof.
  unfold together. destruct (Nat.lt_ge_cases t (longest parts)) as [H|H].
  - rewrite nth_indep with (d' := concat (map (fun s => nth O s IDLE) parts))
      by now rewrite map_length, seq_length.
    rewrite (map_nth (fun t => concat (map (fun s => nth t s IDLE) parts))), seq_nth by assumption.
    reflexivity.
  - rewrite nth_overflow by (rewrite map_length, seq_length; lia).
    assert (G : forall l, incl l parts -> concat (map (fun s => nth t s IDLE) l) = []).
    { induction l as [|s l IH]; intros Hi; [reflexivity|]. cbn [map concat].
      rewrite nth_overflow, IH; [reflexivity| |].
      - intros x Hx. apply Hi. now right.
      - assert (B := longest_bounds parts s ltac:(apply Hi; now left)). lia. }
    symmetry. apply G, incl_refl.
Qed.

Section Together.
  Variables (N : Z) (n : nat) (parts : list program).
  Let whole : program := fun r => together (map (fun P => P r) parts).
  Hypothesis parts_match : forall P, In P parts -> matches N P n.

  Lemma together_round t r : round whole t r = concat (map (fun P => round P t r) parts).
  Proof. unfold round, whole. now rewrite together_nth, map_map. Qed.

  Theorem together_matches : matches N whole n.
  Proof.
    intros t Ht. split.
    - intros r a Hr Ha. rewrite together_round in Ha. apply in_concat in Ha as (s & Hs & Ha).
      apply in_map_iff in Hs as (P & <- & HP). now apply (proj1 (parts_match P HP t Ht) r).
    - intros q r Hq Hr. rewrite !together_round. clear whole.
      induction parts as [|P rest IH]; [reflexivity|]. cbn [map concat].
      rewrite sends_to_app, receives_from_app, IH by (intros; apply parts_match; now right).
      f_equal. now apply (parts_match P (or_introl eq_refl) t Ht).
  Qed.

  (** No action of [P] names chunk [c]. *)
  Definition leaves_alone (P : program) (c : Z) : Prop :=
    forall r t a, 0 <= r < N -> In a (round P t r) -> ~ In c (chunks a).

  (** What the whole does to a chunk is what the one part does that names it. *)
  Theorem together_result {A} before (op : A -> A -> A) st one earlier later r c :
    parts = earlier ++ one :: later ->
    (forall P, In P (earlier ++ later) -> leaves_alone P c) -> 0 <= r < N ->
    run_by before op whole n st r c = run_by before op one n st r c.
  Proof.
    intros E Alone Hr. assert (One : matches N one n)
      by (apply parts_match; rewrite E; auto with datatypes).
    assert (Skip : forall l t q st v, (forall P, In P l -> leaves_alone P c) -> 0 <= q < N ->
      fold_left (fun own a => take before op a q c (st (peer a) c) own)
                (concat (map (fun P => round P t q) l)) v = v).
    { intros l t q s v Hl Hq. apply fold_left_id. intros a w Ha. apply take_unnamed.
      apply in_concat in Ha as (steps & Hs & Ha). apply in_map_iff in Hs as (P & <- & HP).
      now apply (Hl P HP q t). }
    revert r Hr. enough (G : forall t, (t <= n)%nat -> forall q, 0 <= q < N ->
      run_by before op whole t st q c = run_by before op one t st q c) by now apply G.
    induction t as [|t IH]; intros Ht q Hq; [reflexivity|]. cbn [run_by].
    rewrite (round_column before op N) by (try apply together_matches; lia).
    rewrite (round_column before op N) by (try apply One; lia).
    rewrite together_round, E, map_app, concat_app, fold_left_app. cbn [map concat].
    rewrite fold_left_app, !Skip by
      (try assumption; intros P HP; apply Alone; apply in_or_app; auto).
    rewrite IH by (assumption || lia). apply fold_left_ext. intros a v Ha.
    rewrite IH; [reflexivity|lia|]. now apply (proj1 (One t ltac:(lia)) q).
  Qed.
End Together.

(** Side by side, traffic adds up. *)
Section TogetherCosts.
  Variables (len : Z -> Z) (far : Z -> bool).

  Lemma zsum_together (f : step -> Z) parts : f IDLE = 0 ->
    (forall s s', f (s ++ s') = f s + f s') ->
    zsum (map f (together parts)) = zsum (map (fun s => zsum (map f s)) parts).
  Proof.
    intros F0 Fapp. unfold together. rewrite map_map.
    assert (Fc : forall l, f (concat l) = zsum (map f l)).
    { induction l as [|s l IH]; [assumption|]. cbn [concat map]. now rewrite Fapp, zsum_cons, IH. }
    rewrite (zsum_ext _ (fun t => zsum (map (fun s => f (nth t s IDLE)) parts)))
      by (intros t _; now rewrite Fc, map_map).
    rewrite zsum_swap. apply zsum_ext. intros s Hs.
    assert (L := longest_bounds parts s Hs). revert L. generalize (longest parts) as n. clear Hs.
    induction s as [|a s IH]; intros n L.
    - apply zsum_zero. intros t _. now destruct t.
    - destruct n as [|n]; [cbn in L; lia|]. cbn [seq map nth].
      rewrite !zsum_cons, <- seq_shift, map_map. f_equal. apply IH. cbn in L. lia.
  Qed.

  Theorem together_sent parts :
    sent_where len far (together parts) = zsum (map (sent_where len far) parts).
  Proof. apply (zsum_together (step_sends len far)); [reflexivity|apply step_sends_app]. Qed.

  Theorem together_received parts :
    received_where len far (together parts) = zsum (map (received_where len far) parts).
  Proof. apply (zsum_together (step_receives len far)); [reflexivity|apply step_receives_app]. Qed.
End TogetherCosts.
