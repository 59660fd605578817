// Writes the types of what travels from the JSON schemas: src/generated/job.ts and reply.ts.
import { readFile, writeFile } from "node:fs/promises";
import { compile } from "json-schema-to-typescript";

const HEAD = "// Generated from clients/protocol/*.schema.json by `npm run generate`; do not edit.";
export const NAMES = ["job", "reply"];

const here = (path) => new URL(path, import.meta.url);

/** The text of src/generated/NAME.ts. */
export async function types(name) {
  const schema = JSON.parse(await readFile(here(`../../protocol/${name}.schema.json`), "utf8"));
  return compile(schema, name, {
    bannerComment: HEAD,
    additionalProperties: false, // those of the future are ignored
    ignoreMinAndMaxItems: true,
    style: { printWidth: 110 },
  });
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  for (const name of NAMES) await writeFile(here(`../src/generated/${name}.ts`), await types(name));
}
