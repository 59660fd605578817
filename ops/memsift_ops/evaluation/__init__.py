"""`memsift eval`: every ranker on labelled questions, through the real queue, with what it costs."""
