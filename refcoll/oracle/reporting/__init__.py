"""What came of judging: in total, by diagnosis, for machines, for an issue."""
