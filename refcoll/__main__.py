"""``python -m refcoll`` is ``refcoll``."""

from refcoll.cli import main

if __name__ == "__main__":
    main()
