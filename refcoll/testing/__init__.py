"""For tests, ours and yours: an in-process transport, wrappers, assertions, a conformance kit."""
