(** What any collective algorithm is, for the lower bounds, and what a rank can know in it.

    THE MODEL.  Data come in units, the smallest pieces that travel alone: elements, or the
    chunks of a given cut.  For each unit every rank has an input, and a state of any kind,
    which in the beginning depends on the rank's own input to that unit alone.  An algorithm
    is a fixed list of phases.  In a phase every rank first computes, unit by unit, anything
    from its own state; then transfers are delivered.  A transfer goes from a giver to a taker
    and carries some units: into the taker's state of each of these is merged, by any
    function, the giver's state of it.  A transfer costs what its units weigh; one to oneself
    costs nothing.

        phase 1      0 --u,v--> 1    2 --v--> 3           knows u after phase 2:
        phase 2      1 --u--> 3      3 --u,v--> 0           1: {0,1}    3: {0,1,3}   0: {0,3}

    NOT IN THE MODEL, so that the bounds do not speak of it: states that mix units, that is,
    coding across units and compression (one message that serves several units at the price of
    one); machinery between the ranks that merges or copies, as switches with arithmetic or
    multicast do, and helpers, which are ranks without input; and patterns of messages that
    depend on the data.

    [noninterference]: what a rank holds of a unit depends on the inputs that it [knows], and
    on nothing else.  [knows_hears]: it knows only what can have reached it, hop by hop. *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists.
Import ListNotations.
Open Scope Z_scope.

Record transfer (St : Type) := Transfer {
  giver : Z;
  taker : Z;
  units : list Z;
  merge : Z -> St -> St -> St      (* unit, what the giver holds, what the taker holds *)
}.
Record phase (St : Type) := Phase {
  compute : Z -> Z -> St -> St;    (* rank, unit *)
  transfers : list (transfer St)
}.
Arguments Transfer {St}. Arguments giver {St}. Arguments taker {St}. Arguments units {St}.
Arguments merge {St}. Arguments Phase {St}. Arguments compute {St}. Arguments transfers {St}.

Section Model.
  Context {Input St : Type}.
  Definition algorithm := list (phase St).

  (** ** What it does *)

  Definition take (held : Z -> Z -> St) (r u : Z) (own : St) (t : transfer St) : St :=
    if (taker t =? r) && mem u (units t) then merge t u (held (giver t) u) own else own.

  Definition play (st : Z -> Z -> St) (p : phase St) : Z -> Z -> St :=
    let held := fun r u => compute p r u (st r u) in
    fun r u => fold_left (take held r u) (transfers p) (held r u).

  (** What rank [r] holds of unit [u] in the end, from inputs [x rank unit]. *)
  Definition outcome (init : Z -> Z -> Input -> St) (a : algorithm) (x : Z -> Z -> Input) :=
    fold_left play a (fun r u => init r u (x r u)).

  (** ** Whose inputs it can depend on *)

  Definition learn (u : Z) (known : Z -> Z -> bool) (p : phase St) : Z -> Z -> bool := fun r i =>
    known r i ||
    existsb (fun t => (taker t =? r) && mem u (units t) && known (giver t) i) (transfers p).

  (** Rank [r]'s state of unit [u] can depend on rank [i]'s input. *)
  Definition knows (a : algorithm) (u : Z) : Z -> Z -> bool := fold_left (learn u) a Z.eqb.

  Lemma knows_more a p u : knows (a ++ [p]) u = learn u (knows a u) p.
  Proof. unfold knows. now rewrite fold_left_app. Qed.

  Theorem noninterference init a u x x' : forall r,
    (forall i, knows a u r i = true -> x i u = x' i u) ->
    outcome init a x r u = outcome init a x' r u.
  Proof.
    unfold outcome. induction a as [|p a IH] using rev_ind; intros r H.
    - cbn. rewrite (H r); [reflexivity|apply Z.eqb_refl].
    - rewrite knows_more in H. rewrite !fold_left_app. cbn [fold_left].
      set (st := fold_left play a _) in *. set (st' := fold_left play a _) in *.
      unfold play. rewrite (IH r) by (intros i Hi; apply H; unfold learn; now rewrite Hi).
      apply fold_left_ext. intros t own Ht. unfold take.
      destruct ((taker t =? r) && mem u (units t)) eqn:Hit; [|reflexivity].
      rewrite (IH (giver t)); [reflexivity|]. intros i Hi. apply H. unfold learn.
      apply orb_true_iff; right. apply existsb_exists. exists t. now rewrite Hit.
  Qed.

  (** If a rank's result is [f] of the inputs, and [f] needs that of rank [i], the rank knows it. *)
  Definition needs {Out : Type} (f : (Z -> Input) -> Out) (i : Z) : Prop :=
    exists x x', (forall j, j <> i -> x j = x' j) /\ f x <> f x'.

  Lemma result_is_known {Out} init a u r (result : St -> Out) f i :
    (forall x, result (outcome init a x r u) = f (fun q => x q u)) -> needs f i ->
    knows a u r i = true.
  Proof.
    intros Hf (x & x' & Hx & Hne). destruct (knows a u r i) eqn:E; [reflexivity|exfalso].
    apply Hne. transitivity (result (outcome init a (fun q _ => x q) r u)); [symmetry; apply Hf|].
    transitivity (result (outcome init a (fun q _ => x' q) r u)); [f_equal|apply Hf].
    apply noninterference. intros j Hj. apply Hx. intros ->. congruence.
  Qed.

  (** ** Hops: the messages that carry a unit, one after another *)

  Definition remote (t : transfer St) : bool := negb (giver t =? taker t).
  Definition all_transfers (a : algorithm) : list (transfer St) := flat_map transfers a.

  (** From whom to whom, between different ranks. *)
  Definition hops (a : algorithm) (u : Z) : list (Z * Z) :=
    map (fun t => (giver t, taker t))
        (filter (fun t => remote t && mem u (units t)) (all_transfers a)).

  Definition hear (known : Z -> Z -> bool) (hop : Z * Z) : Z -> Z -> bool :=
    fun r i => known r i || ((snd hop =? r) && known (fst hop) i).
  Definition hears (es : list (Z * Z)) : Z -> Z -> bool := fold_left hear es Z.eqb.

  Lemma hear_more es : forall known r i, known r i = true -> fold_left hear es known r i = true.
  Proof.
    induction es as [|e es IH]; intros known r i H; [exact H|].
    cbn. apply IH. unfold hear. now rewrite H.
  Qed.

  (** Delivered one after another, messages can only spread more. *)
  Lemma knows_hears a u : forall r i, knows a u r i = true -> hears (hops a u) r i = true.
  Proof.
    induction a as [|p a IH] using rev_ind; intros r i H; [exact H|].
    rewrite knows_more in H. unfold hears, hops, all_transfers in *.
    rewrite flat_map_app, filter_app, map_app, fold_left_app. cbn [flat_map]. rewrite app_nil_r.
    unfold learn in H. apply orb_true_iff in H as [H|H]; [now apply hear_more, IH|].
    apply existsb_exists in H as (t & Ht & H). apply andb_true_iff in H as [H Hk].
    apply andb_true_iff in H as [Hr Hu]. apply Z.eqb_eq in Hr as <-. apply IH in Hk.
    destruct (remote t) eqn:R.
    - apply in_split in Ht as (l & l' & ->). rewrite filter_app. cbn [filter]. rewrite R, Hu.
      rewrite map_app, fold_left_app. cbn [map andb fold_left]. apply hear_more.
      unfold hear at 1. cbn [fst snd]. rewrite Z.eqb_refl. apply orb_true_iff; right.
      now apply hear_more.
    - unfold remote in R. apply negb_false_iff, Z.eqb_eq in R. rewrite <- R. now apply hear_more.
  Qed.
End Model.
