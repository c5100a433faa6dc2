(** Reduce-scatter by pairwise exchange (refcoll/algorithms/reduce_scatter.py).

        step k = 1, ..., N-1:   rank r sends chunk r + k to rank r + k
                                and adds rank r - k's part of chunk r       (all mod N)

    For every N >= 1, any values and any operator: after N-1 rounds rank r holds chunk r merged
    over all ranks ([pairwise_result]), everyone in it once ([pairwise_reduce_scatters]).  It
    sends S - |c_r| and receives (N-1) |c_r| elements, for chunks of any lengths. *)
From Coq Require Import ZArith List Bool Permutation Lia.
From Refcoll Require Import Lists Modulo Schedule Columns Collectives Combinators Traffic Ring.
Import ListNotations.
Open Scope Z_scope.

Definition pairwise_reduce_scatter (rank size : Z) : schedule :=
  map (fun k => let target := (rank + k) mod size in let source := (rank - k) mod size in
                [Send [target] target; Reduce [rank] source None])
      (range 1 size).

Section Pairwise.
  Variable N : Z.
  Hypothesis HN : 0 < N.

  Definition pairwise : program := fun r => pairwise_reduce_scatter r N.
  Definition pairwise_rounds : nat := Z.to_nat (N - 1).

  Theorem pairwise_depth r : length (pairwise r) = Z.to_nat (N - 1).
  Proof. apply loop_length. Qed.

  Lemma pairwise_round i r : (i < pairwise_rounds)%nat -> round pairwise i r =
    [Send [(r + (1 + Z.of_nat i)) mod N] ((r + (1 + Z.of_nat i)) mod N);
     Reduce [r] ((r - (1 + Z.of_nat i)) mod N) None].
  Proof.
    unfold pairwise_rounds, round. intros H. unfold pairwise, pairwise_reduce_scatter.
    now rewrite nth_loop by lia.
  Qed.

  Theorem pairwise_matches : matches N pairwise pairwise_rounds.
  Proof.
    intros i Hi. set (k := 1 + Z.of_nat i).
    assert (Hk : 1 <= k < N) by (unfold pairwise_rounds in Hi; lia). split.
    - intros r a Hr Ha. rewrite pairwise_round in Ha by assumption. fold k in Ha.
      destruct Ha as [<-|[<-|[]]]; cbn [peer]; modlia.
    - intros q r Hq Hr. rewrite !pairwise_round by assumption. fold k.
      cbn [sends_to receives_from].
      destruct (Z.eqb_spec ((q + k) mod N) r) as [E|E],
               (Z.eqb_spec ((r - k) mod N) q) as [E'|E'];
        [now rewrite E|exfalso; clearbody k; modlia|exfalso; clearbody k; modlia|reflexivity].
  Qed.

  Section Results.
    Context {A : Type} (before : Z -> Z -> bool) (op : A -> A -> A).

    (** Chunk r on rank r, when [k] others have been added: ranks r-1, r-2, ..., r-k. *)
    Definition pairwise_value (x : state A) (r k : Z) : A :=
      fold_left (fun merged j => hop before op ((r - j) mod N) r (x ((r - j) mod N) r) merged)
                (range 1 (k + 1)) (x r r).

    (** The loop invariant: only a rank's own chunk changes. *)
    Lemma pairwise_invariant x i : (i <= pairwise_rounds)%nat ->
      forall r c, 0 <= r < N -> 0 <= c < N ->
      run_by before op pairwise i x r c =
      if r =? c then pairwise_value x r (Z.of_nat i) else x r c.
    Proof.
      induction i as [|i IH]; intros Hi r c Hr Hc.
      - cbn. destruct (Z.eqb_spec r c) as [->|]; reflexivity.
      - replace (Z.of_nat (S i)) with (Z.of_nat i + 1) by lia. cbn [run_by].
        rewrite (round_column before op N) by (try assumption; apply pairwise_matches; lia).
        rewrite pairwise_round by lia. cbn [fold_left peer].
        rewrite take_send, (take_one before op _ r) by reflexivity.
        cbn [receive incoming_goes_left].
        rewrite !IH by (lia || (apply Z.mod_pos_bound; lia)). unfold pairwise_rounds in Hi.
        destruct (Z.eqb_spec r c) as [<-|E]; [|reflexivity].
        destruct (Z.eqb_spec ((r - (1 + Z.of_nat i)) mod N) r) as [E|E]; [exfalso; modlia|].
        unfold pairwise_value. rewrite (range_last 1 (Z.of_nat i + 1)), fold_left_app by lia.
        cbn [fold_left]. now rewrite (Z.add_comm (Z.of_nat i) 1).
    Qed.

    Theorem pairwise_result x r : 0 <= r < N ->
      run_by before op pairwise (Z.to_nat (N - 1)) x r r = pairwise_value x r (N - 1).
    Proof.
      intros Hr. rewrite pairwise_invariant by (unfold pairwise_rounds; lia).
      now rewrite Z.eqb_refl, Z2Nat.id by lia.
    Qed.
  End Results.

  (** ** Everyone exactly once *)

  Lemma pairwise_value_contributions before r k : 0 <= k -> 0 <= r < N ->
    Permutation (pairwise_value before (@app contribution) own r k)
                (map (fun j => ((r - j) mod N, r)) (range 0 (k + 1))).
  Proof.
    intros Hk Hr. replace k with (Z.of_nat (Z.to_nat k)) by lia.
    induction (Z.to_nat k) as [|j IH].
    - unfold pairwise_value. change (range 0 _) with [0]. cbn [map].
      now rewrite Z.sub_0_r, Z.mod_small by lia.
    - replace (Z.of_nat (S j)) with (Z.of_nat j + 1) by lia. unfold pairwise_value in *.
      rewrite (range_last 1 (Z.of_nat j + 1)), fold_left_app by lia. cbn [fold_left].
      rewrite (range_last 0 (Z.of_nat j + 1)), map_app by lia. cbn [map].
      unfold hop at 1. destruct before; [rewrite Permutation_app_comm|];
        (apply Permutation_app; [exact IH|reflexivity]).
  Qed.

  Theorem pairwise_reduce_scatters : reduce_scatters N pairwise (Z.to_nat (N - 1)).
  Proof.
    intros r Hr. unfold contributions. rewrite pairwise_result by assumption.
    rewrite pairwise_value_contributions by lia. replace (N - 1 + 1) with N by lia.
    unfold everyone. rewrite <- (map_map (fun j => (r - j) mod N) (fun q => (q, r))).
    apply Permutation_map, ranks_permuted; intros; modlia.
  Qed.

  (** ** Traffic *)

  Section Costs.
    Variables (len : Z -> Z) (r : Z).
    Hypothesis Hr : 0 <= r < N.

    Lemma partners_differ k : 1 <= k < N ->
      others r ((r + k) mod N) = true /\ others r ((r - k) mod N) = true.
    Proof. intros. unfold others. split; apply negb_true_iff, Z.eqb_neq; modlia. Qed.

    Theorem pairwise_sent : sent len pairwise r = total len N - len r.
    Proof.
      unfold sent, sent_where, pairwise, pairwise_reduce_scatter. rewrite map_map.
      rewrite (zsum_ext _ (fun k => len ((r + k) mod N))).
      - assert (T : zsum (map (fun k => len ((r + k) mod N)) (range 0 N)) = total len N)
          by (apply (zsum_permuted N (fun k => (r + k) mod N)); intros; modlia).
        rewrite range_first in T by assumption. cbn [map] in T. rewrite zsum_cons in T.
        rewrite Z.add_0_r, Z.mod_small in T by lia. cbn [Z.add] in T. lia.
      - intros k Hk. apply in_range in Hk. destruct (partners_differ k Hk) as [E _].
        cbn. unfold action_sends. cbn. rewrite E. cbn. lia.
    Qed.

    Theorem pairwise_received : received len pairwise r = (N - 1) * len r.
    Proof.
      unfold received, received_where, pairwise, pairwise_reduce_scatter. rewrite map_map.
      rewrite (zsum_ext _ (fun _ => len r)).
      - rewrite zsum_const, range_length, Z2Nat.id by lia. reflexivity.
      - intros k Hk. apply in_range in Hk. destruct (partners_differ k Hk) as [_ E].
        cbn. unfold action_receives. cbn. rewrite E. cbn. lia.
    Qed.

    Theorem pairwise_steps : steps pairwise r = Z.to_nat (N - 1).
    Proof.
      rewrite all_busy; [apply pairwise_depth|]. intros s Hs.
      apply in_map_iff in Hs as (k & <- & Hk). apply in_range in Hk.
      destruct (partners_differ k Hk) as [E _]. cbn. now rewrite E.
    Qed.
  End Costs.
End Pairwise.
