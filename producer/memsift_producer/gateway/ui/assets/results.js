// The result's part of the page, drawn anew for each answer and each language.

import { board } from "./board.js";
import { el } from "./dom.js";
import { numbers } from "./numbers.js";
import { agreement } from "./outcome.js";
import { summary, why } from "./summary.js";
import { milliseconds, number, say, tongue } from "./words.js";

const SHORT = 80;

/** @param outcomes none, one, or two to compare */
export function results(outcomes) {
  if (!outcomes.length) return el("p", { class: "panel empty" }, say("nothingYet"));
  return el(
    "div",
    {},
    el("div", { class: "summaries" }, outcomes.map(summary)),
    outcomes[0].after.length ? board(sides(outcomes)) : null,
    outcomes.map((one, at) => (at && samePruned(one, outcomes[0]) ? null : pruned(one))),
    outcomes[0].after.length ? numbers(outcomes) : null,
  );
}

/** A sentence on what came, for those who hear the page. */
export function told(outcomes) {
  const [first, second] = outcomes;
  if (!first) return "";
  if (!first.after.length) return say("doneNone");
  if (second) return say("doneBoth", agreement(first, second));
  const about = { ms: milliseconds(first.result.timings_ms.total ?? 0), text: short(first.after[0].memory.text) };
  return first.isModel ? say("doneModel", about) : say("donePrefilter", { ...about, why: why(first) });
}

const short = (text) => (text.length > SHORT ? `${text.slice(0, SHORT)}…` : text);

function sides([first, second]) {
  if (second) return { left: side(first), right: side(second) };
  if (!first.isModel) {
    return { right: { title: say("thePrefilter"), sub: say("fallbackSub"), rows: first.after, signals: true } };
  }
  return {
    left: { title: say("before"), sub: say("beforeSub"), rows: first.before, signals: true },
    right: { title: say("after"), sub: say("afterSub", { ranker: first.ranker }), rows: first.after, moves: true },
  };
}

const side = (outcome) => ({
  title: outcome.isModel ? outcome.ranker : say("thePrefilter"),
  sub: say(outcome.isModel ? "compareSub" : "fallbackSub"),
  rows: outcome.after,
  moves: outcome.isModel,
  signals: !outcome.isModel,
});

const samePruned = (one, other) => one.pruned.map((row) => row.id).join() === other.pruned.map((row) => row.id).join();

function pruned(outcome) {
  if (!outcome.pruned.length) return null;
  return el(
    "details",
    { class: "panel pruned" },
    el("summary", {}, say("pruned", { n: number(outcome.pruned.length) })),
    el(
      "ul",
      {},
      outcome.pruned.map(({ memory, seen }) =>
        el("li", {}, el("span", { lang: tongue(memory.text) }, memory.text), el("span", { class: "hint" }, ` – ${say(seen?.duplicate ? "duplicate" : "lowScore")}`)),
      ),
    ),
  );
}
