"""Whoever changes an index in a definition in Coq hears of it, from Python's schedules.

(From the proofs too, in most cases: but here they play no part.)
"""

from __future__ import annotations

import pytest

from coq_mutants import DEFINITIONS, mutants, unnoticed

DAILY = ("Ring",)
NO_DIFFERENCE = {
    "Doubling.doubling: (range 0 (Z.log2 size)). -> (range 0 (Z.log2_up size)).":
        "size is a power of two",
    "Halving.halving: halving_from (range 0 (Z.log2 size)) rank 0 size."
    " -> halving_from (range 0 (Z.log2_up size)) rank 0 size.": "size is a power of two",
    "Halving.halving_from: if rank <? other -> if rank <=? other": "they always differ",
    "Folding.survivors: filter (fun r => (2 * extra <=? r) || negb (r mod 2 =? 0)) (range 0 size)."
    " -> filter (fun r => (2 * extra <=? r) || negb (r mod 2 =? 0)) (range 1 size).":
        "it is asked where ranks fold, and then rank 0 sits out",
    "Folding.fold_in: if power_below size <? size then -> if power_below size <=? size then":
        "where they are equal, folded does not ask it",
    "Folding.folded: let extra := size - power_below size in"
    " -> let extra := size + power_below size in":
        "where nobody folds, what is done for those who fold is nothing",
    "Folding.folded: if extra =? 0 then core rank size -> if extra <? 0 then core rank size":
        "likewise",
    "Places.member: Definition member (group : list Z) (place : Z) : Z :="
    " nth (Z.to_nat place) group 0. -> Definition member (group : list Z) (place : Z) : Z :="
    " nth (Z.to_nat place) group 1.": "the place exists",
    "Chunking.cut: Definition cut (cuts : list Z) (i : Z) : Z :="
    " nth (Z.to_nat i) cuts (last cuts 0). -> Definition cut (cuts : list Z) (i : Z) : Z :="
    " nth (Z.to_nat i) cuts (last cuts 1).": "there are cuts",
    "Pieces.unit: Definition unit (nodes : list (list Z)) : Z :="
    " fold_right Z.lcm 1 (map size_of nodes). -> Definition unit (nodes : list (list Z)) : Z :="
    " fold_right Z.lcm 2 (map size_of nodes).": "any common multiple will do",
    "Pieces.place_of: match index_of q (cuts nodes) with Some place => place | None => 0 end."
    " -> match index_of q (cuts nodes) with Some place => place | None => 1 end.":
        "it is a cut",
    "Pieces.shares: map (fun j => place_of nodes (j * (unit nodes / ranks_)) * chunks)"
    " (range 0 (ranks_ + 1)). -> map (fun j => place_of nodes (j * (unit nodes / ranks_)) *"
    " chunks) (range 0 (ranks_ + 2)).": "nobody asks for a share more",
    "Rails.largest: Definition largest (nodes : list (list Z)) : Z :="
    " fold_right Z.max 0 (map size_of nodes). -> Definition largest (nodes : list (list Z)) : Z :="
    " fold_right Z.max 1 (map size_of nodes).": "no node is empty",
    "Rails.rail: on_chunks (range (piece * chunks) ((piece + 1) * chunks + 1))"
    " -> on_chunks (range (piece * chunks) ((piece + 2) * chunks + 1))":
        "nobody asks for cuts beyond",
    "Rails.rail: on_chunks (range (piece * chunks) ((piece + 1) * chunks + 1))"
    " -> on_chunks (range (piece * chunks) ((piece + 1) * chunks + 2))":
        "nobody asks for cuts beyond",
}  # fmt: skip


WITHOUT_AN_INDEX = {"Groups"}
"""Whose definitions only say which function is asked."""


def test_all_other_files_have_an_index_to_change():
    assert {each for each in DEFINITIONS if not list(mutants(each))} == WITHOUT_AN_INDEX


@pytest.mark.usefixtures("checked")
@pytest.mark.parametrize(
    "file",
    [
        pytest.param(each, marks=() if each in DAILY else pytest.mark.long)
        for each in DEFINITIONS
        if each not in WITHOUT_AN_INDEX
    ],
)
def test_every_changed_index_is_noticed(file: str):
    found = list(mutants(file))
    assert found
    missed = {str(each) for each in unnoticed(found)}
    assert missed == NO_DIFFERENCE.keys() & set(map(str, found))
