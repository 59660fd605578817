"""The chaos harness: real processes, faults at random moments, and a count of what came back.

`memsift chaos` runs it; docs/chaos.md says what it proves. Every random choice comes from one seed.
"""
