// Two rankings side by side, with lines from each memory's place in one to its place in the other.

import { el, heard, svg } from "./dom.js";
import { day, number, percent, say, signed, tongue } from "./words.js";

const FIRST = 10;
export const SIGNALS = ["vector", "recency", "keyword"];

/**
 * @param left, right: { title, sub, rows, signals: show the prefilter's, moves: show how far each has moved };
 *   without `left` there is one list
 */
export function board({ left, right }) {
  const longest = Math.max(right.rows.length, left?.rows.length ?? 0);
  const node = el("div", { class: left ? "board two" : "board" });
  let all = false;
  const button = el("button", { type: "button", class: "plain wide" });
  button.addEventListener("click", () => {
    all = !all;
    draw();
  });
  // What is right is the result, so it comes first for those who hear the page, and on a phone.
  function draw() {
    const shown = all ? longest : FIRST;
    node.replaceChildren(
      list(right, shown, "right"),
      ...(left ? [list(left, shown, "left"), svg("svg", { class: "lines", "aria-hidden": "true" })] : []),
    );
    button.textContent = say(all ? "showFewer" : "showAll", { n: number(all ? FIRST : longest) });
    if (left) join(node, left, right);
  }
  // Where is this one on the other side?
  node.addEventListener("pointerover", ({ target }) => {
    const id = target.closest("[data-id]")?.dataset.id;
    for (const one of node.querySelectorAll("[data-id]")) one.classList.toggle("hot", one.dataset.id === id);
  });
  draw();
  if (left) new ResizeObserver(() => join(node, left, right)).observe(node);
  return el("div", { class: "boards" }, node, longest > FIRST ? button : null);
}

function list({ title, sub, rows, signals, moves }, shown, side) {
  const most = Math.max(...rows.flatMap((row) => SIGNALS.map((name) => Math.abs(row.seen?.signals[name]?.part ?? 0))), 1e-9);
  return el(
    "section",
    { class: `list ${side}` },
    el("h3", {}, title, sub ? el("span", { class: "sub" }, sub) : null),
    el(
      "ol",
      {},
      rows.slice(0, shown).map((row) => card(row, { signals: signals && most, moves })),
    ),
  );
}

function card(row, { signals, moves }) {
  const { memory } = row;
  const kind = row.seen?.kind ?? "fact";
  return el(
    "li",
    { class: row.selected ? "card selected" : "card", "data-id": row.id },
    el("p", { class: "head" }, el("span", { class: "tags" }, tags(row, kind, moves)), score(row)),
    el("p", { class: "text", lang: tongue(memory.text) }, memory.text),
    signals ? bars(row.seen, signals) : null,
  );
}

function tags(row, kind, moves) {
  return [
    el(
      "span",
      { class: "number" },
      heard(say("placeOf", { n: row.place })),
      el("span", { "aria-hidden": "true" }, String(row.place)),
    ),
    moves ? move(row) : null,
    el("span", { class: `chip ${kind}` }, say(kind)),
    el("span", { class: "day" }, day(row.memory.created_at)),
    row.selected ? el("span", { class: "chip prompt" }, say("inPrompt")) : null,
    row.expected ? el("span", { class: "chip expected" }, `✓ ${say("expected")}`) : null,
  ];
}

function score({ score: value, relevance }) {
  return el(
    "span",
    { class: "scores", title: say("score") },
    relevance == null ? null : `${say("relevance")} ${percent(relevance)} · `,
    heard(say("score")),
    ` ${number(value, 2)}`,
  );
}

function move({ place, was }) {
  const by = was - place;
  const kind = by > 0 ? "up" : by < 0 ? "down" : "same";
  const sign = { up: "▲", down: "▼", same: "=" }[kind];
  return el(
    "span",
    { class: `move ${kind}` },
    heard(say(kind, { n: Math.abs(by) })),
    el("span", { "aria-hidden": "true" }, by ? `${sign} ${Math.abs(by)}` : sign),
  );
}

/** What each signal adds to the score: to the right of the middle, or takes from it, to the left. */
function bars(seen, most) {
  return el(
    "dl",
    { class: "bars" },
    SIGNALS.map((name) => {
      const signal = seen.signals[name];
      const bar = el("span", { class: "bar", "aria-hidden": "true" });
      if (signal) {
        const fill = el("span", { class: `fill ${name}` });
        const share = (Math.abs(signal.part) / most) * 50;
        fill.style.width = `${share}%`;
        fill.style.left = `${signal.part < 0 ? 50 - share : 50}%`;
        bar.append(fill);
      }
      return el(
        "div",
        { title: signal ? say("adds", { part: signed(signal.part) }) : say("unknown") },
        el("dt", {}, say(name)),
        el(
          "dd",
          { class: "value" },
          signal ? number(signal.value, 2) : el("span", { "aria-hidden": "true" }, "–"),
          heard(signal ? `, ${say("adds", { part: signed(signal.part) })}` : say("unknown")),
        ),
        bar,
      );
    }),
  );
}

/** Draw the lines; where the lists stand one above the other there is no room for any. */
function join(node, left, right) {
  const lines = node.querySelector(".lines");
  if (!lines) return;
  const width = lines.clientWidth;
  lines.replaceChildren();
  if (!width) return;
  const top = lines.getBoundingClientRect().top;
  const height = (side, id) => {
    const found = [...node.querySelectorAll(`.list.${side} .card`)].find((one) => one.dataset.id === id);
    if (!found) return null;
    const box = found.getBoundingClientRect();
    return box.top - top + Math.min(box.height / 2, 24);
  };
  const from = new Map(left.rows.map((row) => [row.id, row]));
  for (const row of right.rows) {
    const [start, end] = [height("left", row.id), height("right", row.id)];
    if (start === null || end === null) continue;
    const by = from.get(row.id).place - row.place;
    const kind = by > 0 ? "up" : by < 0 ? "down" : "same";
    const bend = width * 0.45;
    lines.append(
      svg("path", {
        d: `M0 ${start} C${bend} ${start} ${width - bend} ${end} ${width} ${end}`,
        class: row.selected ? `line ${kind} selected` : `line ${kind}`,
        "data-id": row.id,
      }),
    );
  }
}
