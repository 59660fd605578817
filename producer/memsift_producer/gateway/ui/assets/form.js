// The form: scenes fill it, and what stands in it becomes requests.

import { $, el } from "./dom.js";
import { Fault, readMemories, readMoment, readRequest, readTurns, writeMemories, writeTurns } from "./reading.js";
import { count, current, say } from "./words.js";

// Whoever opens the page anew begins with an empty cache of his own.
const VISITOR = `ui-${[...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
let scenes = [];
let chosen = null; // the scene's question that fills the form, and the text that it filled in

export { VISITOR };

/** Offer these scenes, those in the page's language first, and begin with the first question. */
export function offer(told) {
  scenes = told;
  const select = $("scene");
  const value = select.value;
  const order = [...scenes.keys()].sort((a, b) => (scenes[b].lang === current()) - (scenes[a].lang === current()));
  select.replaceChildren(
    el("option", { value: "" }, say("own")),
    ...order.map((at) =>
      el(
        "optgroup",
        { label: scenes[at].title },
        scenes[at].questions.map((question, turn) => el("option", { value: `${at}.${turn}` }, `${turn + 1}. ${question.query}`)),
      ),
    ),
  );
  select.value = value || (order.length && !$("memories").value ? `${order[0]}.0` : "");
  if (!value && select.value) takeScene();
}

/** Fill the form with the question that is chosen; "my own" empties it. */
export function takeScene() {
  const [at, turn] = $("scene").value.split(".").map(Number);
  const scene = scenes[at];
  const question = scene?.questions[turn];
  $("story").hidden = !scene?.story.length;
  $("story").lastElementChild.replaceChildren(...(scene?.story ?? []).map((paragraph) => el("p", { lang: scene.lang }, paragraph)));
  fill(question ?? { query: "", memories: [], turns: [] });
  chosen = question ? { question, text: $("memories").value, session: `${VISITOR}-${at}` } : null;
}

function fill({ query, memories, turns = [], now }) {
  $("query").value = query;
  $("memories").value = writeMemories(memories);
  $("turns").value = writeTurns(turns, { user: say("user"), assistant: say("assistant") });
  $("now").value = now ?? "";
  countMemories();
}

/** A request that is pasted whole goes to the fields that it has a value for. */
export function takePaste(text) {
  const request = readRequest(text);
  if (!request) return false;
  fill({ ...request, memories: readMemories(text) });
  if (request.top_k) $("top").value = request.top_k;
  if (request.deadline_ms) $("deadline").value = request.deadline_ms;
  $("scene").value = "";
  takeStory();
  return true;
}

function takeStory() {
  $("story").hidden = true;
  chosen = null;
}

export function countMemories() {
  let n = 0;
  try {
    n = readMemories($("memories").value).length;
  } catch {
    // It is said when it is asked.
  }
  $("memories-count").textContent = n ? count("memoriesCount", n) : "";
}

/** What rankers there are to choose from; a choice stays where it is still there. */
export function offerRankers({ rankers }) {
  const options = rankers.length ? rankers.map((name) => [name, name]) : [["", say("workersDefault")]];
  for (const [id, before] of [["ranker", []], ["other", [["", say("nobody")]]]]) {
    const select = $(id);
    const value = select.value;
    const all = [...before, ...(id === "other" && !rankers.length ? [] : options)];
    // A list that is open would close.
    if (select.options.length === all.length && all.every(([, title], at) => select.options[at].text === title)) continue;
    select.replaceChildren(...all.map(([name, title]) => el("option", { value: name }, title)));
    select.value = all.some(([name]) => name === value) ? value : all[0][0];
  }
}

/**
 * What is asked, as one request for each ranker.
 *
 * @throws Fault something cannot be asked
 */
export function read(standing) {
  const query = $("query").value.trim();
  const memories = readMemories($("memories").value);
  if (!query) throw new Fault("query", "faultQuery");
  if (!memories.length) throw new Fault("memories", "faultMemories");
  if (memories.length > standing.max_memories) {
    throw new Fault("memories", "faultMany", { n: memories.length, most: standing.max_memories });
  }
  const asIs = chosen?.text === $("memories").value;
  const now = $("now").value.trim();
  const request = {
    query,
    candidates: memories,
    turns: readTurns($("turns").value),
    activity: asIs ? chosen.question.activity : [],
    session: chosen?.session ?? VISITOR,
    top_k: whole("top", 1, standing.max_memories),
    deadline_ms: whole("deadline", 1, standing.max_deadline_ms),
    ...(now ? { now: moment(now) } : {}),
  };
  // The text's lines are numbered, and so are the scene's memories.
  const relevant = new Set(asIs ? chosen.question.relevant : []);
  const expected = new Set(memories.filter((_, at) => relevant.has(chosen?.question.memories[at]?.id)).map(({ id }) => id));
  const rankers = [$("ranker").value, $("other").value].filter((name, at) => at === 0 || name);
  return { request, memories, expected, rankers };
}

function whole(id, least, most) {
  const value = Number($(id).value);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new Fault(id, "faultNumber", { name: say(id), least, most });
}

function moment(text) {
  const read_ = readMoment(text);
  if (!read_) throw new Fault("now", "faultNow");
  return read_;
}
