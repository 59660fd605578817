"""Metrics: which there are (`catalogue`), how they are counted (`instruments`) and read (`serving`)."""
