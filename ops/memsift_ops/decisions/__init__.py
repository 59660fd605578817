"""What operators do with the decision log: explain a call, rank it again, make labelled data of it."""
