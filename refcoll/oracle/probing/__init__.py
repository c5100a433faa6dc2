"""Inputs by design, a function a probe.

asked.py      for which call, rank and dtype       whole.py     coded, extremes
floating.py   rough, special, tiny, huge           moved.py     bits
"""
