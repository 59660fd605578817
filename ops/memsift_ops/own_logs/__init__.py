"""From a team's own log of questions to an evaluation set."""
