"""`python -m bestk`."""

from bestk.cli.main import main

main()
