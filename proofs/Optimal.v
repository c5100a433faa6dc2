(** The ring, and halving and doubling, move as little as can be moved.

        N ranks, S elements, equal chunks      every rank sends, receives
        ring all-reduce, any N                 2(N-1)/N S        and LowerBoundPrograms.v:
        Rabenseifner's all-reduce, N = 2^K     2(N-1)/N S        in any program some rank
        ring reduce-scatter, all-gather         (N-1)/N S        does as much

    [busiest_least]: the program is of the kind in question (an all-reduce of S elements, say),
    so that there are such programs; and in every program of that kind some rank sends, and some
    rank receives, no less than any rank of this one.
    Where chunks are of unequal lengths, the ring and its halves are best in what all ranks send
    together: [ring_all_reduce_least_total], and the like. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Collectives Traffic Blocks.
From Refcoll Require Import Ring RingOnce RingTraffic Halving Rabenseifner Folding AnySize.
From Refcoll Require Import LowerBoundSchedules LowerBoundPrograms.
Import ListNotations.
Open Scope Z_scope.

(** ** Kinds of programs *)

(** [len] cuts S elements into C chunks, all areas alike. *)
Definition cuts (len : Z -> Z) (S C : Z) : Prop :=
  0 < C /\ (forall i, len (unit_of C i) = len i) /\ (forall i, 0 <= len i) /\ total len C = S.

Definition all_reduce (N S : Z) (P : program) (len : Z -> Z) : Prop :=
  exists C n, cuts len S C /\ fits N C P n /\ all_reduces N C P n.
Definition reduce_scatter (N S : Z) (P : program) (len : Z -> Z) : Prop :=
  exists n, cuts len S N /\ fits N N P n /\ reduce_scatters N P n.
Definition all_gather (N S : Z) (P : program) (len : Z -> Z) : Prop :=
  exists n, cuts len S N /\ fits N N P n /\ all_gathers N P n.

Definition least_at_busiest (N : Z) (kind : program -> (Z -> Z) -> Prop)
  (cost : (Z -> Z) -> program -> Z -> Z) (P : program) (len : Z -> Z) : Prop :=
  forall P' len', kind P' len' -> exists busy, 0 <= busy < N /\
    forall r, 0 <= r < N -> cost len P r <= cost len' P' busy.

Definition busiest_least N kind P len : Prop := kind P len /\
  least_at_busiest N kind sent P len /\ least_at_busiest N kind received P len.

(** Total over all ranks. *)
Definition least_total (N : Z) (kind : program -> (Z -> Z) -> Prop) P len : Prop := kind P len /\
  forall P' len', kind P' len' ->
    zsum (map (sent len P) (ranks N)) <= zsum (map (sent len' P') (ranks N)).

(** ** Meeting a bound *)

Lemma meets_bound N (kind : program -> (Z -> Z) -> Prop) cost P len least :
  (forall P' len', kind P' len' -> exists r, 0 <= r < N /\ least <= N * cost len' P' r) ->
  (forall r, 0 <= r < N -> N * cost len P r = least) -> least_at_busiest N kind cost P len.
Proof.
  intros Bound Meets P' len' H. destruct (Bound P' len' H) as (busy & Hb & L).
  exists busy. split; [assumption|]. intros r Hr. specialize (Meets r Hr). nia.
Qed.

Section Kinds.
  Variables (N S : Z) (P : program) (len : Z -> Z).
  Hypothesis HN : 0 < N.

  Lemma all_reduce_busiest : all_reduce N S P len ->
    (forall r, 0 <= r < N -> N * sent len P r = 2 * (N - 1) * S) ->
    (forall r, 0 <= r < N -> N * received len P r = 2 * (N - 1) * S) ->
    busiest_least N (all_reduce N S) P len.
  Proof.
    intros H Hs Hr. repeat split; [assumption|..]; (eapply meets_bound; [|eassumption]);
      intros P' len' (C & n & (HC & Ha & Hp & <-) & F & A).
    - now apply (all_reduce_sends N C P' n).
    - now apply (all_reduce_receives N C P' n).
  Qed.

  Lemma reduce_scatter_busiest : reduce_scatter N S P len ->
    (forall r, 0 <= r < N -> N * sent len P r = (N - 1) * S) ->
    (forall r, 0 <= r < N -> N * received len P r = (N - 1) * S) ->
    busiest_least N (reduce_scatter N S) P len.
  Proof.
    intros H Hs Hr. repeat split; [assumption|..]; (eapply meets_bound; [|eassumption]);
      intros P' len' (n & (HC & Ha & Hp & <-) & F & A).
    - now apply (reduce_scatter_sends N N P' n).
    - now apply (reduce_scatter_receives N N P' n).
  Qed.

  Lemma all_gather_busiest : all_gather N S P len ->
    (forall r, 0 <= r < N -> N * sent len P r = (N - 1) * S) ->
    (forall r, 0 <= r < N -> N * received len P r = (N - 1) * S) ->
    busiest_least N (all_gather N S) P len.
  Proof.
    intros H Hs Hr. repeat split; [assumption|..]; (eapply meets_bound; [|eassumption]);
      intros P' len' (n & (HC & Ha & Hp & <-) & F & A).
    - now apply (all_gather_sends N N P' n).
    - now apply (all_gather_receives N N P' n).
  Qed.
End Kinds.

(** ** The ring *)

Section Ring.
  Variable N : Z.
  Hypothesis HN : 0 < N.

  Lemma ring_is_all_reduce S len : cuts len S N -> all_reduce N S (ring N) len.
  Proof.
    intros H. exists N, (Z.to_nat (2 * (N - 1))). split; [assumption|]. split.
    - now apply matches_fits, ring_all_reduce_matches.
    - now apply ring_all_reduces.
  Qed.

  Lemma scatter_is_reduce_scatter S len : cuts len S N -> reduce_scatter N S (scatter N) len.
  Proof.
    intros H. exists (Z.to_nat (N - 1)). split; [assumption|]. split.
    - now apply matches_fits, ring_reduce_scatter_matches.
    - now apply ring_reduce_scatters.
  Qed.

  Lemma gather_is_all_gather S len : cuts len S N -> all_gather N S (gather N) len.
  Proof.
    intros H. exists (Z.to_nat (N - 1)). split; [assumption|]. split.
    - now apply matches_fits, ring_all_gather_matches.
    - now apply ring_all_gathers.
  Qed.

  (** Chunks of q elements each. *)
  Lemma equal_cuts q : 0 <= q -> cuts (fun _ => q) (N * q) N.
  Proof.
    intros Hq. repeat split; trivial. unfold total, volume, ranks.
    rewrite zsum_const, range_length. lia.
  Qed.

  Theorem ring_all_reduce_optimal q : 0 <= q ->
    busiest_least N (all_reduce N (N * q)) (ring N) (fun _ => q).
  Proof.
    intros Hq. destruct (equal_cuts q Hq) as (_ & _ & _ & T).
    apply all_reduce_busiest; [assumption|now apply ring_is_all_reduce, equal_cuts|..]; intros r Hr.
    - rewrite ring_all_reduce_sent, T by assumption. lia.
    - rewrite ring_all_reduce_received, T by assumption. lia.
  Qed.

  Theorem ring_reduce_scatter_optimal q : 0 <= q ->
    busiest_least N (reduce_scatter N (N * q)) (scatter N) (fun _ => q).
  Proof.
    intros Hq. destruct (equal_cuts q Hq) as (_ & _ & _ & T).
    apply reduce_scatter_busiest; [now apply scatter_is_reduce_scatter, equal_cuts|..];
      intros r Hr.
    - rewrite ring_reduce_scatter_sent, T by assumption. lia.
    - rewrite ring_reduce_scatter_received, T by assumption. lia.
  Qed.

  Theorem ring_all_gather_optimal q : 0 <= q ->
    busiest_least N (all_gather N (N * q)) (gather N) (fun _ => q).
  Proof.
    intros Hq. destruct (equal_cuts q Hq) as (_ & _ & _ & T).
    apply all_gather_busiest; [now apply gather_is_all_gather, equal_cuts|..]; intros r Hr.
    - rewrite ring_all_gather_sent, T by assumption. lia.
    - rewrite ring_all_gather_received, T by assumption. lia.
  Qed.

  (** Chunks of any lengths. *)
  Theorem ring_all_reduce_least_total S len : cuts len S N ->
    least_total N (all_reduce N S) (ring N) len.
  Proof.
    intros H. split; [now apply ring_is_all_reduce|].
    intros P' len' (C & n & (HC & Ha & Hp & E) & F & A).
    rewrite ring_all_reduce_total by assumption. destruct H as (_ & _ & _ & ->). rewrite <- E.
    now apply (all_reduce_total_sent N C P' n).
  Qed.

  Theorem ring_reduce_scatter_least_total S len : cuts len S N ->
    least_total N (reduce_scatter N S) (scatter N) len.
  Proof.
    intros H. split; [now apply scatter_is_reduce_scatter|].
    intros P' len' (n & (HC & Ha & Hp & E) & F & A).
    rewrite ring_reduce_scatter_total by assumption. destruct H as (_ & _ & _ & ->). rewrite <- E.
    now apply (reduce_scatter_total_sent N N P' n).
  Qed.

  Theorem ring_all_gather_least_total S len : cuts len S N ->
    least_total N (all_gather N S) (gather N) len.
  Proof.
    intros H. split; [now apply gather_is_all_gather|].
    intros P' len' (n & (HC & Ha & Hp & E) & F & A). destruct H as (_ & _ & _ & E').
    rewrite (total_minus _ HN _ (fun r => len ((r + 1) mod N)) (total len N))
      by (intros; now apply ring_all_gather_sent).
    rewrite total_turned by lia.
    etransitivity; [|now apply (all_gather_total_sent N N P' n)]. rewrite E, E'. lia.
  Qed.
End Ring.

(** ** Rabenseifner's all-reduce among 2^K ranks *)

Section Halving.
  Variable K : nat.
  Let N := 2 ^ Z.of_nat K.

  Lemma power_below_two : power_below N = N.
  Proof. unfold power_below, N. rewrite Z.log2_pow2, shift_one by lia. reflexivity. Qed.

  (** Nothing to fold. *)
  Lemma not_folded core whole rounds r : folded core whole rounds r N = core r N.
  Proof. unfold folded. now rewrite power_below_two, Z.sub_diag. Qed.

  Lemma rabenseifner_is_all_reduce S len : cuts len S N -> all_reduce N S (rabenseifner N) len.
  Proof.
    intros H. assert (HN : 0 < N) by (apply two_pow_pos; lia).
    exists N, (rabenseifner_rounds N). split; [assumption|]. split.
    - now apply matches_fits, rabenseifner_matches.
    - apply in_rank_order_all_reduces. rewrite <- power_below_two at 2.
      now apply rabenseifner_in_rank_order.
  Qed.

  Theorem rabenseifner_optimal q : 0 <= q ->
    busiest_least N (all_reduce N (N * q)) (rabenseifner N) (fun _ => q).
  Proof.
    intros Hq. assert (HN : 0 < N) by (apply two_pow_pos; lia).
    assert (E := equal_cuts N HN q Hq). assert (T := proj2 (proj2 (proj2 E))).
    apply all_reduce_busiest; [assumption|now apply rabenseifner_is_all_reduce|intros r Hr..];
      unfold sent, received, rabenseifner, rabenseifner_all_reduce; rewrite not_folded;
      assert (G := halving_doubling_sent_equal K (fun _ => q) r Hr (fun _ _ => eq_refl)).
    - now rewrite <- T.
    - rewrite halving_doubling_sent in G by assumption.
      change (N * received (fun _ => q) (halving_doubling_program K) r = 2 * (N - 1) * (N * q)).
      now rewrite halving_doubling_received, <- T by assumption.
  Qed.
End Halving.
