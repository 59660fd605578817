"""Runtimes: inference engines behind one protocol."""
