"""An agent that lives in the notebook."""

__version__ = "0.1.0"
