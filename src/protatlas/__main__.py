"""`python -m protatlas`: the same as the `protatlas` command."""

from protatlas.cli import main

if __name__ == "__main__":
    main()
