(** Ranges of integers, sums over them, and folds: what the other files stand on.

        range 2 6 = [2; 3; 4; 5]        Python's range(2, 6)
        ranks N   = [0; 1; ...; N-1]    all ranks, or all chunks
        zsum      = Python's sum

    Ranks, chunks and sizes are integers ([Z]), so that [a mod n] is Python's [a % n] and
    [a / n] its [a // n], negative numbers included. *)
From Coq Require Import ZArith List Lia Permutation.
Import ListNotations.
Open Scope Z_scope.

Definition range (a b : Z) : list Z :=
  map (fun k => a + Z.of_nat k) (seq 0 (Z.to_nat (b - a))).
Definition ranks (N : Z) : list Z := range 0 N.
Definition zsum (l : list Z) : Z := fold_right Z.add 0 l.

(** ** Ranges *)

Lemma in_range a b x : In x (range a b) <-> a <= x < b.
Proof.
  unfold range. rewrite in_map_iff. split.
  - intros (k & <- & H). apply in_seq in H. lia.
  - intros H. exists (Z.to_nat (x - a)). rewrite in_seq. lia.
Qed.

Lemma in_ranks N r : In r (ranks N) <-> 0 <= r < N.
Proof. apply in_range. Qed.

Lemma range_length a b : length (range a b) = Z.to_nat (b - a).
Proof. unfold range. now rewrite map_length, seq_length. Qed.

Lemma range_NoDup a b : NoDup (range a b).
Proof.
  apply FinFun.Injective_map_NoDup; [intros x y; lia|apply seq_NoDup].
Qed.

Lemma range_empty a b : b <= a -> range a b = [].
Proof. intros H. unfold range. now replace (Z.to_nat (b - a)) with O by lia. Qed.

Lemma range_first a b : a < b -> range a b = a :: range (a + 1) b.
Proof.
  intros H. unfold range. replace (Z.to_nat (b - a)) with (S (Z.to_nat (b - (a + 1)))) by lia.
  cbn [seq map]. f_equal; [lia|]. rewrite <- seq_shift, map_map. apply map_ext. lia.
Qed.

Lemma range_last a b : a <= b -> range a (b + 1) = range a b ++ [b].
Proof.
  intros H. unfold range. replace (Z.to_nat (b + 1 - a)) with (S (Z.to_nat (b - a))) by lia.
  rewrite seq_S, map_app. cbn [map]. do 2 f_equal. lia.
Qed.

Lemma range_one a : range a (a + 1) = [a].
Proof. rewrite range_last, range_empty by lia. reflexivity. Qed.

Lemma range_shift k a b : map (fun x => x + k) (range a b) = range (a + k) (b + k).
Proof.
  unfold range. rewrite map_map. replace (b + k - (a + k)) with (b - a) by lia.
  apply map_ext. lia.
Qed.

Lemma range_split a m b : a <= m <= b -> range a b = range a m ++ range m b.
Proof.
  intros H. replace b with (m + Z.of_nat (Z.to_nat (b - m))) by lia.
  induction (Z.to_nat (b - m)) as [|k IH].
  - now rewrite Z.add_0_r, (range_empty m m), app_nil_r by lia.
  - replace (m + Z.of_nat (S k)) with (m + Z.of_nat k + 1) by lia.
    rewrite !range_last, IH by lia. now rewrite app_assoc.
Qed.

(** A loop [for t in range(a, b)] that yields [f t]: its step number [i], counted from 0. *)
Lemma nth_loop {X} (f : Z -> X) a b i d :
  Z.of_nat i < b - a -> nth i (map f (range a b)) d = f (a + Z.of_nat i).
Proof.
  intros H. unfold range. rewrite map_map.
  rewrite nth_indep with (d' := f (a + Z.of_nat 0)) by (rewrite map_length, seq_length; lia).
  rewrite (map_nth (fun k => f (a + Z.of_nat k))), seq_nth by lia. now rewrite Nat.add_0_l.
Qed.

Lemma loop_length {X} (f : Z -> X) a b : length (map f (range a b)) = Z.to_nat (b - a).
Proof. now rewrite map_length, range_length. Qed.

(** ** Sums *)

Lemma zsum_cons a l : zsum (a :: l) = a + zsum l.
Proof. reflexivity. Qed.

Lemma zsum_one a : zsum [a] = a.
Proof. cbn. lia. Qed.

Lemma zsum_app l l' : zsum (l ++ l') = zsum l + zsum l'.
Proof. induction l as [|a l IH]; [reflexivity|]. cbn [app]. rewrite !zsum_cons. lia. Qed.

Lemma zsum_perm l l' : Permutation l l' -> zsum l = zsum l'.
Proof. induction 1; rewrite ?zsum_cons; lia. Qed.

Lemma zsum_ext {X} (f g : X -> Z) l :
  (forall x, In x l -> f x = g x) -> zsum (map f l) = zsum (map g l).
Proof. intros H. f_equal. now apply map_ext_in. Qed.

Lemma zsum_plus {X} (f g : X -> Z) l :
  zsum (map (fun a => f a + g a) l) = zsum (map f l) + zsum (map g l).
Proof. induction l as [|a l IH]; [reflexivity|]. cbn [map]. rewrite !zsum_cons. lia. Qed.

Lemma zsum_scale {X} k (f : X -> Z) l : zsum (map (fun a => k * f a) l) = k * zsum (map f l).
Proof. induction l as [|a l IH]; [cbn; lia|]. cbn [map]. rewrite !zsum_cons. lia. Qed.

Lemma zsum_const {X} k (l : list X) : zsum (map (fun _ => k) l) = Z.of_nat (length l) * k.
Proof. induction l as [|a l IH]; [reflexivity|]. cbn [map length]. rewrite zsum_cons. lia. Qed.

Lemma zsum_zero {X} (f : X -> Z) l : (forall x, In x l -> f x = 0) -> zsum (map f l) = 0.
Proof. intros H. rewrite (zsum_ext f (fun _ => 0)) by assumption. rewrite zsum_const. lia. Qed.

Lemma zsum_le {X} (f g : X -> Z) l :
  (forall x, In x l -> f x <= g x) -> zsum (map f l) <= zsum (map g l).
Proof.
  induction l as [|a l IH]; intros H; [reflexivity|]. cbn [map]. rewrite !zsum_cons.
  assert (f a <= g a) by (apply H; now left).
  assert (zsum (map f l) <= zsum (map g l)) by (apply IH; intros; apply H; now right). lia.
Qed.

Lemma zsum_swap {X Y} (f : X -> Y -> Z) l l' :
  zsum (map (fun a => zsum (map (f a) l')) l) =
    zsum (map (fun b => zsum (map (fun a => f a b) l)) l').
Proof.
  induction l as [|a l IH]; cbn [map].
  - symmetry. now apply zsum_zero.
  - rewrite zsum_cons, IH, <- zsum_plus. reflexivity.
Qed.

(** Where only one term is not zero, the sum is that term. *)
Lemma zsum_single (f : Z -> Z) l x :
  NoDup l -> In x l -> (forall y, In y l -> y <> x -> f y = 0) -> zsum (map f l) = f x.
Proof.
  induction l as [|y l IH]; intros ND Hin H; [easy|].
  inversion ND as [|? ? Hni ND']; subst. cbn [map]. rewrite zsum_cons. destruct Hin as [->|Hin].
  - rewrite zsum_zero; [lia|]. intros z Hz. apply H; [now right|]. intros ->; contradiction.
  - rewrite (H y), IH; auto with datatypes. intros ->; contradiction.
Qed.

(** ** Permutations of the ranks *)

(** An injective map of the ranks into the ranks only reorders them. *)
Lemma ranks_permuted N (f : Z -> Z) :
  (forall i, 0 <= i < N -> 0 <= f i < N) ->
  (forall i j, 0 <= i < N -> 0 <= j < N -> f i = f j -> i = j) ->
  Permutation (map f (ranks N)) (ranks N).
Proof.
  intros Hin Hinj. apply NoDup_Permutation_bis.
  - assert (G : forall l, NoDup l -> incl l (ranks N) -> NoDup (map f l)).
    { induction l as [|a l IH]; intros ND Hi; [constructor|].
      inversion ND as [|? ? Hni ND']; subst. cbn [map]. constructor.
      - intros Hx. apply in_map_iff in Hx as (b & E & Hb). apply Hni.
        apply Hinj in E; [now subst| |]; apply in_ranks, Hi; [now right|now left].
      - apply IH; [assumption|]. intros z Hz. apply Hi. now right. }
    apply G; [apply range_NoDup|apply incl_refl].
  - now rewrite map_length.
  - intros y Hy. apply in_map_iff in Hy as (i & <- & Hi). apply in_ranks, Hin, in_ranks, Hi.
Qed.

Lemma zsum_permuted N (f : Z -> Z) (g : Z -> Z) :
  (forall i, 0 <= i < N -> 0 <= f i < N) ->
  (forall i j, 0 <= i < N -> 0 <= j < N -> f i = f j -> i = j) ->
  zsum (map (fun i => g (f i)) (ranks N)) = zsum (map g (ranks N)).
Proof.
  intros Hin Hinj. rewrite <- (map_map f g).
  apply zsum_perm, Permutation_map, ranks_permuted; assumption.
Qed.

(** ** Folds *)

Lemma fold_left_ext {X B} (f g : B -> X -> B) l b :
  (forall y b, In y l -> f b y = g b y) -> fold_left f l b = fold_left g l b.
Proof.
  revert b; induction l as [|y l IH]; cbn; intros b H; [reflexivity|].
  rewrite H by auto. apply IH. auto.
Qed.

Lemma fold_left_id {X B} (f : B -> X -> B) l b :
  (forall y b, In y l -> f b y = b) -> fold_left f l b = b.
Proof.
  revert b; induction l as [|y l IH]; cbn; intros b H; [reflexivity|].
  rewrite H by auto. apply IH. auto.
Qed.

Lemma fold_left_map {X Y B} (f : B -> Y -> B) (g : X -> Y) l b :
  fold_left f (map g l) b = fold_left (fun b x => f b (g x)) l b.
Proof. revert b; induction l as [|x l IH]; cbn; auto. Qed.

(** ** Membership, as a test *)

Definition mem (i : Z) (l : list Z) : bool := existsb (Z.eqb i) l.

Lemma mem_In i l : mem i l = true <-> In i l.
Proof.
  unfold mem. rewrite existsb_exists. split.
  - intros (x & Hx & E). apply Z.eqb_eq in E. now subst.
  - intros H. exists i. now rewrite Z.eqb_refl.
Qed.
