(** A group of ranks as a list: who stands at which place.

        group = [4; 1; 6]     member group 0 = 4     index_of 6 group = Some 2
                              size_of group = 3      index_of 2 group = None *)
From Coq Require Import ZArith List Bool Lia.
From Refcoll Require Import Lists.
Import ListNotations.
Open Scope Z_scope.

(** [group.index(rank)], if it is there. *)
Fixpoint index_of (rank : Z) (group : list Z) : option Z :=
  match group with
  | [] => None
  | member :: rest =>
      if member =? rank then Some 0
      else match index_of rank rest with None => None | Some i => Some (i + 1) end
  end.

(** [group[place]]. *)
Definition member (group : list Z) (place : Z) : Z := nth (Z.to_nat place) group 0.

Definition size_of (group : list Z) : Z := Z.of_nat (length group).

Lemma index_of_none rank group : index_of rank group = None <-> ~ In rank group.
Proof.
  induction group as [|m group IH]; cbn; [tauto|].
  destruct (Z.eqb_spec m rank) as [->|]; [split; [discriminate|tauto]|].
  destruct (index_of rank group); split; intros H; try tauto; try discriminate;
    intuition discriminate.
Qed.

Lemma index_of_some rank group place : index_of rank group = Some place ->
  0 <= place < size_of group /\ member group place = rank.
Proof.
  unfold size_of, member. revert place.
  induction group as [|m group IH]; intros place; cbn [index_of]; [discriminate|].
  destruct (Z.eqb_spec m rank) as [->|].
  { intros [= <-]. cbn [length nth Z.to_nat]. split; [lia|reflexivity]. }
  destruct (index_of rank group) as [i|] eqn:E; [|discriminate]. intros [= <-].
  destruct (IH i eq_refl) as [Hi <-]. cbn [length]. split; [lia|].
  replace (Z.to_nat (i + 1)) with (S (Z.to_nat i)) by lia. reflexivity.
Qed.

Lemma all_members group : map (member group) (ranks (size_of group)) = group.
Proof.
  unfold ranks, range, member, size_of. rewrite map_map, Z.sub_0_r, Nat2Z.id.
  transitivity (map (fun k => nth k group 0) (seq 0 (length group)));
    [apply map_ext; intros k; f_equal; lia|].
  induction group as [|a l IH]; [reflexivity|]. cbn [length seq map nth].
  f_equal. rewrite <- seq_shift, map_map. exact IH.
Qed.
