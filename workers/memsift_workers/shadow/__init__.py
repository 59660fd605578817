"""Shadow mode: a share of the jobs is ranked again by another ranker, when nothing else is to be done."""
