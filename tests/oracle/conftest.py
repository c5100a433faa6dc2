"""The default set of test vectors, written once."""

import pytest

from refcoll.oracle.vectors.writing import write_vectors


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("vectors")
    write_vectors(made)
    return made
