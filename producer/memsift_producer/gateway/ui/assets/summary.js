// Who ranked, why, what it read, and where the time went.

import { el, heard } from "./dom.js";
import { timeline } from "./outcome.js";
import { because, milliseconds, number, percent, say } from "./words.js";

export function summary(outcome) {
  const { result } = outcome;
  return el(
    "article",
    { class: "panel summary" },
    el(
      "h3",
      {},
      outcome.ranker || say("thePrefilter"),
      result.model && result.model !== outcome.ranker ? el("span", { class: "model" }, result.model) : null,
    ),
    el(
      "p",
      { class: `source ${result.source}` },
      say(outcome.isModel ? "sourceModel" : "sourcePrefilter"),
      result.cause ? el("code", {}, result.cause) : null,
    ),
    outcome.isModel ? null : el("p", { class: "why" }, why(outcome)),
    outcome.abstained ? el("p", { class: "why" }, say("abstained")) : null,
    time(outcome),
    tokens(result),
    result.reason ? el("p", { class: "reason" }, el("span", { class: "label" }, say("reason")), result.reason) : null,
  );
}

/** Why the prefilter answered, in a sentence or two. */
export function why({ result, nobodyThere }) {
  return nobodyThere ? `${because(result.cause)} ${say("whyNoWorker")}` : because(result.cause);
}

const title = (step) => say(`part${step[0].toUpperCase()}${step.slice(1)}`);

function time(outcome) {
  const parts = timeline(outcome);
  const total = outcome.result.timings_ms.total ?? 0;
  const bar = el("div", { class: "timeline", "aria-hidden": "true" });
  for (const [step, ms] of parts) {
    const part = el("span", { class: `part ${step}`, title: `${title(step)}: ${milliseconds(ms)}` });
    part.style.flexGrow = String(ms);
    bar.append(part);
  }
  return el(
    "div",
    { class: "time" },
    el("h4", {}, say("time"), el("span", { class: "total" }, `${say("timeTotal")} ${milliseconds(total)}`)),
    bar,
    el(
      "dl",
      { class: "legend" },
      parts.map(([step, ms]) =>
        el(
          "div",
          {},
          el("dt", {}, el("span", { class: `swatch ${step}`, "aria-hidden": "true" }), title(step)),
          el("dd", {}, milliseconds(ms)),
        ),
      ),
    ),
  );
}

function tokens(result) {
  const share = result.prompt_tokens ? result.cached_tokens / result.prompt_tokens : 0;
  const bar = el("div", { class: "cache", "aria-hidden": "true" }, el("span", { class: "cached" }));
  bar.firstChild.style.width = `${share * 100}%`;
  const told = result.prompt_tokens
    ? [
        say("tokensRead", { n: number(result.prompt_tokens) }),
        say("tokensCached", { n: number(result.cached_tokens), share: percent(share) }),
        result.output_tokens ? say("tokensWritten", { n: number(result.output_tokens) }) : null,
        result.cost_usd ? say("costs", { usd: number(result.cost_usd, 4) }) : null,
      ].filter(Boolean)
    : [say("tokensNone")];
  return el(
    "div",
    { class: "tokens" },
    el("h4", {}, say("tokens")),
    result.prompt_tokens ? bar : null,
    el("p", { class: "told" }, told.flatMap((text, at) => (at ? [heard(", "), el("span", {}, text)] : [el("span", {}, text)]))),
  );
}
