"""CodeGym's version; apart, so that what records it need not import all the rest."""

__version__ = "0.1.0"
