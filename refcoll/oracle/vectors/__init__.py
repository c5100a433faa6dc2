"""Portable test vectors: inputs, right results and bounds in JSON, for any language.

    flags      the bug classes that vectors hit, by name
    cases      which calls on which inputs there are: by length, operator, content, order
    designs    inputs by content, made by floats, integers and ordered
    results    right results, exactly
    expected   what any order of adding may give
    orders     results in known orders, and these orders as expressions
    encoding   numbers as text that loses nothing
    records    a case as JSON
    text       the same as words and lines, for readers without a JSON parser
    writing    the files
    reading    the files read back, and results held to them

The format is described in docs/vectors.md.
"""
