"""`python -m regulargpt`."""

from regulargpt.cli import main

if __name__ == "__main__":
    main()
