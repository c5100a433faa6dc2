"""Work in a child process: what it says, what it raises, and how it ended."""

import os
import signal
import time
from functools import partial

import pytest

from refcoll.errors import ArgumentError
from refcoll.oracle.apart import Child, apart


def run(work):
    heard = []
    return apart(work, heard.append), heard


def says_and(then, say):
    say("one")
    say({"two": 2})
    then()


def test_all_is_heard_in_turn_and_of_an_end_nothing_is_said():
    parent = os.getpid()
    how, (one, two, number) = run(lambda say: [say("one"), say({"two": 2}), say(os.getpid())])
    assert (how, one, two) == (None, "one", {"two": 2})
    assert number != parent


@pytest.mark.parametrize(
    ("then", "how"),
    [
        (partial(os._exit, 0), "ended with status 0"),
        (partial(os._exit, 3), "ended with status 3"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "was ended by SIGKILL"),
    ],
)
def test_a_process_that_ends_leaves_what_it_has_said(then, how):
    assert run(partial(says_and, then)) == (how, ["one", {"two": 2}])


def test_children_of_the_child_may_live_on_with_its_end_of_the_pipe():
    def leaves_one_behind():
        if os.fork() == 0:
            time.sleep(2)
        os._exit(4)

    started = time.monotonic()
    assert run(partial(says_and, leaves_one_behind))[0] == "ended with status 4"
    assert time.monotonic() - started < 1.9  # the other has not ended


def test_what_refcoll_raises_is_raised_here_and_other_errors_with_their_place():
    def refuses(say):
        raise ArgumentError("no such thing")

    def fails(say):
        raise LookupError("lost")

    with pytest.raises(ArgumentError, match="no such thing"):
        run(refuses)
    with pytest.raises(RuntimeError, match=r"(?s)in fails.*LookupError: lost"):
        run(fails)


def test_who_cannot_hear_any_more_ends_the_child():
    numbers = []

    def hear(number):
        numbers.append(number)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apart(lambda say: [say(os.getpid()), time.sleep(60)], hear)
    with pytest.raises(ProcessLookupError):
        os.kill(numbers[0], 0)


def test_what_a_child_prints_is_printed_once(capfd):
    print("before", end=" ")
    Child(lambda: print("child")).ended()
    print("behind")
    assert sorted(capfd.readouterr().out.split()) == ["before", "behind", "child"]


def test_a_child_that_fails_does_not_go_on_as_its_parent(capfd):
    def fails():
        raise LookupError("lost")

    assert Child(fails).ended() == "ended with status 130"
    assert "LookupError: lost" in capfd.readouterr().err
