"""From wrong values to what went wrong: hypotheses, and whoever they are asked of.

diagnosis.py      asks them in order         evidence.py       of what they are asked
leftovers.py      memory                     movements.py      where values come from
forms.py          bytes, signs, parts        meanings.py       what merging did
losses.py         digits that are lost       rounding.py       too little precision
offsets.py        a little too much          contributors.py   who is missing, who is twice
passing.py        what inputs have become    specials.py       zeros, NaN, infinities
views.py          strides and addresses      places.py         which elements, which chunk
retyped.py        one dtype for another      strides.py        blocks at other places
halves.py         one part of complex ones   absent.py         who comes and goes
"""
