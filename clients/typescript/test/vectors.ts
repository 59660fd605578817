/** The files that all languages share; build/test/ is three folders below clients/. */

import { readFileSync } from "node:fs";

const at = (path: string): URL => new URL(`../../../${path}`, import.meta.url);

export function vectors<T>(name: string): T {
  return JSON.parse(readFileSync(at(`protocol/vectors/${name}.json`), "utf8")) as T;
}

/** Rows of tests/data/NAME.jsonl. */
export function rows<T>(name: string): T[] {
  const lines = readFileSync(at(`../tests/data/${name}.jsonl`), "utf8").split("\n");
  return lines.filter((line) => line.trim()).map((line) => JSON.parse(line) as T);
}

export interface Named {
  readonly name: string;
}
