(** [on_ranks] (refcoll/schedule.py): a schedule among the ranks of a group only.

        group = [4; 1; 6]                  ranks 0 .. 7 of the whole
        place    0  1  2                   .  1  .  .  4  .  6  .
                                              place 1  0     2

    The schedule sees its rank's place in the group and the group's size; its peers are
    mapped back.  Ranks outside the group are idle.  [on_ranks_result]: a member ends with
    what the schedule gives at its place, on what the members hold.  Operands stay in the
    order of the ranks, not of the places: hence the group's own [before]. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Columns Combinators Traffic.
From Refcoll Require Export Places.
Import ListNotations.
Open Scope Z_scope.

Definition with_peer (f : Z -> Z) (a : action) : action :=
  match a with
  | Send c to => Send c (f to)
  | Copy c source => Copy c (f source)
  | Reduce c source side => Reduce c (f source) side
  end.

Definition on_ranks (group : list Z) (core : Z -> Z -> schedule) (rank : Z) : schedule :=
  match index_of rank group with
  | None => []
  | Some place => map (map (with_peer (member group))) (core place (size_of group))
  end.

Section Group.
  Variables (N : Z) (group : list Z) (core : Z -> Z -> schedule) (n : nat).
  Hypothesis distinct : NoDup group.
  Hypothesis exist : forall r, In r group -> 0 <= r < N.
  Let M := size_of group.
  Let inner : program := fun place => core place M.
  Let outer : program := on_ranks group core.

  Lemma member_in place : 0 <= place < M -> In (member group place) group.
  Proof. intros H. apply nth_In. unfold M, size_of in H. lia. Qed.

  Lemma index_of_member place : 0 <= place < M -> index_of (member group place) group = Some place.
  Proof.
    intros H. destruct (index_of (member group place) group) as [i|] eqn:E.
    - apply index_of_some in E as [Hi E]. f_equal. unfold member, M, size_of in *.
      apply (NoDup_nth group 0) in E; [lia|assumption|lia|lia].
    - exfalso. now apply index_of_none in E; apply E, member_in.
  Qed.

  Lemma member_injective i j : 0 <= i < M -> 0 <= j < M ->
    member group i = member group j -> i = j.
  Proof.
    intros Hi Hj E. assert (H := index_of_member i Hi).
    rewrite E, index_of_member in H by assumption.
    congruence.
  Qed.

  Lemma outsider_round t r : ~ In r group -> round outer t r = IDLE.
  Proof.
    intros H. apply index_of_none in H. unfold round, outer, on_ranks. rewrite H. now destruct t.
  Qed.

  Lemma member_round t place : 0 <= place < M ->
    round outer t (member group place) = map (with_peer (member group)) (round inner t place).
  Proof.
    intros H. unfold round, outer, on_ranks. rewrite index_of_member by assumption.
    apply (map_nth (map (with_peer (member group))) _ IDLE).
  Qed.

  Lemma peer_with_peer f a : peer (with_peer f a) = f (peer a).
  Proof. now destruct a. Qed.

  (** ** Messages fit *)

  Hypothesis core_matches : matches M inner n.

  Lemma sends_to_member s j : 0 <= j < M -> (forall a, In a s -> 0 <= peer a < M) ->
    sends_to (member group j) (map (with_peer (member group)) s) = sends_to j s.
  Proof.
    intros Hj Hp. induction s as [|a s IH]; [reflexivity|]. cbn [map].
    assert (Ha : 0 <= peer a < M) by (apply Hp; now left).
    destruct a as [c p|c p|c p e]; cbn [with_peer sends_to peer] in *;
      rewrite IH by (intros; apply Hp; now right); try reflexivity.
    destruct (Z.eqb_spec p j) as [->|Hne]; [now rewrite Z.eqb_refl|].
    destruct (Z.eqb_spec (member group p) (member group j)) as [E|]; [|reflexivity].
    now apply member_injective in E.
  Qed.

  Lemma receives_from_member s i : 0 <= i < M -> (forall a, In a s -> 0 <= peer a < M) ->
    receives_from (member group i) (map (with_peer (member group)) s) = receives_from i s.
  Proof.
    intros Hi Hp. induction s as [|a s IH]; [reflexivity|]. cbn [map].
    assert (Ha : 0 <= peer a < M) by (apply Hp; now left).
    destruct a as [c p|c p|c p e]; cbn [with_peer receives_from peer] in *;
      rewrite IH by (intros; apply Hp; now right); try reflexivity;
      (destruct (Z.eqb_spec p i) as [->|Hne]; [now rewrite Z.eqb_refl|];
       destruct (Z.eqb_spec (member group p) (member group i)) as [E|]; [|reflexivity];
       now apply member_injective in E).
  Qed.

  Lemma nothing_for_outsiders s r : ~ In r group -> (forall a, In a s -> 0 <= peer a < M) ->
    sends_to r (map (with_peer (member group)) s) = [] /\
    receives_from r (map (with_peer (member group)) s) = [].
  Proof.
    intros Hr Hp. induction s as [|a s IH]; [now split|]. cbn [map].
    assert (Hne : member group (peer a) <> r)
      by (intros <-; apply Hr, member_in, Hp; now left).
    destruct IH as [IHs IHr]; [intros; apply Hp; now right|].
    destruct a as [c p|c p|c p e]; cbn [with_peer sends_to receives_from peer] in *;
      apply Z.eqb_neq in Hne; rewrite ?Hne; now split.
  Qed.

  Lemma place_or_outside r : (exists i, 0 <= i < M /\ r = member group i) \/ ~ In r group.
  Proof.
    destruct (index_of r group) as [i|] eqn:E.
    - left. exists i. apply index_of_some in E. now split.
    - right. now apply index_of_none.
  Qed.

  Theorem on_ranks_matches : matches N outer n.
  Proof.
    intros t Ht. destruct (core_matches t Ht) as [Hp Hs]. split.
    - intros r a Hr Ha. destruct (place_or_outside r) as [(i & Hi & ->)|Out].
      + rewrite member_round in Ha by assumption. apply in_map_iff in Ha as (b & <- & Hb).
        rewrite peer_with_peer. apply exist, member_in. now apply (Hp i).
      + rewrite outsider_round in Ha by assumption. contradiction.
    - intros q r Hq Hr.
      destruct (place_or_outside q) as [(i & Hi & ->)|Qout],
               (place_or_outside r) as [(j & Hj & ->)|Rout];
        rewrite ?member_round, ?outsider_round by assumption.
      + rewrite sends_to_member, receives_from_member by (try assumption; intros a; now apply Hp).
        now apply Hs.
      + now apply nothing_for_outsiders; [|intros a; apply Hp].
      + symmetry. now apply nothing_for_outsiders; [|intros a; apply Hp].
      + reflexivity.
  Qed.

  (** ** Results *)

  Section Results.
    Context {A : Type} (before : Z -> Z -> bool) (op : A -> A -> A).

    (** The order of the ranks that the places stand for. *)
    Definition group_before (i j : Z) : bool := before (member group i) (member group j).

    Lemma take_member a place c incoming own :
      take before op (with_peer (member group) a) (member group place) c incoming own =
      take group_before op a place c incoming own.
    Proof. now destruct a. Qed.

    Theorem on_ranks_result st place c : 0 <= place < M ->
      run_by before op outer n st (member group place) c =
      run_by group_before op inner n (fun i => st (member group i)) place c.
    Proof.
      assert (HM := on_ranks_matches). revert place.
      enough (G : forall t, (t <= n)%nat -> forall place, 0 <= place < M ->
        run_by before op outer t st (member group place) c =
        run_by group_before op inner t (fun i => st (member group i)) place c)
        by (intros; now apply G).
      induction t as [|t IH]; intros Ht place Hplace; [reflexivity|]. cbn [run_by].
      rewrite (round_column before op N) by (try apply HM; try lia; now apply exist, member_in).
      rewrite (round_column group_before op M) by (try apply core_matches; lia).
      rewrite member_round, fold_left_map, IH by (lia || assumption).
      apply fold_left_ext. intros a v Ha.
      rewrite take_member, peer_with_peer, IH; [reflexivity|lia|].
      apply (proj1 (core_matches t ltac:(lia)) place); assumption.
    Qed.

    Theorem on_ranks_outside st r : ~ In r group -> forall c,
      run_by before op outer n st r c = st r c.
    Proof.
      intros Hr c. generalize n as t. induction t as [|t IH]; [reflexivity|]. cbn [run_by].
      rewrite round_idle; [exact IH|]. now apply outsider_round.
    Qed.
  End Results.
  (** ** Traffic: a member's is that of its place *)

  Lemma peers_exist place s a : ends_after M inner n -> 0 <= place < M ->
    In s (core place M) -> In a s -> 0 <= peer a < M.
  Proof.
    intros Hend Hplace Hs Ha. apply (In_nth _ _ IDLE) in Hs as (t & Ht & <-).
    specialize (Hend place Hplace). unfold inner in Hend.
    now apply (proj1 (core_matches t ltac:(lia)) place).
  Qed.

  Section Costs.
    Variables (len : Z -> Z) (far : Z -> bool) (place : Z).
    Hypothesis ends : ends_after M inner n.
    Hypothesis Hplace : 0 <= place < M.

    Lemma member_schedule : outer (member group place) =
      map (map (with_peer (member group))) (core place M).
    Proof. unfold outer, on_ranks. now rewrite index_of_member. Qed.

    Lemma on_ranks_sent_where (near : Z -> bool) :
      (forall i, 0 <= i < M -> far (member group i) = near i) ->
      sent_where len far (outer (member group place)) = sent_where len near (core place M).
    Proof.
      intros E. rewrite member_schedule. unfold sent_where. rewrite map_map.
      apply zsum_ext. intros s Hs. unfold step_sends. rewrite map_map. apply zsum_ext. intros a Ha.
      assert (Hp := peers_exist place s a ends Hplace Hs Ha). unfold action_sends.
      rewrite peer_with_peer, E by assumption. now destruct a.
    Qed.

    Lemma on_ranks_received_where (near : Z -> bool) :
      (forall i, 0 <= i < M -> far (member group i) = near i) ->
      received_where len far (outer (member group place)) = received_where len near (core place M).
    Proof.
      intros E. rewrite member_schedule. unfold received_where. rewrite map_map.
      apply zsum_ext. intros s Hs. unfold step_receives. rewrite map_map. apply zsum_ext.
      intros a Ha.
      assert (Hp := peers_exist place s a ends Hplace Hs Ha). unfold action_receives.
      rewrite peer_with_peer, E by assumption. now destruct a.
    Qed.

    Lemma other_members i : 0 <= i < M ->
      others (member group place) (member group i) = others place i.
    Proof.
      intros Hi. unfold others. f_equal. destruct (Z.eqb_spec i place) as [->|Hne].
      - apply Z.eqb_refl.
      - apply Z.eqb_neq. intros E. now apply member_injective in E.
    Qed.
  End Costs.

  Theorem on_ranks_sent len place : ends_after M inner n -> 0 <= place < M ->
    sent len outer (member group place) = sent len inner place.
  Proof.
    intros. apply on_ranks_sent_where; try assumption. intros. now apply other_members.
  Qed.

  Theorem on_ranks_received len place : ends_after M inner n -> 0 <= place < M ->
    received len outer (member group place) = received len inner place.
  Proof.
    intros. apply on_ranks_received_where; try assumption. intros. now apply other_members.
  Qed.
End Group.
