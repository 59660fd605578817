/**
 * Numbers, times, negations and names: what two texts must agree in to say the same.
 *
 * Python finds Chinese names by jieba's tags. Without them, two Chinese texts must not differ by any character
 * but fillers and the question words: some rewordings stay that Python would drop, and no name is lost.
 */

import { INSISTED, NEGATIONS, NO_NAMES, PATTERNS } from "../generated/lexicon.js";
import { HAN, STOPWORDS, fold, remembered, stem } from "./words.js";

const CHINESE = "\\u3400-\\u9fff\\uf900-\\ufaff";
const LATIN = new RegExp(
  `\\p{Nd}+|(?:(?![\\p{Nd}${CHINESE}])[\\p{L}\\p{N}])+(?:['’][a-zA-Z]+)?`,
  "gu",
);
const PARTICULARS = new RegExp(PATTERNS.chineseParticulars, "gu");
const FILLERS = new RegExp(PATTERNS.chineseFillers, "gu");
const NUMBER = /^\p{Nd}+$/u;
const CAPITAL = /^\p{Lu}/u;
const NEGATION = "not";
const negations: ReadonlySet<string> = new Set(NEGATIONS);
const insisted: ReadonlySet<string> = new Set(INSISTED);
const noNames: ReadonlySet<string> = new Set(NO_NAMES);

interface Particulars {
  /** Latin words and numbers that the other text must have. */
  readonly words: ReadonlySet<string>;
  /** Chinese strings that the other text must contain. */
  readonly strings: readonly string[];
  /** Every Latin word and number. */
  readonly said: ReadonlySet<string>;
  /** Chinese characters but for fillers, sorted. */
  readonly characters: string;
  readonly text: string;
}

/** Whether each text says every number, time, negation and name that the other insists on. */
export function sameParticulars(one: string, other: string): boolean {
  const [first, second] = [particulars(one), particulars(other)];
  return first.characters === second.characters && says(first, second) && says(second, first);
}

function says(speaker: Particulars, wanted: Particulars): boolean {
  for (const word of wanted.words) if (!speaker.said.has(word)) return false;
  return wanted.strings.every((one) => speaker.text.includes(one));
}

const particulars = remembered((given): Particulars => {
  const text = given.normalize("NFKC");
  const words = new Set<string>();
  const said = new Set<string>();
  for (const [form] of text.matchAll(LATIN)) {
    const base = baseOf(form);
    said.add(base);
    if (insists(form, base)) words.add(base);
  }
  const chinese = HAN.test(text);
  return {
    words,
    said,
    text,
    strings: chinese ? Array.from(text.matchAll(PARTICULARS), ([found]) => found) : [],
    characters: chinese ? characters(text) : "",
  };
});

function characters(text: string): string {
  const plain = Array.from(fold(text).replace(FILLERS, ""));
  return plain
    .filter((one) => HAN.test(one) && !STOPWORDS.has(one))
    .sort()
    .join("");
}

function baseOf(form: string): string {
  const word = form.toLowerCase().replace("’", "'");
  if (negations.has(word) || word.endsWith("n't")) return NEGATION;
  return stem(word.replace(/'s$/, ""));
}

function insists(form: string, base: string): boolean {
  if (base === NEGATION || insisted.has(base) || NUMBER.test(form)) return true;
  // A sentence's first word may only look like a name; if the other text has it not, better keep both.
  return CAPITAL.test(form) && !STOPWORDS.has(form.toLowerCase()) && !noNames.has(base) && !base.includes("'");
}
