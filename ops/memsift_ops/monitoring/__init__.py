"""What is made of the metrics' catalogue: the Grafana dashboard and the docs' table."""
