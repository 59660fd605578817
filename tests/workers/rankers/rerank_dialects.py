"""How real rerank servers ask, answer and refuse, scored by the words that query and text share.

Shapes of text-embeddings-inference 1.9, infinity 0.0.76, vLLM, SGLang 0.5.23 and Cohere's v2 API. The last
stands for all servers that refuse members they do not know.
"""

import json
import re

MODEL = "word-overlap"
TEI_BATCH = 32


def words(text):
    return re.findall(r"[\u4e00-\u9fff]|[^\W_]+", text.lower())


def relevance(query, text):
    asked = set(words(query))
    return round(len(asked & set(words(text))) / len(asked), 6) if asked else 0.0


class Refused(Exception):
    def __init__(self, status, body):
        super().__init__(status)
        self.status, self.body = status, body


def openai_error(status, message):
    return Refused(status, {"error": {"message": message, "type": "BadRequestError", "code": status}})


def missing(name):
    """What FastAPI answers."""
    return Refused(422, {"detail": [{"type": "missing", "loc": ["body", name], "msg": "Field required"}]})


class Dialect:
    """What all share. `answer` gives JSON and headers for a request; `tells` is what GET finds."""

    paths = ("/rerank",)
    tells = ()

    def __init__(self, longest):
        self.longest = longest

    def pairs(self, query, texts, *, cut, too_long):
        """Scores and token counts; a pair that is too long is cut or refused."""
        rows = []
        for text in texts:
            kept = words(text)
            count = len(words(query)) + len(kept)
            if count > self.longest:
                if not cut:
                    raise too_long(count)
                kept = kept[: self.longest - len(words(query))]
            rows.append((relevance(query, " ".join(kept)), min(count, self.longest)))
        return rows


class Tei(Dialect):
    tells = (("/info", {"model_id": MODEL, "model_type": {"reranker": {}}}),)

    def answer(self, body):
        for name in ("query", "texts"):
            if name not in body:
                message = "Failed to deserialize the JSON body into the target type: missing field"
                raise Refused(422, f"{message} `{name}` at line 1 column {len(json.dumps(body))}")
        texts = body["texts"]
        if len(texts) > TEI_BATCH:
            raise self.invalid(f"batch size {len(texts)} > maximum allowed batch size {TEI_BATCH}")

        def too_long(count):
            return self.invalid(f"`inputs` must have less than {self.longest} tokens. Given: {count}")

        rows = self.pairs(body["query"], texts, cut=body.get("truncate", False), too_long=too_long)
        ranks = [{"index": at, "score": score} for at, (score, _) in enumerate(rows)]
        ranks.sort(key=lambda rank: -rank["score"])
        return ranks, {"x-compute-type": "cpu", "x-compute-tokens": str(sum(count for _, count in rows))}

    @staticmethod
    def invalid(message):
        return Refused(422, {"error": message, "error_type": "Validation"})


class Infinity(Dialect):
    tells = (("/models", {"data": [{"id": MODEL, "object": "model"}]}),)

    def answer(self, body):
        for name in ("query", "documents"):
            if name not in body:
                raise missing(name)
        if body.get("model", "default/not-specified") not in {MODEL, "default/not-specified"}:
            raise openai_error(400, "Invalid model: Engine for model name not found")
        rows = self.pairs(body["query"], body["documents"], cut=True, too_long=None)
        results = [
            {"relevance_score": score, "index": at, "document": None} for at, (score, _) in enumerate(rows)
        ]
        results.sort(key=lambda row: -row["relevance_score"])
        tokens = sum(count for _, count in rows)
        return {
            "object": "rerank",
            "results": results[: body.get("top_n")],
            "model": MODEL,
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
            "id": "infinity-1",
            "created": 1,
        }, {}


class Vllm(Dialect):
    paths = ("/rerank", "/v1/rerank", "/v2/rerank")

    def answer(self, body):
        for name in ("query", "documents"):
            if name not in body:
                raise openai_error(400, f"{name}: Field required")
        if body.get("model") not in {None, MODEL}:
            raise Refused(404, {"error": {"message": "The model does not exist.", "type": "NotFoundError"}})

        def too_long(count):
            return openai_error(400, f"maximum context length is {self.longest}, you requested {count}")

        cut = body.get("truncate_prompt_tokens") is not None
        rows = self.pairs(body["query"], body["documents"], cut=cut, too_long=too_long)
        results = [
            {"index": at, "document": {"text": text, "multi_modal": None}, "relevance_score": score}
            for at, (text, (score, _)) in enumerate(zip(body["documents"], rows, strict=True))
        ]
        results.sort(key=lambda row: -row["relevance_score"])
        tokens = sum(count for _, count in rows)
        return {
            "id": "rerank-1",
            "model": MODEL,
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
            "results": results[: body.get("top_n") or None],
        }, {}


class SGLang(Dialect):
    paths = ("/v1/rerank",)
    tells = (("/v1/models", {"object": "list", "data": [{"id": MODEL, "object": "model"}]}),)

    def answer(self, body):
        for name in ("query", "documents"):
            if name not in body:
                raise self.invalid(f"{name}: Field required")

        def too_long(count):
            return self.invalid(f"The input ({count} tokens) is longer than the model's context length.")

        rows = self.pairs(body["query"], body["documents"], cut=False, too_long=too_long)
        answer = []
        for at, (score, count) in enumerate(rows):
            meta = {"id": f"{at}", "finish_reason": None, "prompt_tokens": count, "e2e_latency": 0.01}
            row = {"score": score, "document": body["documents"][at], "index": at, "meta_info": meta}
            if not body.get("return_documents", True):
                del row["document"]
            answer.append(row)
        answer.sort(key=lambda row: -row["score"])
        return answer[: body.get("top_n")], {}

    @staticmethod
    def invalid(message):
        error = {"object": "error", "message": message, "type": "BadRequestError", "param": None, "code": 400}
        return Refused(400, error)


class Cohere(Dialect):
    paths = ("/v2/rerank",)
    known = frozenset({"model", "query", "documents", "top_n", "max_tokens_per_doc", "priority"})

    def answer(self, body):
        unknown = set(body) - self.known
        if unknown or not {"model", "query", "documents"} <= set(body):
            raise Refused(400, {"id": "1", "message": f"invalid request: {sorted(unknown)}"})
        if body["model"] != MODEL:
            raise Refused(404, {"id": "1", "message": "model not found"})
        rows = self.pairs(body["query"], body["documents"], cut=True, too_long=None)
        results = [{"index": at, "relevance_score": score} for at, (score, _) in enumerate(rows)]
        results.sort(key=lambda row: -row["relevance_score"])
        meta = {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}}
        return {"id": "1", "results": results[: body.get("top_n")], "meta": meta}, {}


DIALECTS = {"tei": Tei, "infinity": Infinity, "vllm": Vllm, "sglang": SGLang, "cohere": Cohere}
