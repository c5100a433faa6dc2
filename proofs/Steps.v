(** How many steps a rank takes: those of its schedule that hold a message to another rank.

        P then Q        steps of P + steps of Q          padded      the same
        backwards       the same                         in a group  those of its place
        side by side    where one part is always busy, all

    An idle step is not counted, nor a message to oneself. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Columns Combinators Groups Traffic Chunking SideBySide.
Import ListNotations.
Open Scope Z_scope.

Lemma busy_steps_app r s s' : busy_steps r (s ++ s') = (busy_steps r s + busy_steps r s')%nat.
Proof. unfold busy_steps. now rewrite filter_app, app_length. Qed.

Lemma busy_steps_map r q (f : step -> step) s :
  (forall each, In each s -> busy r (f each) = busy q each) ->
  busy_steps r (map f s) = busy_steps q s.
Proof.
  unfold busy_steps. induction s as [|a s IH]; intros H; [reflexivity|]. cbn [map filter].
  rewrite H by now left. assert (E := IH (fun each Hs => H each (or_intror Hs))).
  destruct (busy q a); cbn [length]; now rewrite E.
Qed.

Lemma padded_steps r s n : busy_steps r (padded s n) = busy_steps r s.
Proof.
  unfold padded. rewrite busy_steps_app.
  enough (E : busy_steps r (repeat IDLE (Z.to_nat (n - Z.of_nat (length s)))) = O)
    by (rewrite E; lia).
  unfold busy_steps. induction (Z.to_nat _) as [|k IH]; [reflexivity|exact IH].
Qed.

Lemma existsb_rev {X} (f : X -> bool) l : existsb f (rev l) = existsb f l.
Proof.
  apply eq_true_iff_eq. rewrite !existsb_exists.
  split; intros (x & Hx & E); exists x; (split; [|assumption]).
  - now apply in_rev.
  - now apply in_rev in Hx.
Qed.

Lemma busy_turned r into s : busy r (rev (map (turned into) s)) = busy r s.
Proof.
  unfold busy. rewrite existsb_rev. induction s as [|a s IH]; [reflexivity|]. cbn [map existsb].
  rewrite IH. f_equal. now destruct a, into.
Qed.

Lemma rev_steps r s : busy_steps r (rev s) = busy_steps r s.
Proof.
  induction s as [|a s IH]; [reflexivity|]. cbn [rev]. rewrite busy_steps_app, IH.
  unfold busy_steps. cbn [filter]. destruct (busy r a); cbn [length]; lia.
Qed.

Lemma reverse_steps r into s : busy_steps r (reverse into s) = busy_steps r s.
Proof.
  unfold reverse. rewrite rev_steps. apply busy_steps_map. intros. apply busy_turned.
Qed.

Lemma on_chunks_steps r cuts s : busy_steps r (on_chunks cuts s) = busy_steps r s.
Proof.
  apply busy_steps_map. intros each _. unfold busy.
  induction each as [|a each IH]; [reflexivity|]. cbn [map existsb].
  now rewrite peer_with_chunks, IH.
Qed.

Lemma on_ranks_steps group core n place : NoDup group ->
  matches (size_of group) (fun i => core i (size_of group)) n ->
  ends_after (size_of group) (fun i => core i (size_of group)) n -> 0 <= place < size_of group ->
  busy_steps (member group place) (on_ranks group core (member group place)) =
  busy_steps place (core place (size_of group)).
Proof.
  intros D M E Hp. rewrite member_schedule by assumption. apply busy_steps_map.
  intros each Hs. unfold busy.
  assert (P : forall a, In a each -> 0 <= peer a < size_of group)
    by (intros a Ha; exact (peers_exist group core n M place each a E Hp Hs Ha)).
  revert P. clear Hs. induction each as [|a each IH]; intros P; [reflexivity|]. cbn [map existsb].
  rewrite peer_with_peer, IH, other_members; try assumption; [reflexivity|apply P; now left|].
  intros b Hb. apply P. now right.
Qed.

Lemma on_ranks_no_steps group core r : ~ In r group -> busy_steps r (on_ranks group core r) = O.
Proof. intros H. unfold on_ranks. apply index_of_none in H. now rewrite H. Qed.

Lemma always_busy r s :
  busy_steps r s = length s <-> (forall each, In each s -> busy r each = true).
Proof.
  unfold busy_steps. induction s as [|a s IH]; [easy|]. cbn [filter length].
  assert (L : (length (filter (busy r) s) <= length s)%nat).
  { clear IH. induction s as [|b s IH]; [cbn; lia|]. cbn [filter]. destruct (busy r b); cbn; lia. }
  destruct (busy r a) eqn:E; cbn [length]; split.
  - intros H each [<-|Hs]; [assumption|]. apply IH; [lia|assumption].
  - intros H. f_equal. apply IH. intros; apply H; now right.
  - lia.
  - intros H. rewrite H in E by now left. discriminate.
Qed.

(** Side by side with a part that is busy from the first step to the last, every step is. *)
Lemma together_steps r parts s : In s parts -> busy_steps r s = length s ->
  length (together parts) = length s -> busy_steps r (together parts) = length s.
Proof.
  intros Hs Hb L. rewrite <- L. apply always_busy. intros each He.
  apply (In_nth _ _ IDLE) in He as (t & Ht & <-). rewrite together_nth. rewrite L in Ht.
  assert (B := proj1 (always_busy r s) Hb (nth t s IDLE) (nth_In _ _ Ht)).
  unfold busy in *. apply existsb_exists in B as (a & Ha & E). apply existsb_exists.
  exists a. split; [|assumption]. apply in_concat. exists (nth t s IDLE). split; [|assumption].
  apply in_map_iff. now exists s.
Qed.
