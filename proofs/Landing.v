(** One message, one chunk: what becomes of it when the message lands.

        Reduce [4; 5] 0 meets values [a; b]:    chunk 4 takes a, chunk 5 takes b, others nothing

    [landed] is that, for any chunks at the sender's end; [arrive_landed]: a round lands its
    messages so. *)
From Coq Require Import ZArith List.
From Refcoll Require Import Lists Schedule.
Import ListNotations.
Open Scope Z_scope.

Section Landing.
  Context {A : Type} (before : Z -> Z -> bool) (op : A -> A -> A).

  (** What receive [a], on rank [r], makes of chunk [c], when the message holds [values]. *)
  Definition landed (a : action) (r : Z) (values : list A) (c : Z) (own : A) : A :=
    fold_left (fun v each => if fst each =? c then receive before op a r (snd each) v else v)
              (combine (chunks a) values) own.

  Lemma landed_elsewhere a r values c own : ~ In c (chunks a) -> landed a r values c own = own.
  Proof.
    intros H. apply fold_left_id. intros [i x] v Hi. cbn.
    destruct (Z.eqb_spec i c) as [->|]; [|reflexivity].
    now apply in_combine_l in Hi.
  Qed.

  Lemma combine_map_right {X Y Z} (f : Y -> Z) (l : list X) (l' : list Y) :
    combine l (map f l') = map (fun p => (fst p, f (snd p))) (combine l l').
  Proof. revert l'. induction l as [|x l IH]; intros [|y l']; cbn; now rewrite ?IH. Qed.

  (** Only the values that go into chunk [c] matter to it. *)
  Lemma landed_same a r (f g : Z -> A) theirs c own :
    (forall j, In (c, j) (combine (chunks a) theirs) -> f j = g j) ->
    landed a r (map f theirs) c own = landed a r (map g theirs) c own.
  Proof.
    intros H. unfold landed. rewrite !combine_map_right, !fold_left_map.
    apply fold_left_ext. intros [i j] v Hi. cbn [fst snd].
    destruct (Z.eqb_spec i c) as [->|]; [|reflexivity]. now rewrite H.
  Qed.

  Lemma arrive_landed st r memory a theirs c :
    arrive before op st r memory (a, theirs) c =
    landed a r (map (st (peer a)) theirs) c (memory c).
  Proof.
    unfold arrive, landed. rewrite combine_map_right, fold_left_map. revert memory.
    induction (combine (chunks a) theirs) as [|[i j] l IH]; intros memory; [reflexivity|].
    cbn [fold_left fst snd]. rewrite IH. unfold write.
    rewrite Z.eqb_sym. destruct (Z.eqb_spec i c) as [->|]; reflexivity.
  Qed.
End Landing.
