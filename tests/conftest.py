"""A machine that is busy fails no test: no example has a time by which it must be done."""

from hypothesis import settings

settings.register_profile("without deadlines", deadline=None)
settings.load_profile("without deadlines")
