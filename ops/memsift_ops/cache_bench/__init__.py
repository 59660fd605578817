"""How much of a session's prompts the prefix cache holds: layouts side by side on one engine."""
