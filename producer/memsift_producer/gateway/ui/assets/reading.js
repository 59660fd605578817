// From what people type to what a gateway takes, and back.

/** What is wrong with the form: a key of the words, and the field. */
export class Fault extends Error {
  constructor(field, key, values = {}) {
    super(key);
    Object.assign(this, { field, key, values });
  }
}

// Only these go to the gateway; whatever else a paste holds stays here.
const FIELDS = ["id", "text", "created_at", "kind", "similarity", "embedding"];
const LINE =
  /^(?:[-*•]\s+)?(?:(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(:\d{2}(?:\.\d+)?)?\s?(Z|[+-]\d{2}:?\d{2})?)?\s+)?(?:~(-?\d+(?:\.\d+)?)\s+)?(.+)$/i;
const SPEAKERS = [
  ["user", /^(?:user|u|用户|我)\s*[:：]\s*/i],
  ["assistant", /^(?:assistant|a|ai|助手|助理)\s*[:：]\s*/i],
];

/** Memories of a text: lines, JSON lines, a JSON list, or a whole request in the native form. */
export function readMemories(text) {
  const json = readJson(text.trim());
  if (json === null) return lines(text).map(readLine);
  const list = Array.isArray(json) ? json : (json.candidates ?? json.memories ?? [json]);
  return list.map((one, at) => {
    const memory = typeof one === "string" ? { text: one } : { ...one };
    if (typeof memory.text !== "string" || !memory.text.trim()) throw new Fault("memories", "faultText", { n: at + 1 });
    return { id: `m${at + 1}`, created_at: null, ...pick(memory) };
  });
}

/** The rest of a request in the native form that was pasted whole; null for anything else. */
export function readRequest(text) {
  let json;
  try {
    json = JSON.parse(text);
  } catch {
    return null;
  }
  return json && typeof json.query === "string" && (json.candidates ?? json.memories) ? json : null;
}

/** Turns of a text; a line that does not say whose it is alternates. */
export function readTurns(text) {
  const turns = [];
  for (const line of lines(text)) {
    const said = SPEAKERS.find(([, mark]) => mark.test(line));
    const role = said?.[0] ?? (turns.at(-1)?.role === "user" ? "assistant" : "user");
    turns.push({ role, text: said ? line.replace(said[1], "") : line });
  }
  return turns.filter((turn) => turn.text.trim());
}

/** Memories as lines that `readMemories` reads; what lines cannot say makes JSON lines of them. */
export function writeMemories(memories) {
  const plain = memories.every((one) => !one.embedding && (one.kind ?? "unknown") === "unknown");
  if (!plain) return memories.map((one) => JSON.stringify(pick(one))).join("\n");
  return memories
    .map(({ created_at, similarity, text }) =>
      [created_at?.replace(/:00(?=[+-]|Z)/, ""), similarity == null ? null : `~${similarity}`, oneLine(text)]
        .filter((part) => part != null)
        .join(" "),
    )
    .join("\n");
}

/** Turns as lines that `readTurns` reads. */
export function writeTurns(turns, names) {
  return turns
    .filter((turn) => turn.text.trim())
    .map((turn) => `${names[turn.role]}: ${oneLine(turn.text)}`)
    .join("\n");
}

/** A moment with its zone, or null where it is none. */
export function readMoment(text) {
  const zoned = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?\s?(Z|[+-]\d{2}:?\d{2})$/i;
  return zoned.test(text) && !Number.isNaN(Date.parse(text.replace(" ", "T"))) ? text.replace(" ", "T") : null;
}

function readJson(text) {
  if (!/^(\[\s*[{"\]]|\{\s*")/.test(text)) return null;
  try {
    return JSON.parse(text);
  } catch (first) {
    try {
      return lines(text).map((line) => JSON.parse(line));
    } catch {
      throw new Fault("memories", "faultJson", { why: first.message });
    }
  }
}

function readLine(line, at) {
  const [, date, time, seconds, zone, similarity, text] = LINE.exec(line) ?? [];
  const created_at = date ? moment(date, time, seconds, zone) : null;
  // What only looks like a date is text.
  if (text === undefined || (date && !created_at)) return { id: `m${at + 1}`, text: line, created_at: null };
  const memory = { id: `m${at + 1}`, text, created_at };
  return similarity === undefined ? memory : { ...memory, similarity: Number(similarity) };
}

/** A time without a zone is this browser's; a day alone is its noon, which is that day in most zones. */
function moment(date, time = "12:00", seconds = ":00", zone = null) {
  const [year, month, day] = date.split("-").map(Number);
  const read = new Date(`${date}T${time}${seconds}${zone?.replace(/^([+-]\d{2})(\d{2})$/, "$1:$2") ?? ""}`);
  const real = new Date(Date.UTC(year, month - 1, day));
  if (Number.isNaN(read.getTime()) || real.getUTCMonth() !== month - 1 || real.getUTCDate() !== day) return null;
  return zone ? `${date}T${time}${seconds}${zone}` : `${date}T${time}${seconds}${offset(read)}`;
}

function offset(moment_) {
  const minutes = -moment_.getTimezoneOffset();
  const two = (n) => String(Math.floor(Math.abs(n))).padStart(2, "0");
  return `${minutes < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`;
}

const lines = (text) => text.split(/\r?\n/).map((line) => line.trim()).filter(Boolean);
const oneLine = (text) => text.replace(/\s+/g, " ").trim();
const pick = (memory) => Object.fromEntries(FIELDS.filter((name) => memory[name] != null).map((name) => [name, memory[name]]));
