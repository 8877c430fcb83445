"""Servers of the Model Context Protocol as a source of tools, resources and prompts, on the official SDK."""
