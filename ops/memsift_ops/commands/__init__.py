"""One module per command; each offers its click command as `command`."""
