"""A local HTTP server, in a thread of its own, that speaks the dialect of a chat or a decision model.

It knows no language: a memory is as good as the words that it shares with the question.
"""

import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TRICKLE_S = 0.05
SMALL = {"the", "is", "to", "a", "of", "and", "in", "that", "this", "user", "message", "memory"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_POST(self):
        owner = self.server.owner
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        owner.seen.append((self.path, dict(self.headers), body))
        fault = owner.fault(len(owner.seen), body) or {"kind": None}
        match fault["kind"]:
            case "hang":
                self.connection.settimeout(20)
                self.rfile.read(1)  # returns when the client goes away
                self.close_connection = True
            case "drop":
                self.close_connection = True
            case "endless":
                self.pour()
            case "status":
                self.say(fault["status"], fault.get("answer", {}), fault.get("headers"))
            case "raw":
                self.say(200, fault["answer"])
            case kind:
                status, answer = owner.rule(self.path, self.headers, body)
                self.say(status, answer, slowly=kind == "trickle")

    def say(self, status, answer, headers=None, *, slowly=False):
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.begin(status, len(content), headers or {})
        if not slowly:
            self.wfile.write(content)
            return
        for at in range(len(content)):
            self.wfile.write(content[at : at + 1])
            time.sleep(TRICKLE_S)

    def pour(self):
        self.begin(200, 10**9, {})
        while True:
            self.wfile.write(b" " * 65536)

    def begin(self, status, length, headers):
        self.send_response(status)
        told = {"content-type": "application/json", "content-length": str(length)}
        for name, value in (told | headers).items():
            self.send_header(name, value)
        self.end_headers()


class Quiet(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_):
        """Clients that go away are the point."""


class ModelServer:
    """Answers each POST by `rule(path, headers, body)`, which gives a status and an answer.

    `fault(number, body)` may give, for each request, what goes wrong instead: a dict of `kind` (status, hang,
    trickle, drop, endless, raw) and what that kind needs; None answers.
    """

    def __init__(self, rule):
        self.rule = rule
        self.fault = lambda number, body: None
        self.seen = []
        self._server = Quiet(("127.0.0.1", 0), Handler)
        self._server.owner = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()


def likeness(text, question):
    """From 0 to 1: how many of the question's words the text has."""
    words, asked = ({*re.findall(r"\w+", one.lower())} - SMALL for one in (text, question))
    return len(words & asked) / max(len(asked), 1)


def latest(text):
    return re.search("Latest message of the user: (.*)", text)[1]


class Chat:
    """`/chat/completions` as OpenAI's: `refuses` holds parameters that this model does not take."""

    def __init__(self, *, refuses=(), named=2, says=None):
        self.refuses, self.named, self.says = set(refuses), named, says

    def __call__(self, path, headers, body):
        if path != "/v1/chat/completions":
            return 404, {"error": {"message": "Not found", "type": "invalid_request_error"}}
        if body["model"] != "chatty":
            return 404, {"error": {"message": "no such model", "code": "model_not_found"}}
        form = body["response_format"]
        for name in ("temperature", "max_completion_tokens", "max_tokens", form["type"]):
            if name in self.refuses and (name in body or name == form["type"]):
                param = None if name == form["type"] else name
                return 400, {"error": {"message": f"no {name} here", "param": param, "code": "unsupported"}}
        text = self.says if self.says is not None else self.card(body, form)
        return 200, {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "chatty-2026",
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
            ],
            "usage": {
                "prompt_tokens": 1000,
                "completion_tokens": 50,
                "total_tokens": 1050,
                "prompt_tokens_details": {"cached_tokens": 400},
            },
        }

    def card(self, body, form):
        prompt = body["messages"][1]["content"]
        lines = dict(re.findall(r"^(m\d+): (.*)$", prompt, flags=re.MULTILINE))
        ranked = sorted(lines, key=lambda name: -likeness(lines[name], latest(prompt)))
        if form["type"] == "json_schema":
            asked = form["json_schema"]["schema"]["properties"]["ranking"]["items"]["enum"]
            assert asked == list(lines)
        return json.dumps({"ranking": ranked[: self.named], "reason": "It names the place."})


class Decider:
    """A System One server: `path` with at most `most` questions; `envelope` as on Workers AI."""

    def __init__(self, *, path="/v1/systemone", most=64, envelope=False, leave_out=()):
        self.path, self.most, self.envelope, self.leave_out = path, most, envelope, set(leave_out)

    def __call__(self, path, headers, body):
        if path != self.path:
            return 404, {"detail": {"error_type": "not_found", "message": "No such route"}}
        asked = body["questions"]
        if len(asked) > self.most:
            return 422, {"detail": [{"loc": ["body", "questions"], "msg": "too many", "type": "too_long"}]}
        if isinstance(asked, list):
            wanted = {one["id"]: one["question"] for one in asked}
            answers = {
                name: {"type": "yes_no", "probabilities": {"yes": value, "no": 1 - value}, "label_mass": 0.9}
                for name, value in self.judge(wanted, body["input"])
            }
            return 200, {
                "object": "decisions",
                "model": body["model"],
                "answers": answers,
                "usage": {"prompt_tokens": 70, "completion_tokens": 0},
            }
        wanted = {name: one["instructions"] for name, one in asked.items()}
        answers = {name: {"type": "noul", "noul": value} for name, value in self.judge(wanted, body["state"])}
        answer = {
            "model": "decider-1",
            "answers": answers,
            "usage": {"input_tokens": 70, "output_tokens": 2},
        }
        if self.envelope:
            answer = {"result": answer, "success": True, "errors": [], "messages": []}
        return 200, answer

    def judge(self, wanted, state):
        return [
            (name, round(likeness(text.split("Memory: ")[1], latest(state)), 4))
            for name, text in wanted.items()
            if name not in self.leave_out
        ]
