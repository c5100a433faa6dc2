"""Implementations that are judged often: the MPI library's, torch.distributed's, refcoll's own."""
