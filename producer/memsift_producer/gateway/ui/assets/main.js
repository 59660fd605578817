// Joins form, gateway and results.

import { $ } from "./dom.js";
import * as form from "./form.js";
import * as gateway from "./gateway.js";
import { read } from "./outcome.js";
import { Fault } from "./reading.js";
import { results, told } from "./results.js";
import { choose, count, current, preferred, say } from "./words.js";

const LOOK_EVERY_MS = 5_000;
// With nobody on the queue the whole deadline would be waited for in vain; somebody may have come meanwhile.
const NOBODY_MS = 1_000;

let standing = null;
let trouble = null; // why nothing is known of the gateway, as a key of the words
let scenes = [];
let outcomes = [];
let stopped = null; // aborts what is under way

/** Ask the gateway how things stand. */
async function look() {
  try {
    standing = await gateway.standing();
    trouble = null;
  } catch (error) {
    if (!(error instanceof gateway.Refused)) throw error;
    trouble = error.status === 401 ? "locked" : "away";
  }
  tellStanding();
  if (standing) form.offerRankers(standing);
}

function tellStanding() {
  const key = trouble ?? whyNoModel();
  const text = key ? say(key) : [count("workers", standing.workers), ...standing.models].join(" · ");
  // What is the same is not said again.
  if ($("standing").textContent !== text) $("standing").textContent = text;
  $("standing").className = key ? "standing bad" : "standing good";
}

function whyNoModel() {
  if (!standing) return "looking";
  if (standing.cause === "redis_unavailable") return "noRedis";
  if (!standing.workers) return "noWorkers";
  return standing.cause ? "breakerOpen" : null;
}

async function start() {
  await look();
  $("key-field").hidden = trouble !== "locked";
  if (trouble) return;
  $("top").value ||= standing.top_k;
  $("deadline").value ||= standing.deadline_ms;
  scenes = await gateway.scenes().catch(() => []);
  form.offer(scenes);
}

async function rank() {
  showFault(null);
  let asked;
  try {
    if (!standing) throw new Fault("key", trouble ?? "away");
    asked = form.read(standing);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    showFault(error);
    return;
  }
  stopped?.abort();
  const mine = (stopped = new AbortController());
  busy(true);
  try {
    outcomes = await answers(asked, mine.signal);
    show();
  } catch (error) {
    if (mine === stopped) refused(error);
  } finally {
    if (mine === stopped) {
      stopped = null;
      busy(false);
    }
  }
}

/** One after the other, so that neither takes the other's time. */
async function answers({ request, memories, expected, rankers }, signal) {
  const found = [];
  for (const ranker of rankers) {
    $("told").textContent = say(found.length ? "askingAgain" : "asking", { ranker: ranker || say("workersDefault") });
    await look();
    const { workers, keys } = standing;
    // Without keys each ranker is asked for a user of its own: what one has read is not in the other's cache.
    const user = keys ? {} : { user: `${form.VISITOR}-${found.length}` };
    const deadline_ms = workers ? request.deadline_ms : Math.min(request.deadline_ms, NOBODY_MS);
    const answer = await gateway.rank({ ...request, ...user, deadline_ms, ...(ranker ? { ranker } : {}) }, signal);
    await look();
    found.push(read(answer, { memories, expected, ranker, workers: standing.workers }));
  }
  return found;
}

function refused(error) {
  if (error.name === "AbortError") {
    $("told").textContent = say("stopped");
    return;
  }
  if (!(error instanceof gateway.Refused)) throw error;
  $("told").textContent = "";
  if (error.status === 401) showFault(new Fault("key", "faultKey"));
  else if (error.status === 0) showFault(new Fault(null, "faultAway"));
  else showFault(new Fault(null, "faultRefused", { why: error.message }));
}

function show() {
  $("shown").replaceChildren(results(outcomes));
  $("told").textContent = told(outcomes);
  const { top, bottom } = $("results-title").getBoundingClientRect();
  if (outcomes.length && (top < 0 || bottom > innerHeight)) $("results-title").scrollIntoView();
}

function busy(is) {
  $("results").setAttribute("aria-busy", String(is));
  $("stop").hidden = !is;
  document.body.classList.toggle("busy", is);
  if (!is && document.activeElement === document.body) $("rank").focus();
}

function showFault(fault) {
  for (const node of document.querySelectorAll("[aria-invalid]")) node.removeAttribute("aria-invalid");
  $("fault").textContent = fault ? say(fault.message, fault.values) : "";
  const field = fault?.field && $(fault.field);
  if (!field) return;
  field.closest("details")?.setAttribute("open", "");
  if (fault.field === "key" && trouble !== "away") $("key-field").hidden = false;
  field.setAttribute("aria-invalid", "true");
  field.focus();
}

function speak(language) {
  choose(language);
  tellStanding();
  if (standing) form.offerRankers(standing);
  form.offer(scenes);
  form.countMemories();
  $("fault").textContent = "";
  show();
}

async function unlock() {
  gateway.useKey($("key").value);
  showFault(null);
  await start();
  if (trouble === "locked") showFault(new Fault("key", "faultKey"));
  else $("query").focus();
}

for (const button of document.querySelectorAll("[data-language]")) {
  button.addEventListener("click", () => {
    const address = new URL(location.href);
    address.searchParams.set("lang", button.dataset.language);
    history.replaceState(null, "", address);
    if (button.dataset.language !== current()) speak(button.dataset.language);
  });
}
$("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  if (document.activeElement === $("key")) unlock();
  else rank();
});
$("ask").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) rank();
});
$("stop").addEventListener("click", () => stopped?.abort());
$("unlock").addEventListener("click", unlock);
$("scene").addEventListener("change", form.takeScene);
$("memories").addEventListener("input", form.countMemories);
$("memories").addEventListener("paste", (event) => {
  if (form.takePaste(event.clipboardData?.getData("text/plain") ?? "")) event.preventDefault();
});

speak(preferred());
await start();
setInterval(() => document.hidden || stopped || look(), LOOK_EVERY_MS);
