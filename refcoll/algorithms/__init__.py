"""The algorithms, one family a file: pure functions from (rank, size) to a schedule.

Each file gives, beside the schedule, what the algorithm claims to cost.  Claims are
expressions in (rank, size, chunk lengths): they never run the schedule.
"""
