"""The interpreters of programs: each reads the same steps for a purpose of its own.

``delivery`` matches sends and receives and is what all but ``execute`` stand on.
"""
