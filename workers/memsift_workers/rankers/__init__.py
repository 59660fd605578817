"""Rankers: each turns jobs into scores, behind one protocol."""
