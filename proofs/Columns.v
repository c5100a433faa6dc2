(** One chunk at a time: what a round does to chunk c, where messages fit.

        rank      0     1     2     3           Where each receive meets a send of the very
        chunk 0   .     .     .     .           chunks that it names, a round moves values
        chunk 1   a --> b     .     d           only within the rows of this table: what
        chunk 2   .     .     .     .           becomes of row c depends on row c alone.

    [round_column]: after a round, (r, c) holds the fold of r's receives that name c, in the
    order written, over what r held; each takes what its source held in c before.
    All theorems about results rest on it. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule.
Import ListNotations.
Open Scope Z_scope.

(** In a round that matches, a receive meets a send of the very chunks that it names. *)
Lemma deliver_matched N P r : round_matches N P -> 0 <= r < N ->
  deliver P r [] (P r) = map (fun a => (a, chunks a)) (filter (fun a => negb (is_send a)) (P r)).
Proof.
  intros [Hpeer Hsame] Hr.
  enough (G : forall todo earlier, P r = earlier ++ todo ->
    deliver P r earlier todo =
    map (fun a => (a, chunks a)) (filter (fun a => negb (is_send a)) todo)) by now apply G.
  induction todo as [|a todo IH]; intros earlier E; [reflexivity|].
  cbn [deliver filter]. rewrite IH by (now rewrite <- app_assoc).
  destruct (is_send a) eqn:S; cbn [negb]; [reflexivity|]. cbn [map]. do 2 f_equal.
  assert (Hp : 0 <= peer a < N) by (apply (Hpeer r); [assumption|rewrite E; auto with datatypes]).
  rewrite Hsame, E, receives_from_app, app_nth2, Nat.sub_diag by (assumption || lia).
  destruct a as [c p|c p|c p e]; [discriminate| |]; cbn; now rewrite Z.eqb_refl.
Qed.

(** A walk over distinct chunks that acts on chunk [c] alone acts once, or not at all. *)
Lemma pick_absent {A} (g : A -> A) c l v : ~ In c l ->
  fold_left (fun v i => if i =? c then g v else v) l v = v.
Proof.
  intros H. apply fold_left_id. intros i w Hi. destruct (Z.eqb_spec i c) as [->|]; tauto.
Qed.

Lemma pick_present {A} (g : A -> A) c l v : NoDup l -> In c l ->
  fold_left (fun v i => if i =? c then g v else v) l v = g v.
Proof.
  intros ND Hin. apply in_split in Hin as (l1 & l2 & ->). apply NoDup_remove_2 in ND.
  rewrite in_app_iff in ND. rewrite fold_left_app. cbn [fold_left].
  rewrite (pick_absent g c l1), Z.eqb_refl, pick_absent; tauto.
Qed.

Section Columns.
  Context {A : Type} (before : Z -> Z -> bool) (op : A -> A -> A).

  (** What action [a] makes, on rank [r], of the value [own] of chunk [c], where [incoming]
      is what its source held there: nothing, unless it receives chunk [c]. *)
  Definition take (a : action) (r c : Z) (incoming own : A) : A :=
    fold_left (fun v i => if i =? c then receive before op a r incoming v else v) (chunks a) own.

  Lemma arrive_column st r memory a c :
    arrive before op st r memory (a, chunks a) c = take a r c (st (peer a) c) (memory c).
  Proof.
    unfold arrive, take. revert memory.
    induction (chunks a) as [|i l IH]; intros memory; [reflexivity|].
    cbn [combine fold_left fst snd]. rewrite IH. unfold write.
    rewrite Z.eqb_sym. destruct (Z.eqb_spec i c) as [->|]; reflexivity.
  Qed.

  Lemma take_send c to r i incoming own : take (Send c to) r i incoming own = own.
  Proof. unfold take. apply fold_left_id. intros j v _. cbn. now destruct (j =? i). Qed.

  (** What arrives at [here] from [source] is merged with [mine], by the order of ranks. *)
  Definition hop (source here : Z) (arriving mine : A) : A :=
    if before source here then op arriving mine else op mine arriving.

  Theorem round_column N P st r c : round_matches N P -> 0 <= r < N ->
    round_by before op P st r c =
    fold_left (fun own a => take a r c (st (peer a) c) own) (P r) (st r c).
  Proof.
    intros HM Hr. unfold round_by. rewrite (deliver_matched N) by assumption.
    generalize (st r) as memory. induction (P r) as [|a s IH]; intros memory; [reflexivity|].
    cbn [filter]. destruct a as [i p|i p|i p e]; cbn [is_send negb map fold_left];
      rewrite IH; f_equal; [now rewrite take_send| |]; apply arrive_column.
  Qed.

  (** An action on one chunk, or on chunks that differ, applies once or not at all. *)
  Lemma take_unnamed a r c incoming own : ~ In c (chunks a) -> take a r c incoming own = own.
  Proof. apply pick_absent. Qed.

  Lemma take_named a r c incoming own : NoDup (chunks a) -> In c (chunks a) ->
    take a r c incoming own = receive before op a r incoming own.
  Proof. apply (pick_present (receive before op a r incoming)). Qed.

  Lemma take_one a i r c incoming own : chunks a = [i] ->
    take a r c incoming own = if i =? c then receive before op a r incoming own else own.
  Proof. intros E. unfold take. now rewrite E. Qed.

  Lemma take_range a lo hi r c incoming own : chunks a = range lo hi ->
    take a r c incoming own =
    if (lo <=? c) && (c <? hi) then receive before op a r incoming own else own.
  Proof.
    intros E. destruct (andb_true_iff (lo <=? c) (c <? hi)) as [_ H].
    destruct ((lo <=? c) && (c <? hi)) eqn:B.
    - apply take_named; rewrite E; [apply range_NoDup|]. apply in_range. lia.
    - apply take_unnamed. rewrite E, in_range. lia.
  Qed.

  (** ** Two runs that agree on a column *)

  Lemma round_congruent N P P' st st' c : round_matches N P -> round_matches N P' ->
    (forall r, 0 <= r < N -> P r = P' r) -> (forall r, 0 <= r < N -> st r c = st' r c) ->
    forall r, 0 <= r < N -> round_by before op P st r c = round_by before op P' st' r c.
  Proof.
    intros M M' HP Hst r Hr. rewrite !(round_column N) by assumption.
    rewrite <- HP, (Hst r) by assumption. apply fold_left_ext.
    intros a v Ha. rewrite Hst; [reflexivity|]. now apply (proj1 M r).
  Qed.

  Lemma matches_before N P n m : matches N P m -> (n <= m)%nat -> matches N P n.
  Proof. intros M H t Ht. apply M. lia. Qed.

  (** A matching run depends, in column c, on the ranks' own schedules and on column c. *)
  Lemma run_congruent N P P' n st st' c : matches N P n -> matches N P' n ->
    (forall r t, 0 <= r < N -> (t < n)%nat -> round P t r = round P' t r) ->
    (forall r, 0 <= r < N -> st r c = st' r c) ->
    forall r, 0 <= r < N -> run_by before op P n st r c = run_by before op P' n st' r c.
  Proof.
    induction n as [|t IH]; intros M M' HP Hst r Hr; [now apply Hst|]. cbn [run_by].
    apply (round_congruent N); [apply M; lia|apply M'; lia| | |assumption].
    - intros q Hq. apply HP; [assumption|lia].
    - intros q Hq. apply IH; [eapply matches_before; [exact M|lia]
        |eapply matches_before; [exact M'|lia]| |exact Hst|exact Hq].
      intros; apply HP; [assumption|lia].
  Qed.
End Columns.

Lemma round_matches_congruent N P P' :
  (forall r, 0 <= r < N -> P r = P' r) -> round_matches N P -> round_matches N P'.
Proof.
  intros E [Hp Hs]. split.
  - intros r a Hr Ha. apply (Hp r); [assumption|]. now rewrite E.
  - intros q r Hq Hr. rewrite <- !E by assumption. now apply Hs.
Qed.

Lemma matches_congruent N P P' n :
  (forall r t, 0 <= r < N -> (t < n)%nat -> round P t r = round P' t r) ->
  matches N P n -> matches N P' n.
Proof. intros E M t Ht. apply (round_matches_congruent N (round P t)); auto. Qed.

Lemma round_matches_idle N P : (forall r, 0 <= r < N -> P r = IDLE) -> round_matches N P.
Proof.
  intros E. split.
  - intros r a Hr Ha. rewrite E in Ha by assumption. contradiction.
  - intros q r Hq Hr. now rewrite !E by assumption.
Qed.

(** ** Any operator: a change of values that respects the operator respects the run *)

Section Homomorphism.
  Context {A B : Type} (before : Z -> Z -> bool) (op : A -> A -> A) (op' : B -> B -> B).
  Variable h : A -> B.
  Hypothesis respects : forall a b, h (op a b) = op' (h a) (h b).

  Lemma round_homomorphism P st st' :
    (forall r c, h (st r c) = st' r c) ->
    forall r c, h (round_by before op P st r c) = round_by before op' P st' r c.
  Proof.
    intros H r. unfold round_by. generalize (deliver P r [] (P r)) as messages.
    assert (E : forall c, h (st r c) = st' r c) by apply H.
    intros messages. revert E. generalize (st r) as m, (st' r) as m'.
    induction messages as [|[a theirs] rest IH]; intros m m' E; [exact E|].
    cbn [fold_left]. apply IH. unfold arrive. revert m m' E.
    induction (combine (chunks a) theirs) as [|[i j] l IHl]; intros m m' E; [exact E|].
    cbn [fold_left fst snd]. apply IHl. intros c. unfold write.
    destruct (c =? i); [|apply E]. rewrite <- H, <- E.
    destruct a as [x p|x p|x p e]; cbn; try reflexivity.
    now destruct (incoming_goes_left before e p r).
  Qed.

  Theorem run_homomorphism P n st st' :
    (forall r c, h (st r c) = st' r c) ->
    forall r c, h (run_by before op P n st r c) = run_by before op' P n st' r c.
  Proof. intros H. induction n as [|t IH]; [exact H|]. now apply round_homomorphism. Qed.
End Homomorphism.
