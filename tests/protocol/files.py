"""What other languages need of the protocol, as files; `python -m tests.protocol.files` writes them anew."""

import json
from pathlib import Path

from tests.protocol import lexicon, messages, rankings, replies, schemas

ROOT = Path(__file__).parent.parent.parent
PROTOCOL = ROOT / "clients" / "protocol"
GENERATED = ROOT / "clients" / "typescript" / "src" / "generated"


def _pretty(data):
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"


def _rows(data):
    """One item a line, so that a change shows as what it is."""
    return "[\n" + ",\n".join(json.dumps(one, ensure_ascii=False) for one in data) + "\n]\n"


FILES = {
    PROTOCOL / "job.schema.json": lambda: _pretty(schemas.job()),
    PROTOCOL / "reply.schema.json": lambda: _pretty(schemas.reply()),
    PROTOCOL / "vectors" / "keys.json": lambda: _pretty(messages.names()),
    PROTOCOL / "vectors" / "jobs.json": lambda: _pretty(messages.jobs()),
    PROTOCOL / "vectors" / "refused.json": lambda: _rows(messages.refused()),
    PROTOCOL / "vectors" / "sealed.json": lambda: _pretty(messages.sealed()),
    PROTOCOL / "vectors" / "replies.json": lambda: _pretty(replies.replies()),
    PROTOCOL / "vectors" / "words.json": lambda: _pretty(rankings.words()),
    PROTOCOL / "vectors" / "rankings.json": lambda: _rows(rankings.rankings()),
    PROTOCOL / "vectors" / "questions.json": lambda: _rows(rankings.questions()),
    GENERATED / "constants.ts": lexicon.constants,
    GENERATED / "lexicon.ts": lexicon.lexicon,
    GENERATED / "scripts.ts": lexicon.scripts,
}


def main():
    """Write all of them."""
    for path, made in FILES.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made(), encoding="utf-8")


if __name__ == "__main__":
    main()
