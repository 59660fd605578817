# mypy: disable-error-code="import-not-found"
"""What SGLang's and the router's own parsers make of flags; prints JSON.

    python parse_flags.py server PRESET.yaml ...      each one's values, or why it is refused
    python parse_flags.py router FLAG ...             the router's values
    python parse_flags.py rerank TEMPLATE QUERY DOC   how /v1/rerank reads a chat template, and the prompt

Runs in the server's environment, not in the tests'.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import yaml


def server(*presets: str) -> dict[str, Any]:
    """Parse presets as `sglang serve --config` does, and resolve them as far as that needs no model."""
    from sglang.srt.arg_groups.overrides import resolving_view
    from sglang.srt.server_args import ServerArgs, prepare_server_args

    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)
    known = {option for action in parser._actions for option in action.option_strings}
    parsed = {}
    for preset in presets:
        try:
            keys = yaml.safe_load(Path(preset).read_text())
            # argparse would take the beginning of a flag for the flag.
            if wrong := sorted(f"--{key}" for key in keys if f"--{key}" not in known):
                raise SystemExit(f"unknown: {wrong}")
            values = prepare_server_args(["--config", preset, "--model-path", "dummy"])
            values.resolve_once()
            seen = resolving_view(values)
            parsed[preset] = {
                key: getattr(seen, key.replace("-", "_")) for key in keys if key != "model-path"
            }
        except (SystemExit, Exception) as error:  # noqa: BLE001 - whatever the parser does to refuse
            parsed[preset] = {"refused": f"{type(error).__name__}: {error}"}
    return parsed


def router(*flags: str) -> dict[str, Any]:
    """Parse the router's flags."""
    from sglang_router.router_args import RouterArgs

    parser = argparse.ArgumentParser(allow_abbrev=False)
    RouterArgs.add_cli_args(parser)
    try:
        return dataclasses.asdict(RouterArgs.from_cli_args(parser.parse_args(flags)))
    except SystemExit as error:
        return {"refused": str(error)}


def rerank(template: str, query: str, document: str) -> dict[str, Any]:
    """What SGLang takes a template for, and the prompt that it makes of it."""
    from sglang.srt.entrypoints.openai import serving_rerank

    text = Path(template).read_text()
    rendered = serving_rerank._render_jinja_chat_template(text, query=query, document=document, instruct=None)
    return {"recognised": serving_rerank._is_qwen3_reranker_template(text), "prompt": rendered}


if __name__ == "__main__":
    kind, *arguments = sys.argv[1:]
    read = {"server": server, "router": router, "rerank": rerank}[kind](*arguments)
    # The last line: the imports print warnings of their own.
    print(json.dumps(read, default=str))  # noqa: T201 - the answer of the command
