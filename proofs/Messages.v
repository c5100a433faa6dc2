(** The same program seen from outside: each round as one list of messages.

        rank 0: Send [2] 1, Copy [1] 3          0 --2--> 1      From 0, to 1, the chunks at
        rank 1: Send [0] 2, Copy [2] 0    =     1 --0--> 2      the sender, and the receive
        ...                                     ...             that takes them

    The per-rank form is what Python writes; the global form is what bounds speak of.
    [round_messages_meaning]: both do the same.  [round_received]: a rank's receives are the
    messages to it.  [round_conserves]: all together receive what all together send. *)
From Coq Require Import ZArith List Bool Lia Permutation.
From Refcoll Require Import Lists Schedule Columns Traffic.
Import ListNotations.
Open Scope Z_scope.

Record message := Message { to : Z; theirs : list Z; taken_by : action }.
Definition from (m : message) : Z := peer (taken_by m).

(** All messages of a round, by receiver, and those of a program. *)
Definition messages_to (P : Z -> step) (r : Z) : list message :=
  map (fun each => Message r (snd each) (fst each)) (deliver P r [] (P r)).
Definition round_messages (N : Z) (P : Z -> step) : list message :=
  flat_map (messages_to P) (ranks N).
Definition messages (N : Z) (P : program) (n : nat) : list (list message) :=
  map (fun t => round_messages N (round P t)) (seq 0 n).

Section Meaning.
  Context {A : Type} (before : Z -> Z -> bool) (op : A -> A -> A).

  (** Every rank takes the messages to it, in order; all carry what was there before. *)
  Definition take_messages (st : state A) (ms : list message) : state A := fun r =>
    fold_left (fun memory m =>
                 if to m =? r then arrive before op st r memory (taken_by m, theirs m) else memory)
              ms (st r).

  Lemma take_messages_to P st r q memory :
    fold_left (fun memory m =>
                 if to m =? r then arrive before op st r memory (taken_by m, theirs m) else memory)
              (messages_to P q) memory =
    if q =? r then fold_left (arrive before op st r) (deliver P q [] (P q)) memory else memory.
  Proof.
    unfold messages_to. generalize (deliver P q [] (P q)) as l. intros l. revert memory.
    destruct (Z.eqb_spec q r) as [->|Hne]; induction l as [|[a th] l IH]; intros memory;
      cbn [map fold_left to fst snd taken_by theirs]; auto.
    - rewrite Z.eqb_refl. apply IH.
    - destruct (Z.eqb_spec q r); [contradiction|]. apply IH.
  Qed.

  Theorem round_messages_meaning N P st r : 0 <= r < N ->
    take_messages st (round_messages N P) r = round_by before op P st r.
  Proof.
    intros Hr. unfold take_messages, round_by, round_messages.
    set (f := fun memory m => _).
    assert (Skip : forall l memory, ~ In r l ->
      fold_left f (flat_map (messages_to P) l) memory = memory).
    { induction l as [|q l IH]; intros memory Hn; [reflexivity|]. cbn [flat_map].
      rewrite fold_left_app. unfold f at 2. rewrite take_messages_to.
      destruct (Z.eqb_spec q r) as [->|_]; [exfalso; apply Hn; now left|].
      apply IH. intros H; apply Hn; now right. }
    unfold ranks. rewrite (range_split 0 r N), (range_first r N), flat_map_app by lia.
    rewrite fold_left_app, (Skip (range 0 r)) by (rewrite in_range; lia). cbn [flat_map].
    rewrite fold_left_app, (Skip (range (r + 1) N)) by (rewrite in_range; lia).
    unfold f. now rewrite take_messages_to, Z.eqb_refl.
  Qed.
End Meaning.

(** ** Traffic, seen from outside *)

(** Elements of the messages that [which] chooses, those to oneself excepted. *)
Definition elements (len : Z -> Z) (which : message -> bool) (ms : list message) : Z :=
  zsum (map (fun m => if which m && negb (from m =? to m) then volume len (theirs m) else 0) ms).

