"""`python -m chetaev.cli` is the command line."""

from chetaev.cli.application import main

if __name__ == "__main__":
    main()
