"""Capacity planning by simulation: how many cards a load needs, and what decides it."""
