(** What the ring costs, for chunks of any lengths: S elements in N chunks.

                           rank r sends           rank r receives        steps
        reduce-scatter     S - |c_r|              S - |c_(r-1)|          N-1
        all-gather         S - |c_(r+1)|          S - |c_r|              N-1
        all-reduce         2S - |c_r| - |c_(r+1)| 2S - |c_(r-1)| - |c_r| 2(N-1)

    Every rank sends each chunk once in either half, but for one: its own finished one in the
    reduce-scatter, the one that its neighbour finished in the all-gather.  All ranks together
    move 2(N-1) S ([ring_all_reduce_total]), whatever the lengths; where all chunks are
    equally long each rank sends 2(N-1)/N S ([ring_all_reduce_sent_equal]). *)
From Coq Require Import ZArith List Bool Permutation Lia.
From Refcoll Require Import Lists Modulo Schedule Columns Combinators Traffic Ring.
Import ListNotations.
Open Scope Z_scope.

Section RingTraffic.
  Variables (len : Z -> Z) (N : Z).
  Hypothesis HN : 0 < N.
  Local Notation S := (total len N).

  (** N-1 neighbouring chunks, downwards from b: all but the next. *)
  Lemma all_but b : -N <= b < 2 * N ->
    zsum (map (fun t => len ((b - t) mod N)) (range 0 (N - 1))) = S - len ((b + 1) mod N).
  Proof.
    intros Hb.
    assert (P : zsum (map (fun t => len ((b - t) mod N)) (range 0 (N - 1 + 1))) = S).
    { replace (N - 1 + 1) with N by lia.
      apply (zsum_permuted N (fun t => (b - t) mod N)); intros; modlia. }
    rewrite range_last, map_app, zsum_app in P by lia. cbn [map] in P. rewrite zsum_one in P.
    replace ((b - (N - 1)) mod N) with ((b + 1) mod N) in P by modlia. lia.
  Qed.

  (** A loop of steps, each with one message to the right and one from the left. *)
  Section Pass.
    Variables (r a b : Z) (s : Z -> step) (sends receives : Z -> Z).
    Hypothesis Hr : 0 <= r < N.
    Hypothesis Hab : b - a <= N - 1.
    Hypothesis one_each : forall t, exists receive,
      s t = [Send [sends t] ((r + 1) mod N); receive] /\ is_send receive = false /\
      chunks receive = [receives t] /\ peer receive = (r - 1) mod N.

    Lemma neighbours_differ t : In t (range a b) ->
      others r ((r + 1) mod N) = true /\ others r ((r - 1) mod N) = true.
    Proof.
      intros Ht. apply in_range in Ht. unfold others.
      split; apply negb_true_iff, Z.eqb_neq; modlia.
    Qed.

    Lemma pass_sent : sent_where len (others r) (map s (range a b)) =
      zsum (map (fun t => len (sends t)) (range a b)).
    Proof.
      unfold sent_where. rewrite map_map. apply zsum_ext. intros t Ht.
      destruct (one_each t) as (m & -> & Sm & Cm & Pm), (neighbours_differ t Ht) as [Ro Lo].
      unfold step_sends. cbn [map]. rewrite !zsum_cons. unfold action_sends.
      cbn [is_send peer chunks]. rewrite Sm, Ro. cbn. lia.
    Qed.

    Lemma pass_received : received_where len (others r) (map s (range a b)) =
      zsum (map (fun t => len (receives t)) (range a b)).
    Proof.
      unfold received_where. rewrite map_map. apply zsum_ext. intros t Ht.
      destruct (one_each t) as (m & -> & Sm & Cm & Pm), (neighbours_differ t Ht) as [Ro Lo].
      unfold step_receives. cbn [map]. rewrite !zsum_cons. unfold action_receives.
      cbn [is_send peer chunks]. rewrite Sm, Cm, Pm, Lo. cbn. lia.
    Qed.

    Lemma pass_busy each : In each (map s (range a b)) -> busy r each = true.
    Proof.
      intros H. apply in_map_iff in H as (t & <- & Ht).
      destruct (one_each t) as (m & -> & _), (neighbours_differ t Ht) as [Ro _].
      cbn. now rewrite Ro.
    Qed.
  End Pass.

  Variable r : Z.
  Hypothesis Hr : 0 <= r < N.

  (** A loop that starts at 1 visits what one that starts at 0 does, one further. *)
  Lemma from_one (f : Z -> Z) : zsum (map f (range 1 N)) =
    zsum (map (fun t => f (t + 1)) (range 0 (N - 1))).
  Proof.
    replace (range 1 N) with (map (fun t => t + 1) (range 0 (N - 1)))
      by (rewrite range_shift; f_equal; lia). now rewrite map_map.
  Qed.

  Ltac pass := unfold sent, received, scatter, gather, ring_reduce_scatter, ring_all_gather;
    (rewrite pass_sent with (sends := fun t => (r - t) mod N)
       (receives := fun t => (r - t - 1) mod N) ||
     rewrite pass_received with (sends := fun t => (r - t) mod N)
       (receives := fun t => (r - t - 1) mod N));
    [|assumption|lia|intros t; eexists; now repeat split].

  (** ** Elements that each rank sends and receives *)

  Theorem ring_reduce_scatter_sent : sent len (scatter N) r = S - len r.
  Proof.
    pass. rewrite from_one, (zsum_ext _ (fun t => len ((r - 1 - t) mod N)))
      by (intros; do 2 f_equal; lia).
    rewrite all_but by lia. do 2 f_equal. modlia.
  Qed.

  Theorem ring_reduce_scatter_received : received len (scatter N) r = S - len ((r - 1) mod N).
  Proof.
    pass. rewrite from_one, (zsum_ext _ (fun t => len ((r - 2 - t) mod N)))
      by (intros; do 2 f_equal; lia).
    destruct (Z.eq_dec N 1) as [E|E].
    2: { rewrite all_but by lia. do 2 f_equal. modlia. }
    subst N.
    unfold total, volume. change (ranks 1) with [0]. rewrite Z.mod_1_r, range_empty by lia.
    cbn. lia.
  Qed.

  Theorem ring_all_gather_sent : sent len (gather N) r = S - len ((r + 1) mod N).
  Proof. pass. now rewrite all_but by lia. Qed.

  Theorem ring_all_gather_received : received len (gather N) r = S - len r.
  Proof.
    pass. rewrite (zsum_ext _ (fun t => len ((r - 1 - t) mod N)))
      by (intros; do 2 f_equal; lia).
    rewrite all_but by lia. do 2 f_equal. modlia.
  Qed.

  Theorem ring_all_reduce_sent : sent len (ring N) r = 2 * S - len r - len ((r + 1) mod N).
  Proof.
    unfold sent, ring, ring_all_reduce. rewrite sent_where_app.
    fold (scatter N r) (gather N r) (sent len (scatter N) r) (sent len (gather N) r).
    rewrite ring_reduce_scatter_sent, ring_all_gather_sent. lia.
  Qed.

  Theorem ring_all_reduce_received :
    received len (ring N) r = 2 * S - len ((r - 1) mod N) - len r.
  Proof.
    unfold received, ring, ring_all_reduce. rewrite received_where_app.
    fold (scatter N r) (gather N r) (received len (scatter N) r) (received len (gather N) r).
    rewrite ring_reduce_scatter_received, ring_all_gather_received. lia.
  Qed.

  (** ** Steps: no rank is ever idle *)

  Lemma scatter_busy s : In s (scatter N r) -> busy r s = true.
  Proof.
    apply pass_busy with (sends := fun t => (r - t) mod N) (receives := fun t => (r - t - 1) mod N);
      [assumption|lia|intros t; eexists; now repeat split].
  Qed.

  Lemma gather_busy s : In s (gather N r) -> busy r s = true.
  Proof.
    apply pass_busy with (sends := fun t => (r - t) mod N) (receives := fun t => (r - t - 1) mod N);
      [assumption|lia|intros t; eexists; now repeat split].
  Qed.

  Theorem ring_reduce_scatter_steps : steps (scatter N) r = Z.to_nat (N - 1).
  Proof. rewrite (all_busy _ _ scatter_busy). apply ring_reduce_scatter_depth. Qed.

  Theorem ring_all_gather_steps : steps (gather N) r = Z.to_nat (N - 1).
  Proof. rewrite (all_busy _ _ gather_busy). now apply ring_all_gather_depth. Qed.

  Theorem ring_all_reduce_steps : steps (ring N) r = Z.to_nat (2 * (N - 1)).
  Proof.
    rewrite all_busy; [now apply ring_all_reduce_depth|]. intros s Hs.
    apply in_app_or in Hs as [Hs|Hs]; [now apply scatter_busy|now apply gather_busy].
  Qed.
