(** [on_chunks] (refcoll/schedule.py): a schedule on wider chunks.

        cuts = [0; 3; 4]      the schedule's chunk 0      1
                              our chunks           0 1 2  3

    The schedule's chunk i becomes our chunks cuts[i], ..., cuts[i+1] - 1.
    [on_chunks_result]: each of our chunks meets what the schedule's chunk would.
    [on_chunks_sent]: and costs what the schedule's would if it were as long as ours together. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists Schedule Columns Traffic.
Import ListNotations.
Open Scope Z_scope.

(** [cuts[i]]; beyond the end the last, so that there is nothing there. *)
Definition cut (cuts : list Z) (i : Z) : Z := nth (Z.to_nat i) cuts (last cuts 0).

Definition widened (cuts : list Z) (cs : list Z) : list Z :=
  flat_map (fun i => range (cut cuts i) (cut cuts (i + 1))) cs.

Definition with_chunks (f : list Z -> list Z) (a : action) : action :=
  match a with
  | Send c to => Send (f c) to
  | Copy c source => Copy (f c) source
  | Reduce c source side => Reduce (f c) source side
  end.

Definition on_chunks (cuts : list Z) (s : schedule) : schedule :=
  map (map (with_chunks (widened cuts))) s.

Section Chunking.
  Variables (N : Z) (cuts : list Z) (inner : program) (n : nat).
  Let outer : program := fun r => on_chunks cuts (inner r).

  Lemma on_chunks_round t r : round outer t r = map (with_chunks (widened cuts)) (round inner t r).
  Proof. apply (map_nth (map (with_chunks (widened cuts))) (inner r) IDLE). Qed.

  Lemma on_chunks_length r : length (outer r) = length (inner r).
  Proof. apply map_length. Qed.

  Lemma peer_with_chunks f a : peer (with_chunks f a) = peer a.
  Proof. now destruct a. Qed.

  Lemma sends_to_with_chunks f r s : sends_to r (map (with_chunks f) s) = map f (sends_to r s).
  Proof.
    induction s as [|[c p|c p|c p e] s IH]; cbn; try destruct (p =? r); cbn; now rewrite ?IH.
  Qed.

  Lemma receives_from_with_chunks f q s :
    receives_from q (map (with_chunks f) s) = map f (receives_from q s).
  Proof.
    induction s as [|[c p|c p|c p e] s IH]; cbn; try destruct (p =? q); cbn; now rewrite ?IH.
  Qed.

  Theorem on_chunks_matches : matches N inner n -> matches N outer n.
  Proof.
    intros M t Ht. destruct (M t Ht) as [Hp Hs]. split.
    - intros r a Hr Ha. rewrite on_chunks_round in Ha. apply in_map_iff in Ha as (b & <- & Hb).
      rewrite peer_with_chunks. now apply (Hp r).
    - intros q r Hq Hr. rewrite !on_chunks_round, sends_to_with_chunks, receives_from_with_chunks.
      now rewrite Hs.
  Qed.

  (** ** Results *)

  Hypothesis increasing : forall i, cut cuts i <= cut cuts (i + 1).

  Lemma cut_monotone i j : i <= j -> cut cuts i <= cut cuts j.
  Proof.
    intros H. replace j with (i + Z.of_nat (Z.to_nat (j - i))) by lia.
    induction (Z.to_nat (j - i)) as [|d IH]; [rewrite Z.add_0_r; lia|].
    assert (E := increasing (i + Z.of_nat d)).
    replace (i + Z.of_nat (S d)) with (i + Z.of_nat d + 1) by lia. lia.
  Qed.

  Lemma block_unique c i j : cut cuts i <= c < cut cuts (i + 1) ->
    cut cuts j <= c < cut cuts (j + 1) -> i = j.
  Proof.
    intros Hi Hj. destruct (Z.lt_trichotomy i j) as [H|[H|H]]; [|assumption|].
    - assert (M := cut_monotone (i + 1) j). lia.
    - assert (M := cut_monotone (j + 1) i). lia.
  Qed.

  Section Results.
    Context {A : Type} (before : Z -> Z -> bool) (op : A -> A -> A).

    Lemma take_widened a r c i incoming own : cut cuts i <= c < cut cuts (i + 1) ->
      take before op (with_chunks (widened cuts) a) r c incoming own =
      take before op a r i incoming own.
    Proof.
      intros Hc. unfold take.
      assert (E : chunks (with_chunks (widened cuts) a) = widened cuts (chunks a))
        by now destruct a.
      assert (E' : forall v w, receive before op (with_chunks (widened cuts) a) r v w =
                               receive before op a r v w) by now destruct a.
      rewrite E. clear E. revert own. induction (chunks a) as [|j l IH]; intros own; [reflexivity|].
      cbn [widened flat_map fold_left]. fold (widened cuts l). rewrite fold_left_app, IH. f_equal.
      destruct (Z.eqb_spec j i) as [->|Hne].
      - rewrite <- E'. apply pick_present; [apply range_NoDup|now apply in_range].
      - apply pick_absent. rewrite in_range. intros Hj. now apply Hne, (block_unique c).
    Qed.

    (** Our chunk c of block i meets what chunk i would. *)
    Theorem on_chunks_result st r c i : matches N inner n -> 0 <= r < N ->
      cut cuts i <= c < cut cuts (i + 1) ->
      run_by before op outer n st r c = run_by before op inner n (fun q _ => st q c) r i.
    Proof.
      intros M Hr Hc. assert (M' := on_chunks_matches M). revert r Hr.
      enough (G : forall t, (t <= n)%nat -> forall r, 0 <= r < N ->
        run_by before op outer t st r c = run_by before op inner t (fun q _ => st q c) r i)
        by now apply G.
      induction t as [|t IH]; intros Ht r Hr; [reflexivity|]. cbn [run_by].
      rewrite (round_column before op N) by (try apply M'; lia).
      rewrite (round_column before op N) by (try apply M; lia).
      rewrite on_chunks_round, fold_left_map, IH by lia. apply fold_left_ext.
      intros a v Ha. rewrite (take_widened a r c i) by assumption. rewrite peer_with_chunks.
      rewrite IH; [reflexivity|lia|]. now apply (proj1 (M t ltac:(lia)) r).
    Qed.
  End Results.
End Chunking.

(** ** Traffic *)

Section Costs.
  Variables (len : Z -> Z) (cuts : list Z) (far : Z -> bool).

  (** The length of the schedule's chunk i: that of ours together. *)
  Definition block_length (i : Z) : Z := volume len (range (cut cuts i) (cut cuts (i + 1))).

  Lemma widened_volume cs : volume len (widened cuts cs) = volume block_length cs.
  Proof.
    unfold widened. induction cs as [|i cs IH]; [reflexivity|]. cbn [flat_map].
    rewrite volume_app, IH. reflexivity.
  Qed.

  Theorem on_chunks_sent s : sent_where len far (on_chunks cuts s) = sent_where block_length far s.
  Proof.
    unfold sent_where, on_chunks. rewrite map_map. apply zsum_ext. intros each _.
    unfold step_sends. rewrite map_map. apply zsum_ext. intros a _.
    unfold action_sends. destruct a as [c p|c p|c p e]; cbn [with_chunks is_send peer chunks];
      now rewrite ?widened_volume.
  Qed.

  Theorem on_chunks_received s :
    received_where len far (on_chunks cuts s) = received_where block_length far s.
  Proof.
    unfold received_where, on_chunks. rewrite map_map. apply zsum_ext. intros each _.
    unfold step_receives. rewrite map_map. apply zsum_ext. intros a _.
    unfold action_receives. destruct a as [c p|c p|c p e];
      cbn [with_chunks is_send negb peer chunks]; now rewrite ?widened_volume.
  Qed.
End Costs.
