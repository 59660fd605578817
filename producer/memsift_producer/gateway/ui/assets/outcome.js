// An answer of the gateway joined with the memories that were asked about; what is drawn is made from it.

/**
 * @param told what `rank` gave: result, before, seen, weights, top_k
 * @param asked the question: memories, expected ids, ranker, whether workers were there
 */
export function read(told, asked) {
  const memories = new Map(asked.memories.map((memory) => [memory.id, memory]));
  const seen = new Map(told.seen.map((one) => [one.id, one]));
  const was = places(told.before);
  const rows = (ranking) => {
    const selected = new Set(ranking.selected ?? []);
    return ranking.ranking.map((ranked, at) => ({
      ...ranked,
      place: at + 1,
      was: was.get(ranked.id),
      selected: selected.has(ranked.id),
      expected: asked.expected.has(ranked.id),
      memory: memories.get(ranked.id),
      seen: seen.get(ranked.id),
    }));
  };
  const { result } = told;
  return {
    result,
    weights: told.weights,
    topK: told.top_k,
    ranker: result.ranker || asked.ranker,
    isModel: result.source === "model",
    nobodyThere: result.source !== "model" && asked.workers === 0,
    abstained: result.ranking.length > 0 && result.selected?.length === 0,
    after: rows(result),
    before: rows(told.before),
    pruned: result.pruned.map((id) => ({ id, memory: memories.get(id), seen: seen.get(id) })),
    places: places(result),
  };
}

/** How many memories two answers both put into the prompt, and how many either does. */
export function agreement(one, other) {
  const chosen = new Set(one.result.selected ?? []);
  const same = (other.result.selected ?? []).filter((id) => chosen.has(id)).length;
  return { same, all: Math.max(chosen.size, other.result.selected?.length ?? 0) };
}

/** Milliseconds by step of the job's way; what no step accounts for is the way itself, or a wait in vain. */
export function timeline({ result, isModel }) {
  const took = result.timings_ms;
  const steps = ["prefilter", "queue", "place", "rank"].filter((step) => step in took).map((step) => [step, took[step]]);
  const rest = Math.max((took.total ?? 0) - steps.reduce((sum, [, ms]) => sum + ms, 0), 0);
  return [...steps, [isModel ? "way" : "waited", rest]];
}

const places = (ranking) => new Map(ranking.ranking.map(({ id }, at) => [id, at + 1]));
