/**
 * Sealed payloads: AES-256-GCM over what would travel clear, in the fields `key` and `sealed` (base64 of nonce,
 * ciphertext and tag). The associated data is `memsift/1`, the direction, the key id and the job id, with zero
 * bytes between them.
 */

import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { SettingsError } from "../errors.js";
import { WIRE_VERSION } from "../generated/constants.js";
import { Unreadable, checkVersion, parseObject } from "./reply.js";

type Direction = "job" | "reply";

const CIPHER = "aes-256-gcm";
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_ID = /^[A-Za-z0-9_-]{1,32}$/;
const HEX = /^[0-9a-f]{64}$/i;
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

/** Seals with its first key and opens with all. */
export class KeyRing {
  readonly #keys: ReadonlyMap<string, Buffer>;
  readonly #first: string;

  /** @param setting `id:key,id:key`, each key 32 bytes in base64 (either alphabet) or hexadecimal. */
  constructor(setting: string) {
    const keys = new Map<string, Buffer>();
    setting.split(",").forEach((part, at) => {
      const [keyId = "", encoded = "", ...more] = part.trim().split(":");
      if (!KEY_ID.test(keyId) || more.length) {
        throw new SettingsError(`sealKeys: entry ${at + 1} must be id:key, the id of letters, digits, - and _`);
      }
      if (keys.has(keyId)) throw new SettingsError(`sealKeys: entry ${at + 1} has the id of an earlier one`);
      keys.set(keyId, key(encoded.trim(), at + 1));
    });
    this.#keys = keys;
    this.#first = keys.keys().next().value as string;
  }

  /** The `job` argument that may travel. */
  sealJob(encoded: string, jobId: string, replyTo: string): string {
    return JSON.stringify({ v: WIRE_VERSION, reply_to: replyTo, ...this.#seal(encoded, "job", jobId) });
  }

  /** What `decodeReply` can read. A refusal passes clear; throws `Unreadable`. */
  openReply(raw: string): string {
    const data = parseObject(raw);
    if (!("sealed" in data)) {
      if ("refusal" in data) return raw;
      throw new Unreadable("it is not sealed and sealKeys is set here: set MEMSIFT_SEAL_KEYS in the workers too");
    }
    checkVersion(data);
    return this.#open(data, "reply", String(data.id));
  }

  #seal(clear: string, direction: Direction, jobId: string): { key: string; sealed: string } {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#keys.get(this.#first) as Buffer, nonce);
    cipher.setAAD(bound(direction, this.#first, jobId));
    const box = Buffer.concat([nonce, cipher.update(clear, "utf8"), cipher.final(), cipher.getAuthTag()]);
    return { key: this.#first, sealed: box.toString("base64") };
  }

  #open(data: Record<string, unknown>, direction: Direction, jobId: string): string {
    const found = typeof data.key === "string" ? this.#keys.get(data.key) : undefined;
    if (!found) throw new Unreadable("it is sealed with a key that sealKeys does not hold");
    try {
      const box = Buffer.from(String(data.sealed), "base64");
      const cipher = createDecipheriv(CIPHER, found, box.subarray(0, NONCE_BYTES));
      cipher.setAAD(bound(direction, data.key as string, jobId));
      cipher.setAuthTag(box.subarray(-TAG_BYTES));
      const clear = cipher.update(box.subarray(NONCE_BYTES, -TAG_BYTES), undefined, "utf8");
      return clear + cipher.final("utf8");
    } catch {
      throw new Unreadable("it cannot be opened: changed on the way, or sealed with another key of that id");
    }
  }
}

/** A clear reply, for a process without keys; throws `Unreadable` for a sealed one. */
export function clearReply(raw: string): string {
  if (raw.includes('"sealed"') && "sealed" in parseObject(raw)) {
    throw new Unreadable("it is sealed: set sealKeys to the keys of the workers");
  }
  return raw;
}

function key(encoded: string, at: number): Buffer {
  const bytes = HEX.test(encoded)
    ? Buffer.from(encoded, "hex")
    : Buffer.from(BASE64.test(encoded) ? encoded : "", "base64"); // reads both alphabets
  if (bytes.length === KEY_BYTES) return bytes;
  throw new SettingsError(`sealKeys: the key of entry ${at} must be ${KEY_BYTES} bytes in base64 or hexadecimal`);
}

function bound(direction: Direction, keyId: string, jobId: string): Buffer {
  return Buffer.from(["memsift/1", direction, keyId, jobId].join("\0"));
}
