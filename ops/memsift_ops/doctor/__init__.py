"""`memsift doctor`: what is wrong with a deployment, each finding with its remedy."""
