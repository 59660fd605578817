"""Learns weights and calibrations from labelled questions, and writes them as settings."""
