"""The decision log: written by the caller's process, which alone knows prefilter, source and cause."""
