// Every number of an answer in one table.

import { SIGNALS } from "./board.js";
import { el } from "./dom.js";
import { number, percent, say, tongue } from "./words.js";

const NONE = "–";

/** @param outcomes one or two answers to the same question */
export function numbers(outcomes) {
  const [first] = outcomes;
  const named = (key) => `${key} (${say("prefilter")})`;
  const head = [
    say("memory"),
    say("kind"),
    ...SIGNALS.map((name) => say(name)),
    named(say("place")),
    named(say("score")),
    ...outcomes.flatMap((one) => columns(one).map((name) => `${name} (${one.isModel ? one.ranker : say("prefilter")})`)),
  ];
  // Two rankers may be given more or fewer memories: what the first left out, the second may have ranked.
  const ids = new Set(outcomes.flatMap((one) => [...one.after.map((row) => row.id), ...one.pruned.map((row) => row.id)]));
  const weights = Object.fromEntries(Object.entries(first.weights).map(([name, weight]) => [name, number(weight, 2)]));
  return el(
    "details",
    { class: "panel numbers" },
    el("summary", {}, say("numbers")),
    el("p", { class: "hint" }, say("numbersHint", weights)),
    el(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": say("numbers") },
      el(
        "table",
        {},
        el("thead", {}, el("tr", {}, head.map((name) => el("th", { scope: "col" }, name)))),
        el("tbody", {}, [...ids].map((id) => row(id, outcomes))),
      ),
    ),
  );
}

const columns = ({ isModel }) => (isModel ? [say("place"), say("score"), say("evidence"), say("relevance")] : []);

function row(id, outcomes) {
  const all = outcomes.flatMap((one) => [...one.before, ...one.pruned]);
  const { memory, seen } = all.find((one) => one.id === id);
  const before = outcomes.flatMap((one) => one.before).find((one) => one.id === id);
  const cells = [
    seen ? say(seen.kind) : NONE,
    ...SIGNALS.map((name) => (seen?.signals[name] ? number(seen.signals[name].value, 3) : NONE)),
    before ? String(before.place) : NONE,
    before ? number(before.score, 3) : NONE,
    ...outcomes.flatMap((one) => answered(one, id)),
  ];
  return el("tr", {}, el("th", { scope: "row", lang: tongue(memory.text) }, memory.text), cells.map((text) => el("td", {}, text)));
}

function answered(outcome, id) {
  if (!outcome.isModel) return [];
  const found = outcome.after.find((one) => one.id === id);
  if (!found) return [NONE, NONE, NONE, NONE];
  return [
    String(found.place),
    number(found.score, 3),
    found.evidence == null ? NONE : number(found.evidence, 3),
    found.relevance == null ? NONE : percent(found.relevance),
  ];
}
