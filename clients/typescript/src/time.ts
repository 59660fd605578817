/** Moments with a time zone: "yesterday" means nothing without one. */

import { InvalidInput } from "./errors.js";

const ISO = /^(\d{4})-(\d\d)-(\d\d)[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/;

/** How a moment travels, and the same in Unix milliseconds; throws `InvalidInput`. */
export function instant(value: Date | string, place: string, or = ""): [iso: string, ms: number] {
  const text = value instanceof Date ? (Number.isFinite(value.getTime()) ? value.toISOString() : "") : value;
  const found = typeof text === "string" ? ISO.exec(text) : null;
  const ms = found ? Date.parse(text) : Number.NaN;
  if (found && Number.isFinite(ms) && isDay(Number(found[1]), Number(found[2]), Number(found[3]))) {
    return [text, ms];
  }
  const wanted = `a valid Date, or ISO 8601 text with a time zone such as 2026-03-18T09:00:00+01:00`;
  throw new InvalidInput(`${place}: must be ${wanted}${or ? `, ${or}` : ""}`);
}

/** JavaScript takes 30 February for 2 March. */
function isDay(year: number, month: number, day: number): boolean {
  const date = new Date(Date.UTC(year, month - 1, day));
  return year > 0 && date.getUTCMonth() === month - 1;
}
