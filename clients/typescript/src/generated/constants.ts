// Generated from the Python code by `make docs`; do not edit.

export const WIRE_VERSION = 1 as const;

export const MAX_CANDIDATES = 200 as const;

export const MAX_TURNS = 50 as const;

export const MAX_ACTIVITY = 50 as const;

export const MAX_JOB_BYTES = 262144 as const;

export const MAX_MEMORY_CHARS = 2000 as const;

export const MAX_ID_CHARS = 128 as const;

export const MAX_DEADLINE_MS = 600000.0 as const;

export const ANONYMOUS = "anonymous" as const;

export const DEFAULT_SESSION = "default" as const;

export const KINDS = ["time-bound", "preference", "fact", "unknown"] as const;

export const CAUSES = [
  "no_candidates", "deadline", "expired", "too_late", "cancelled", "redis_unavailable", "breaker_open",
  "overloaded", "queue_full", "closed", "invalid_job", "unknown_version", "unknown_ranker",
  "runtime_unavailable", "runtime_timeout", "runtime_garbage", "ranker_error", "quarantined",
  "invalid_reply",
] as const;

export const FAILURES = ["deadline", "ranker_error", "redis_unavailable", "runtime_garbage", "runtime_timeout", "runtime_unavailable"] as const;

export const IMPATIENCE = ["deadline", "redis_unavailable", "runtime_timeout"] as const;

export const QUEUE_TTL_MS = 60000.0 as const;

export const BLOCK_S = 0.5 as const;

export const SOCKET_TIMEOUT_MS = 2000.0 as const;

export const CONNECT_TIMEOUT_MS = 1000.0 as const;

export const MEASURE_EVERY_MS = 60000.0 as const;

export const PREFILTER = {
  "k1": 0.9,
  "b": 0.4,
  "decimals": 12,
  "leastSpread": 1e-12,
  "leastCosine": 0.92,
  "leastOverlap": 0.75,
  "leastRotated": 4,
  "coverageWeight": 2.0,
} as const;

export const ADMISSION = {"freshMs": 1000.0, "expiredMs": 1000.0, "smoothing": 0.1, "batchesBehind": 2.5} as const;

export const BREAKER = {
  "unknownAnswerMs": 100.0,
  "recent": 64,
  "claimWaitMs": 100.0,
  "probeGraceMs": 1000.0,
  "slices": 5,
  "staleMs": 1000.0,
  "workerLivesS": 5.0,
} as const;

export const NUMBERS = {
  "deadlineMs": {"variable": "MEMSIFT_DEADLINE_MS", "default": 400, "whole": true, "least": 1, "above": false, "most": 60000},
  "topK": {"variable": "MEMSIFT_TOP_K", "default": 3, "whole": true, "least": 1, "above": false, "most": 200},
  "minRelevance": {"variable": "MEMSIFT_MIN_RELEVANCE", "default": 0.0, "whole": false, "least": 0, "above": false, "most": 1},
  "breakerFailures": {
    "variable": "MEMSIFT_BREAKER_FAILURES",
    "default": 10,
    "whole": true,
    "least": 1,
    "above": false,
    "most": null,
  },
  "breakerP99Ms": {
    "variable": "MEMSIFT_BREAKER_P99_MS",
    "default": 1000,
    "whole": true,
    "least": 1,
    "above": false,
    "most": null,
  },
  "breakerWindowS": {
    "variable": "MEMSIFT_BREAKER_WINDOW_S",
    "default": 10,
    "whole": true,
    "least": 1,
    "above": false,
    "most": 3600,
  },
  "breakerProbeMs": {
    "variable": "MEMSIFT_BREAKER_PROBE_MS",
    "default": 1000,
    "whole": true,
    "least": 1,
    "above": false,
    "most": null,
  },
  "queueMax": {"variable": "MEMSIFT_QUEUE_MAX", "default": 10000, "whole": true, "least": 1, "above": false, "most": null},
  "weightVector": {"variable": "MEMSIFT_WEIGHT_VECTOR", "default": 0.6, "whole": false, "least": 0, "above": false, "most": 100},
  "weightRecency": {
    "variable": "MEMSIFT_WEIGHT_RECENCY",
    "default": 0.05,
    "whole": false,
    "least": 0,
    "above": false,
    "most": 100,
  },
  "weightKeyword": {
    "variable": "MEMSIFT_WEIGHT_KEYWORD",
    "default": 0.35,
    "whole": false,
    "least": 0,
    "above": false,
    "most": 100,
  },
  "halfLifeDays": {
    "variable": "MEMSIFT_HALF_LIFE_DAYS",
    "default": 90.0,
    "whole": false,
    "least": 0,
    "above": true,
    "most": 36525,
  },
} as const;
