import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { describe, it } from "node:test";

const PACKAGE = new URL("../../", import.meta.url);

describe("the types of what travels", async () => {
  const { NAMES, types } = await import(new URL("scripts/types.js", PACKAGE).href);
  for (const name of NAMES as string[]) {
    it(`are those of the schema of a ${name}`, async () => {
      const written = readFileSync(new URL(`src/generated/${name}.ts`, PACKAGE), "utf8");
      assert.equal(written, await types(name), "run `npm run generate`");
    });
  }
});

describe("the package", () => {
  const manifest = JSON.parse(readFileSync(new URL("package.json", PACKAGE), "utf8"));

  it("can be imported by its name, and shows its types", async () => {
    const found = await import(manifest.name);
    assert.deepEqual(Object.keys(found).sort(), [
      "InvalidInput",
      "JobTooLarge",
      "NotForgotten",
      "Reranker",
      "Reranking",
      "SettingsError",
    ]);
    const types = readFileSync(new URL(manifest.exports["."].types, PACKAGE), "utf8");
    assert.match(types, /export \{ Reranker \}/);
  });

  it("needs nothing but a Redis client", () => {
    assert.deepEqual(Object.keys(manifest.dependencies), ["@redis/client"]);
  });

  it("has files that hold one idea each", () => {
    const names = ["src", "test"].flatMap((folder) => {
      return readdirSync(new URL(folder, PACKAGE), { recursive: true }).map((name) => `${folder}/${name}`);
    });
    const files = names.filter((name) => name.endsWith(".ts"));
    assert.ok(files.length > 40);
    for (const name of files) {
      const lines = readFileSync(new URL(name, PACKAGE), "utf8").split("\n");
      assert.ok(lines.length <= 300, `${name} has ${lines.length} lines`);
    }
  });

  it("names no registry in its lock", () => {
    const lock = readFileSync(new URL("package-lock.json", PACKAGE), "utf8");
    assert.doesNotMatch(lock, /"resolved"/);
  });
});
