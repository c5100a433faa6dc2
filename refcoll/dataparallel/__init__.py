"""Data-parallel training: replicas, their micro-batches, and what becomes of the gradients."""
