"""How events and requests look on the wire: cosh-core's lines (the default) and Claude Code's stream-json."""
