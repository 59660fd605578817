"""Small whole programs around memsift."""