End RingTraffic.

(** ** Totals *)

Section RingTotals.
  Variables (len : Z -> Z) (N : Z).
  Hypothesis HN : 0 < N.

  Lemma total_turned k : 0 <= k <= N ->
    zsum (map (fun r => len ((r + k) mod N)) (ranks N)) = total len N.
  Proof. intros Hk. apply (zsum_permuted N (fun r => (r + k) mod N)); intros; modlia. Qed.

  Lemma total_minus (f g : Z -> Z) k : (forall r, 0 <= r < N -> f r = k - g r) ->
    zsum (map f (ranks N)) = N * k - zsum (map g (ranks N)).
  Proof.
    intros H. rewrite (zsum_ext f (fun r => k + (-1) * g r)).
    - rewrite zsum_plus, zsum_const, zsum_scale. unfold ranks. rewrite range_length. lia.
    - intros r Hr. apply in_ranks in Hr. rewrite H by assumption. lia.
  Qed.

  (** All ranks together, chunks of any lengths. *)
  Theorem ring_all_reduce_total :
    zsum (map (sent len (ring N)) (ranks N)) = 2 * (N - 1) * total len N.
  Proof.
    rewrite (total_minus _ (fun r => len r + len ((r + 1) mod N)) (2 * total len N))
      by (intros; rewrite ring_all_reduce_sent by assumption; lia).
    rewrite zsum_plus, total_turned by lia. fold (total len N). unfold total, volume. lia.
  Qed.

  Theorem ring_reduce_scatter_total :
    zsum (map (sent len (scatter N)) (ranks N)) = (N - 1) * total len N.
  Proof.
    rewrite (total_minus _ len (total len N)) by (intros; now apply ring_reduce_scatter_sent).
    unfold total, volume. lia.
  Qed.

  (** N sent = 2(N-1) S, that is, sent = 2(N-1)/N S, where chunks are equally long. *)
  Theorem ring_all_reduce_sent_equal r : 0 <= r < N -> (forall c d, len c = len d) ->
    N * sent len (ring N) r = 2 * (N - 1) * total len N.
  Proof.
    intros Hr E. rewrite ring_all_reduce_sent by assumption.
    assert (T : total len N = N * len r).
    { unfold total, volume. rewrite (zsum_ext _ (fun _ => len r)) by (intros; apply E).
      rewrite zsum_const. unfold ranks. rewrite range_length. lia. }
    rewrite (E ((r + 1) mod N) r), T. lia.
  Qed.
End RingTotals.
