#!/usr/bin/env python
"""Run a command: `python manage.py help` lists them."""

from config.command import main

if __name__ == "__main__":
    main()
