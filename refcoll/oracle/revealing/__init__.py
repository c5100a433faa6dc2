"""Which order of summation, and which precision, an implementation really uses.

reveal.py       all of it                    trees.py        orders of a sum
masks.py        the order, from results      orders.py       which elements have which
precision.py    what is rounded where        arithmetic.py   and what else looks alike
prediction.py   does it predict results?     asking.py       one rank thinks, all are asked
naming.py       whose order that is          candidates.py   whose it may be
agreeing.py     in which way                 relabelling.py  with ranks renamed
wording.py      that in words                elsewhere.py    other libraries' names
report.py       in words and drawings        as_json.py      for machines
"""
