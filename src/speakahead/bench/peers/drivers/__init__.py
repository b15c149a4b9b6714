"""Programs that drive one peer each, in its own environment.

The parent runs ``python -P drivers/__main__.py NAME`` there. What these modules import is the
standard library, numpy, each other, and the peer; only the driver of speakahead itself imports
speakahead. A driver has ``DISTRIBUTION``, the name of the peer's package, and ``load``, which loads
the peer so that it takes text.
"""