Lemma elements_app len which ms ms' :
  elements len which (ms ++ ms') = elements len which ms + elements len which ms'.
Proof. unfold elements. now rewrite map_app, zsum_app. Qed.

Lemma messages_to_matched N P r : round_matches N P -> 0 <= r < N ->
  messages_to P r =
  map (fun a => Message r (chunks a) a) (filter (fun a => negb (is_send a)) (P r)).
Proof.
  intros M Hr. unfold messages_to. rewrite (deliver_matched N) by assumption. now rewrite map_map.
Qed.

(** What rank [r] takes is what its receives name. *)
Lemma round_received len N P r : round_matches N P -> 0 <= r < N ->
  elements len (fun m => to m =? r) (round_messages N P) = step_receives len (others r) (P r).
Proof.
  intros M Hr. unfold round_messages.
  assert (One : forall q, 0 <= q < N -> elements len (fun m => to m =? r) (messages_to P q) =
    if q =? r then step_receives len (others r) (P r) else 0).
  { intros q Hq. rewrite (messages_to_matched N) by assumption. unfold elements. rewrite map_map.
    cbn [to theirs from taken_by]. destruct (Z.eqb_spec q r) as [->|]; [|now apply zsum_zero].
    unfold step_receives. induction (P r) as [|a s IH]; [reflexivity|]. cbn [map].
    rewrite zsum_cons, <- IH. unfold action_receives, others.
    destruct a as [c p|c p|c p e]; cbn [is_send negb andb filter map peer chunks];
      rewrite ?zsum_cons; reflexivity. }
  assert (G : forall l, (forall q, In q l -> 0 <= q < N) ->
    elements len (fun m => to m =? r) (flat_map (messages_to P) l) =
    zsum (map (fun q => if q =? r then step_receives len (others r) (P r) else 0) l)).
  { induction l as [|q l IH]; intros H; [reflexivity|]. cbn [flat_map map].
    rewrite elements_app, zsum_cons, IH, One; auto with datatypes. }
  rewrite G by (intros q; apply in_ranks).
  rewrite (zsum_single _ _ r); [now rewrite Z.eqb_refl|apply range_NoDup|now apply in_ranks|].
  intros y _ Hy. now apply Z.eqb_neq in Hy as ->.
Qed.

(** What one rank sends to another, counted at either end. *)
Lemma step_sends_to len r s :
  step_sends len (fun p => p =? r) s = zsum (map (volume len) (sends_to r s)).
Proof.
  unfold step_sends. induction s as [|a s IH]; [reflexivity|]. cbn [map]. rewrite zsum_cons, IH.
  unfold action_sends. destruct a as [c p|c p|c p e]; cbn [is_send peer chunks sends_to andb];
    try destruct (p =? r); cbn [map]; rewrite ?zsum_cons; lia.
Qed.

Lemma step_receives_from len q s :
  step_receives len (fun p => p =? q) s = zsum (map (volume len) (receives_from q s)).
Proof.
  unfold step_receives. induction s as [|a s IH]; [reflexivity|]. cbn [map]. rewrite zsum_cons, IH.
  unfold action_receives.
  destruct a as [c p|c p|c p e]; cbn [is_send negb peer chunks receives_from andb];
    try destruct (p =? q); cbn [map]; rewrite ?zsum_cons; lia.
Qed.

(** A count over all other ranks is the sum of the counts over each. *)
Lemma by_peer N (count : (Z -> bool) -> action -> Z) (weight : action -> Z) r s :
  (forall far a, count far a = if far (peer a) then weight a else 0) ->
  (forall a, In a s -> 0 <= peer a < N) ->
  zsum (map (count (others r)) s) =
  zsum (map (fun q => if q =? r then 0 else zsum (map (count (fun p => p =? q)) s)) (ranks N)).
Proof.
  intros Hcount. induction s as [|a s IH]; intros Hp.
  - symmetry. apply zsum_zero. intros q _. now destruct (q =? r).
  - cbn [map]. rewrite zsum_cons, IH by (intros; apply Hp; now right).
    transitivity (zsum (map (fun q =>
      (if q =? r then 0 else count (fun p => p =? q) a) +
      (if q =? r then 0 else zsum (map (count (fun p => p =? q)) s))) (ranks N))).
    + rewrite zsum_plus. f_equal.
      rewrite (zsum_single _ _ (peer a)); [|apply range_NoDup|apply in_ranks, Hp; now left|].
      * rewrite !Hcount, Z.eqb_refl. unfold others. now destruct (peer a =? r).
      * intros q _ Hq. rewrite Hcount, Z.eqb_sym. apply Z.eqb_neq in Hq.
        rewrite (Z.eqb_sym (peer a) q), Hq. now destruct (r =? q).
    + apply zsum_ext. intros q _. destruct (q =? r); [reflexivity|]. now rewrite zsum_cons.
Qed.

(** In a round that matches, as much is received as is sent. *)
Theorem round_conserves len N P : round_matches N P ->
  zsum (map (fun r => step_sends len (others r) (P r)) (ranks N)) =
  zsum (map (fun r => step_receives len (others r) (P r)) (ranks N)).
Proof.
  intros [Hp Hs].
  rewrite (zsum_ext (fun r => step_sends len (others r) (P r)) (fun r => zsum (map (fun q =>
    if q =? r then 0 else step_sends len (fun p => p =? q) (P r)) (ranks N)))).
  2: { intros r Hr. apply in_ranks in Hr.
       apply (by_peer N (action_sends len)
                (fun a => if is_send a then volume len (chunks a) else 0)).
       - intros far a. unfold action_sends. now destruct (is_send a), (far (peer a)).
       - intros a. now apply Hp. }
  rewrite (zsum_ext (fun r => step_receives len (others r) (P r)) (fun r => zsum (map (fun q =>
    if q =? r then 0 else step_receives len (fun p => p =? q) (P r)) (ranks N)))).
  2: { intros r Hr. apply in_ranks in Hr.
       apply (by_peer N (action_receives len)
                (fun a => if is_send a then 0 else volume len (chunks a))).
       - intros far a. unfold action_receives. now destruct (is_send a), (far (peer a)).
       - intros a. now apply Hp. }
  rewrite zsum_swap. apply zsum_ext. intros q Hq. apply in_ranks in Hq.
  apply zsum_ext. intros r Hr. apply in_ranks in Hr. rewrite (Z.eqb_sym q r).
  destruct (r =? q); [reflexivity|].
  now rewrite step_sends_to, step_receives_from, Hs.
Qed.
