// What the page asks of the gateway that served it. The key stays in this variable.

let key = "";

export const useKey = (given) => {
  key = given.trim();
};

/** A call that was refused; `status` 0 where nobody answers. */
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export const standing = () => ask("state");
export const scenes = () => ask("scenes");

/** Rank memories; closing the connection by the signal takes the job back. */
export const rank = (request, signal) =>
  ask("rank", {
    method: "POST",
    body: JSON.stringify(request),
    headers: { "content-type": "application/json" },
    signal,
  });

async function ask(path, { headers = {}, ...options } = {}) {
  const shown = key ? { ...headers, authorization: `Bearer ${key}` } : headers;
  let answer;
  try {
    answer = await fetch(path, { ...options, headers: shown, cache: "no-store", credentials: "omit" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "");
  }
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, told.error?.message ?? String(answer.status));
  return told;
}
