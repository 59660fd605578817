"""What all benchmarks share: the machine, CPU clocks, result files, ratios, the page in the documentation."""
