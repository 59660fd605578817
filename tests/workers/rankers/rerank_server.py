"""A rerank server without a model: a process of its own that speaks one real server's dialect.

    python -m tests.workers.rankers.rerank_server DIALECT [--api-key KEY] [--longest TOKENS] [--ranks-wrongly]

It prints its port. `POST /_fault` sets what goes wrong from then on: `{"kind", "times", "only"}`, for ever
without `times`, whatever the query without `only`, a part of it. `GET /_seen` tells what has come since.
"""

import argparse
import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.workers.rankers.rerank_dialects import DIALECTS, Refused

TRICKLE_S = 0.05


def set_scores(rule):
    def spoil(rows, score):
        for row in rows:
            row[score] = rule(row[score])

    return spoil


def set_first(**changes):
    def spoil(rows, score):
        rows[0] |= {name if name == "index" else score: value for name, value in changes.items()}

    return spoil


# A whole, well-formed answer made wrong.
SPOILERS = {
    "short": lambda rows, score: rows.pop(),
    "empty": lambda rows, score: rows.clear(),
    "long": lambda rows, score: rows.append({**rows[0], "index": len(rows)}),
    "twice": lambda rows, score: rows[-1].update(index=rows[0]["index"]),
    "index_text": set_first(index="0"),
    "index_below": set_first(index=-1),
    "index_bool": set_first(index=True),
    "no_score": lambda rows, score: rows[0].pop(score),
    "nan": set_first(score=float("nan")),
    "infinite": set_first(score="1e999"),
    "word": set_first(score="high"),
    "null": set_first(score=None),
    "bool": set_first(score=True),
    "list": set_first(score=[0.5]),
    "reversed": set_scores(lambda score: 1 - score),
    "constant": set_scores(lambda score: 0.5),
}


def spoiled(kind, answer):
    match kind:
        case "html":
            return "<html>It works!</html>"
        case "no_rows":
            return {"message": "there are no rows"}
    rows = answer if isinstance(answer, list) else answer["results"]
    if kind in SPOILERS:
        SPOILERS[kind](rows, "score" if "score" in rows[0] else "relevance_score")
    return answer


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, dialect, api_key, ranks_wrongly):
        super().__init__(("127.0.0.1", 0), Handler)
        self.dialect, self.api_key, self.ranks_wrongly = dialect, api_key, ranks_wrongly
        self.lock = threading.Lock()
        self.fault, self.seen, self.busy, self.most_busy = None, [], 0, 0

    def handle_error(self, request, client_address):
        """A client that went away is no error of ours."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def take_fault(self, body):
        """The fault to show for this request, if any."""
        with self.lock:
            fault = self.fault
            query = str(body.get("query", ""))
            if fault is None or fault.get("only", "") not in query or fault.get("times", 1) == 0:
                return {"kind": None}
            if "times" in fault:
                fault["times"] -= 1
            return fault


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path == "/_seen":
            server = self.server
            return self.say(200, {"seen": server.seen, "most_busy": server.most_busy})
        told = dict(self.server.dialect.tells).get(self.path)
        return self.say(200, told) if told else self.say(404, {"detail": "Not Found"})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/_fault":
            with self.server.lock:
                self.server.fault, self.server.seen, self.server.most_busy = body, [], 0
            return self.say(200, {})
        with self.server.lock:
            self.server.seen.append({"path": self.path, "body": body})
        key = self.server.api_key
        if key and self.headers.get("authorization") != f"Bearer {key}":
            return self.say(401, {"detail": "Unauthorized"})
        if self.path not in self.server.dialect.paths:
            return self.say(404, {"detail": "Not Found"})
        with self.server.lock:
            self.server.busy += 1
            self.server.most_busy = max(self.server.most_busy, self.server.busy)
        try:
            return self.rerank(body)
        finally:
            with self.server.lock:
                self.server.busy -= 1

    def rerank(self, body):
        fault = self.server.take_fault(body)
        match fault["kind"]:
            case "status":
                return self.say(fault["status"], {"error": body["query"]}, fault.get("headers", {}))
            case "hang":
                return self.rfile.read(1)  # returns when the client goes away
            case "drop":
                self.close_connection = True
                return None
            case "endless":
                return self.pour()
            case "slow":
                time.sleep(fault["seconds"])
        try:
            answer, headers = self.server.dialect.answer(body)
        except Refused as refused:
            return self.say(refused.status, refused.body)
        answer = spoiled("reversed" if self.server.ranks_wrongly else fault["kind"], answer)
        return self.say(200, answer, headers, trickle=fault["kind"] == "trickle")

    def say(self, status, answer, headers=None, *, trickle=False):
        content = answer if isinstance(answer, str) else json.dumps(answer)
        content = content.replace('"1e999"', "1e999").encode()
        self.send_response(status)
        for name, value in {"content-length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if not trickle:
            self.wfile.write(content)
            return
        for at in range(len(content)):
            self.wfile.write(content[at : at + 1])
            time.sleep(TRICKLE_S)

    def pour(self):
        self.send_response(200)
        self.send_header("content-length", str(10**12))
        self.end_headers()
        while True:
            self.wfile.write(b" " * 65536)
            time.sleep(0.001)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dialect", choices=DIALECTS)
    parser.add_argument("--api-key")
    parser.add_argument("--longest", type=int, default=8192)
    parser.add_argument("--ranks-wrongly", action="store_true")
    given = parser.parse_args()
    server = Server(DIALECTS[given.dialect](given.longest), given.api_key, given.ranks_wrongly)
    print(server.server_address[1], flush=True)  # noqa: T201
    server.serve_forever()


if __name__ == "__main__":
    main()
