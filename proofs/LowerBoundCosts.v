(** A schedule costs in the model of LowerBound.v what it costs (Traffic.v).

        rank r of the program                       the model
        elements in all its sends to others    =    load of the transfers that it gives
        elements in all its receives           =    load of the transfers that it takes
        at most one send to others a step      =>   gives one transfer a phase at most

    [given_is_sent], [taken_is_received], [single_port_one_send], [single_port_one_receive].
    All areas are cut alike: index c and its copies in other areas have the same length. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Traffic Messages.
From Refcoll Require Import LowerBound LowerBoundBytes LowerBoundSteps LowerBoundSchedules.
Import ListNotations.
Open Scope Z_scope.

Lemma zsum_flat_map {X Y} (f : Y -> Z) (g : X -> list Y) l :
  zsum (map f (flat_map g l)) = zsum (map (fun x => zsum (map f (g x))) l).
Proof.
  induction l as [|x l IH]; [reflexivity|]. cbn [flat_map map].
  now rewrite map_app, zsum_app, zsum_cons, IH.
Qed.

(** Over the messages to a rank, and over its receives. *)
Lemma sum_over_receives (g : action -> Z) P r :
  zsum (map (fun m => g (taken_by m)) (messages_to P r)) =
  zsum (map (fun a => if is_send a then 0 else g a) (P r)).
Proof.
  unfold messages_to. rewrite map_map. cbn [taken_by]. generalize (@nil action) as earlier.
  induction (P r) as [|a s IH]; intros earlier; [reflexivity|]. cbn [deliver map].
  rewrite zsum_cons, <- (IH (earlier ++ [a])). now destruct (is_send a).
Qed.

(** Over the sends to a rank, and the receives from one. *)
Lemma sum_to (f : list Z -> Z) r s :
  zsum (map (fun a => if is_send a && (peer a =? r) then f (chunks a) else 0) s) =
  zsum (map f (sends_to r s)).
Proof.
  induction s as [|[c p|c p|c p e] s IH]; [reflexivity| | |];
    cbn [map is_send peer chunks sends_to andb];
    rewrite zsum_cons, IH; try destruct (p =? r); cbn [map]; rewrite ?zsum_cons; lia.
Qed.

Lemma sum_from (f : list Z -> Z) q s :
  zsum (map (fun a => if is_send a then 0 else if peer a =? q then f (chunks a) else 0) s) =
  zsum (map f (receives_from q s)).
Proof.
  induction s as [|[c p|c p|c p e] s IH]; [reflexivity| | |];
    cbn [map is_send peer chunks receives_from];
    rewrite zsum_cons, IH; try destruct (p =? q); cbn [map]; rewrite ?zsum_cons; lia.
Qed.

Lemma sum_pos {X} (f : X -> Z) l : (forall x, 0 <= f x) -> 0 <= zsum (map f l).
Proof. intros H. rewrite <- (zsum_zero (fun _ => 0) l) by reflexivity. now apply zsum_le. Qed.

(** What the first [n] rounds cost is no more than what all steps cost. *)
Lemma first_rounds n (f : step -> Z) (s : schedule) : f IDLE = 0 -> (forall each, 0 <= f each) ->
  zsum (map (fun k => f (nth k s IDLE)) (seq 0 n)) <= zsum (map f s).
Proof.
  intros H0 Hpos. revert s. induction n as [|k IH]; intros s.
  - now apply sum_pos.
  - cbn [seq map]. rewrite zsum_cons, <- seq_shift, map_map. destruct s as [|each s].
    + cbn [nth map]. rewrite H0, zsum_zero; [reflexivity|]. now intros [|i].
    + cbn [nth map]. rewrite zsum_cons. specialize (IH s). lia.
Qed.

Lemma length_is_sum {X} (which : X -> bool) l :
  Z.of_nat (length (filter which l)) = zsum (map (fun x => if which x then 1 else 0) l).
Proof.
  induction l as [|x l IH]; [reflexivity|]. cbn [filter map]. rewrite zsum_cons, <- IH.
  destruct (which x); cbn [length]; lia.
Qed.

Section Costs.
  Context {A : Type} (before : Z -> Z -> bool) (op : A -> A -> A).
  Variables (N C : Z) (P : program) (n : nat).
  Hypothesis it_fits : fits N C P n.

  Local Notation unit_of := (unit_of C).
  Local Notation transfer_of := (transfer_of before op C).
  Local Notation phase_of := (phase_of before op N C).
  Local Notation model := (model before op N C P n).

  (** ** One round; [price] is what a message costs, given the chunks that it carries *)

  Section Round.
    Variables (Q : Z -> step) (price : list Z -> Z) (r : Z).
    Hypothesis round_ok : round_fits N C Q.
    Hypothesis Hr : 0 <= r < N.

    Definition cost {St} (t : transfer St) : Z := if remote t then price (units t) else 0.
    Definition price_of (a : action) : Z := price (map unit_of (chunks a)).

    Lemma sum_over_transfers (end_ : transfer (Z -> A) -> Z) (g : Z -> action -> Z) :
      (forall q m, In m (messages_to Q q) ->
         (if end_ (transfer_of m) =? r then cost (transfer_of m) else 0) = g q (taken_by m)) ->
      zsum (map (fun t => if end_ t =? r then cost t else 0) (transfers (phase_of Q))) =
      zsum (map (fun q => zsum (map (fun a => if is_send a then 0 else g q a) (Q q))) (ranks N)).
    Proof.
      intros H. unfold phase_of. cbn [transfers]. unfold round_messages.
      rewrite map_map, zsum_flat_map. apply zsum_ext. intros q _.
      rewrite <- sum_over_receives. apply zsum_ext. intros m Hm. now apply H.
    Qed.

    Lemma to_messages q m : In m (messages_to Q q) -> to m = q.
    Proof. intros H. now apply in_map_iff in H as (each & <- & _). Qed.

    Lemma taken_round :
      zsum (map (fun t => if taker t =? r then cost t else 0) (transfers (phase_of Q))) =
      zsum (map (fun a => if negb (is_send a) && others r (peer a) then price_of a else 0) (Q r)).
    Proof.
      rewrite (sum_over_transfers taker
        (fun q a => if q =? r then if others r (peer a) then price_of a else 0 else 0)).
      - rewrite (zsum_single _ _ r); [|apply range_NoDup|now apply in_ranks|].
        + apply zsum_ext. intros a _. rewrite Z.eqb_refl. now destruct (is_send a).
        + intros q _ Hq. apply zsum_zero. intros a _. apply Z.eqb_neq in Hq as ->.
          now destruct (is_send a).
      - intros q m Hm. apply to_messages in Hm as <-. unfold cost, remote, others, price_of.
        cbn [taker giver units LowerBoundSchedules.transfer_of]. unfold from.
        now destruct (Z.eqb_spec (to m) r) as [->|].
    Qed.

    Lemma given_round :
      zsum (map (fun t => if giver t =? r then cost t else 0) (transfers (phase_of Q))) =
      zsum (map (fun a => if is_send a && others r (peer a) then price_of a else 0) (Q r)).
    Proof.
      rewrite (sum_over_transfers giver (fun q a => if q =? r then 0 else
        if peer a =? r then price_of a else 0)).
      - rewrite (by_peer N (fun far a => if is_send a && far (peer a) then price_of a else 0)
          (fun a => if is_send a then price_of a else 0) r (Q r)).
        + apply zsum_ext. intros q Hq. apply in_ranks in Hq. destruct (Z.eqb_spec q r) as [->|].
          * apply zsum_zero. intros a _. now destruct (is_send a).
          * unfold price_of. rewrite (sum_to (fun c => price (map unit_of c))).
            rewrite (sum_from (fun c => price (map unit_of c))), <- !(map_map (map unit_of) price).
            now rewrite (proj2 round_ok).
        + intros far a. now destruct (is_send a), (far (peer a)).
        + intros a. now apply round_ok.
      - intros q m Hm. apply to_messages in Hm as <-. unfold cost, remote, price_of.
        cbn [taker giver units LowerBoundSchedules.transfer_of]. unfold from.
        destruct (Z.eqb_spec (peer (taken_by m)) r) as [->|]; [|now destruct (to m =? r)].
        rewrite Z.eqb_sym. now destruct (to m =? r).
    Qed.
  End Round.

  Lemma phase_among Q t : round_fits N C Q -> In t (transfers (phase_of Q)) ->
    0 <= giver t < N /\ 0 <= taker t < N.
  Proof.
    intros F Ht. apply in_map_iff in Ht as (m & <- & Hm). cbn.
    apply in_flat_map in Hm as (q & Hq & Hm). apply in_ranks in Hq.
    assert (E := to_messages Q q m Hm). rewrite E. split; [|assumption].
    apply in_map_iff in Hm as (each & <- & He). apply (deliver_fits N C) in He; trivial.
    now apply (proj1 F q).
  Qed.

  (** ** All rounds *)

  Lemma in_model t : In t (all_transfers model) -> exists k, (k < n)%nat /\
    In t (transfers (phase_of (round P k))).
  Proof.
    intros H. apply in_flat_map in H as (p & Hp & Ht). apply in_map_iff in Hp as (k & <- & Hk).
    apply in_seq in Hk. exists k. split; [lia|assumption].
  Qed.

  Lemma model_among : among N model.
  Proof.
    intros t H. apply in_model in H as (k & Hk & Ht). now apply phase_among in Ht; [|apply it_fits].
  Qed.

  Variable len : Z -> Z.
  Hypothesis areas_alike : forall i, len (unit_of i) = len i.
  Hypothesis len_pos : forall i, 0 <= len i.

  Lemma price_is_volume a : price_of (fun us => zsum (map len us)) a = volume len (chunks a).
  Proof. unfold price_of, volume. rewrite map_map. apply zsum_ext. intros; apply areas_alike. Qed.

  Lemma over_rounds (f : transfer (Z -> A) -> Z) :
    zsum (map f (all_transfers model)) =
    zsum (map (fun k => zsum (map f (transfers (phase_of (round P k))))) (seq 0 n)).
  Proof.
    unfold all_transfers, LowerBoundSchedules.model. rewrite zsum_flat_map, map_map. reflexivity.
  Qed.

  Lemma volume_pos c : 0 <= volume len c.
  Proof. now apply sum_pos. Qed.

  Theorem given_is_sent r : 0 <= r < N -> given len model r <= sent len P r.
  Proof.
    intros Hr. unfold given. rewrite over_rounds.
    transitivity (zsum (map (fun k => step_sends len (others r) (nth k (P r) IDLE)) (seq 0 n))).
    - apply Z.eq_le_incl, zsum_ext. intros k Hk. apply in_seq in Hk.
      etransitivity; [apply (given_round (round P k) (fun us => zsum (map len us)) r);
        [apply it_fits; lia|assumption]|].
      apply zsum_ext. intros a _. unfold action_sends. now rewrite price_is_volume.
    - apply (first_rounds n (step_sends len (others r))); [reflexivity|].
      intros s. apply sum_pos. intros a. unfold action_sends.
      destruct (_ && _); [apply volume_pos|lia].
  Qed.

  Theorem taken_is_received r : 0 <= r < N -> taken len model r <= received len P r.
  Proof.
    intros Hr. unfold taken. rewrite over_rounds.
    transitivity (zsum (map (fun k => step_receives len (others r) (nth k (P r) IDLE)) (seq 0 n))).
    - apply Z.eq_le_incl, zsum_ext. intros k Hk. apply in_seq in Hk.
      etransitivity; [now apply (taken_round (round P k) (fun us => zsum (map len us)) r)|].
      apply zsum_ext. intros a _. unfold action_receives. now rewrite price_is_volume.
    - apply (first_rounds n (step_receives len (others r))); [reflexivity|].
      intros s. apply sum_pos. intros a. unfold action_receives.
      destruct (_ && _); [apply volume_pos|lia].
  Qed.

  (** ** One message a step *)

  Lemma none_outside (end_ : transfer (Z -> A) -> Z) Q r : ~ 0 <= r < N ->
    (forall t, In t (transfers (phase_of Q)) -> 0 <= end_ t < N) ->
    length (filter (fun t => remote t && (end_ t =? r)) (transfers (phase_of Q))) = O.
  Proof.
    intros Hr H. induction (transfers (phase_of Q)) as [|t l IH]; [reflexivity|]. cbn [filter].
    assert (E : end_ t <> r) by (intros <-; apply Hr, H; now left).
    apply Z.eqb_neq in E. rewrite E, andb_false_r. apply IH. intros; apply H; now right.
  Qed.

  Theorem single_port_one_send Q : round_fits N C Q ->
    (forall r, 0 <= r < N -> single_port_step r (Q r)) -> one_send (phase_of Q).
  Proof.
    intros F One r. destruct (Z_le_gt_dec 0 r), (Z_lt_le_dec r N);
      try (rewrite none_outside; [lia|lia|intros t Ht; now apply (phase_among Q)]).
    assert (Hr : 0 <= r < N) by lia. destruct (One r Hr) as [H _]. apply Nat2Z.inj_le in H.
    rewrite length_is_sum in H. apply Nat2Z.inj_le. rewrite length_is_sum.
    etransitivity; [|exact H]. assert (G := given_round Q (fun _ => 1) r F Hr).
    unfold price_of in G. rewrite <- G.
    apply Z.eq_le_incl, zsum_ext. intros t _. unfold cost. now destruct (remote t), (giver t =? r).
  Qed.

  Theorem single_port_one_receive Q : round_fits N C Q ->
    (forall r, 0 <= r < N -> single_port_step r (Q r)) -> one_receive (phase_of Q).
  Proof.
    intros F One r. destruct (Z_le_gt_dec 0 r), (Z_lt_le_dec r N);
      try (rewrite none_outside; [lia|lia|intros t Ht; now apply (phase_among Q)]).
    assert (Hr : 0 <= r < N) by lia. destruct (One r Hr) as [_ H]. apply Nat2Z.inj_le in H.
    rewrite length_is_sum in H. apply Nat2Z.inj_le. rewrite length_is_sum.
    etransitivity; [|exact H]. assert (G := taken_round Q (fun _ => 1) r Hr).
    unfold price_of in G. rewrite <- G.
    apply Z.eq_le_incl, zsum_ext. intros t _. unfold cost. now destruct (remote t), (taker t =? r).
  Qed.
End Costs.
