import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { guessKind } from "../src/prefilter/kinds.js";
import { keywords, stem } from "../src/prefilter/words.js";
import { clean, cut } from "../src/text.js";
import { vectors } from "./vectors.js";

const words = vectors<{
  terms: { text: string; terms: Record<string, number> }[];
  stems: Record<string, string>;
  kinds: Record<string, string>;
  clean: { text: string; clean: string }[];
  cut: { text: string; limit: number; cut: string; was_cut: boolean }[];
}>("words");

describe("words", () => {
  it("are the terms that Python finds in English texts", () => {
    assert.ok(words.terms.length > 100);
    for (const { text, terms } of words.terms) {
      assert.deepEqual(Object.fromEntries([...keywords(text).counts].sort()), terms, text);
    }
  });

  it("have Python's stems", () => {
    for (const [word, expected] of Object.entries(words.stems)) assert.equal(stem(word), expected, word);
  });

  it("tell Python's kinds in both languages", () => {
    assert.ok(Object.keys(words.kinds).length > 300);
    for (const [text, kind] of Object.entries(words.kinds)) assert.equal(guessKind(text), kind, text);
  });

  it("of Chinese are found with their characters", () => {
    // Given a question and a memory that share two words
    const [asked, held] = ["我下周三要去哪出差？", "周三到上海出差"].map((text) => keywords(text).counts);
    // Then, and no word of a question's form counts
    const shared = [...(asked?.keys() ?? [])].filter((term) => held?.has(term));
    assert.deepEqual(shared.sort(), ["三", "出", "出差", "周", "周三", "差"].sort());
    assert.equal(keywords("你是什么？").length, 0);
  });

  it("that name what every object has are words like others", () => {
    assert.equal(stem("constructor"), "constructor");
    assert.deepEqual([...keywords("toString constructor").counts.keys()], ["tostr", "constructor"]);
  });
});

describe("text", () => {
  it("is cleaned as in Python", () => {
    for (const one of words.clean) assert.equal(clean(one.text), one.clean);
    assert.equal(clean("a\ud800b😀"), "a\ufffdb😀");
  });

  it("is cut as in Python, by code points", () => {
    for (const one of words.cut) assert.deepEqual(cut(one.text, one.limit), [one.cut, one.was_cut], one.text);
  });
});
