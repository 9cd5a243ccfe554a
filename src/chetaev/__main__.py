"""`python -m chetaev` is the command line."""

from chetaev.cli import main

if __name__ == "__main__":
    main()
