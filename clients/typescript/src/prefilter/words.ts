/**
 * From text to terms, in Chinese and English.
 *
 * English is cut, stemmed and stopped exactly as in Python. Chinese words are those of `Intl.Segmenter` (ICU's
 * dictionary) where Python's are jieba's: both know the words of daily life, and cut some others differently.
 * The characters beside the words make up for most of it.
 */

import { BASE_FORMS, STOPWORDS as STOPPED } from "../generated/lexicon.js";

export const STOPWORDS: ReadonlySet<string> = new Set(STOPPED);
const HAN_CLASS = "\\u3400-\\u9fff\\uf900-\\ufaff\\u{20000}-\\u{3ffff}";
export const HAN = new RegExp(`[${HAN_CLASS}]`, "u");
const WORD = /[\p{L}\p{N}]+/gu;
const STRETCH = new RegExp(`[${HAN_CLASS}]+|[^${HAN_CLASS}]+`, "gu");
const BASE_FORM: ReadonlyMap<string, string> = new Map(Object.entries(BASE_FORMS));
const ENGLISH = /^[A-Za-z]+$/;
const SHORTEST_STEMMED = 4;
// The same memories come back with every turn.
const CACHED_TEXTS = 8192;

let segmenter: Intl.Segmenter | undefined;

/** How often each keyword of a text occurs, and how many there are, repeats included. */
export interface Keywords {
  readonly counts: ReadonlyMap<string, number>;
  readonly length: number;
}

/** One form for what reads alike: lower case, full-width letters and digits made plain (NFKC). */
export function fold(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}

/** Keywords of a text: stemmed English words; Chinese words and their single characters; no stopwords. */
export const keywords = remembered((text): Keywords => {
  const counts = new Map<string, number>();
  let length = 0;
  for (const word of words(fold(text))) {
    for (const term of termsOf(word)) {
      counts.set(term, (counts.get(term) ?? 0) + 1);
      length += 1;
    }
  }
  return { counts, length };
});

/** The stem of one lower-case English word; other words come back as they are. */
export function stem(word: string): string {
  const base = BASE_FORM.get(word) ?? word;
  if (base.length < SHORTEST_STEMMED || !ENGLISH.test(base)) return base;
  return withoutFinalE(withoutTense(singular(base)));
}

/** Remember what a function makes of the last 8192 texts. */
export function remembered<T>(make: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    const made = make(text);
    if (known.size >= CACHED_TEXTS) known.delete(known.keys().next().value as string);
    known.set(text, made);
    return made;
  };
}

function* words(folded: string): Iterable<string> {
  for (const [run] of folded.matchAll(WORD)) {
    if (!HAN.test(run)) {
      yield run;
      continue;
    }
    for (const [stretch] of run.matchAll(STRETCH)) {
      if (!HAN.test(stretch)) yield stretch;
      else {
        segmenter ??= new Intl.Segmenter("zh", { granularity: "word" });
        for (const { segment } of segmenter.segment(stretch)) yield segment;
      }
    }
  }
}

function termsOf(word: string): string[] {
  if (STOPWORDS.has(word)) return [];
  const characters = Array.from(word);
  if (characters.length === 1 || !HAN.test(characters[0] as string)) return [stem(word)];
  const told = characters.filter((one) => !STOPWORDS.has(one));
  // ICU makes one word of 你是, jieba two stopwords.
  return told.length ? [word, ...told] : [];
}

function singular(word: string): string {
  if (word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (/(?:[sxz]|ch|sh)es$/.test(word)) return word.slice(0, -2);
  return word.endsWith("s") && !/[us]s$/.test(word) ? word.slice(0, -1) : word;
}

function withoutTense(word: string): string {
  if (word.endsWith("ied")) return `${word.slice(0, -3)}y`;
  if (word.endsWith("ing") && word.length > "-ing".length + 1) return undoubled(word.slice(0, -3));
  if (word.endsWith("ed") && word.length > "-ed".length + 1) return undoubled(word.slice(0, -2));
  return word;
}

/** Running, planned: run, plan; but call, pass. */
function undoubled(word: string): string {
  const last = word.at(-1) ?? "";
  const doubled = word.length >= SHORTEST_STEMMED && last === word.at(-2) && last !== "l" && last !== "s";
  return doubled ? word.slice(0, -1) : word;
}

function withoutFinalE(word: string): string {
  return word.length > SHORTEST_STEMMED && word.endsWith("e") ? word.slice(0, -1) : word;
}
