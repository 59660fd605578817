/** How this process reaches Redis: short timeouts, and no retries that would outlast a deadline. */

import { createHash } from "node:crypto";
import type { ConnectionOptions } from "node:tls";
import { createClient } from "@redis/client";
import { SettingsError } from "../errors.js";
import { CONNECT_TIMEOUT_MS, SOCKET_TIMEOUT_MS } from "../generated/constants.js";
import { Waking } from "./waking.js";

/** The first calls wait this long for Redis; after that the prefilter answers until it comes. */
export const OPEN_WAIT_MS = 1_000;
const FIRST_PAUSE_MS = 50;
const MOST_PAUSE_MS = 1_000;
const ERROR_CODE = /^[A-Z]{3,}\b/;

type Argument = string | number;

/** One connection, opened in the background and opened anew whenever it is lost. */
export class Link {
  readonly #client;
  readonly #hashes = new Map<string, string>();
  readonly #change = new Waking();
  #closed = false;

  constructor(url: string, tls: ConnectionOptions | undefined) {
    this.#client = client(url, tls);
    this.#client.on("error", () => undefined); // each command tells of its own
    this.#client.on("ready", () => this.#change.set());
    this.#client.connect().catch(() => undefined);
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Wait until the first connection stands, at most this long. */
  async opened(ms: number): Promise<void> {
    if (!this.#client.isReady) await this.pause(ms);
  }

  /** Wait after a fault; ends early when a connection stands again, or none ever will. For one waiter. */
  async pause(ms: number): Promise<void> {
    this.#change.clear();
    if (!this.#closed) await this.#change.wait(ms);
  }

  /** Run one command; rejects while the server is away. */
  command(...parts: Argument[]): Promise<unknown> {
    return this.#client.sendCommand(parts.map(String));
  }

  /** Run a script; rejects while the server is away. */
  async script(source: string, keys: readonly string[], ...rest: Argument[]): Promise<unknown> {
    const hash = this.#hashes.get(source) ?? createHash("sha1").update(source).digest("hex");
    this.#hashes.set(source, hash);
    try {
      return await this.command("EVALSHA", hash, keys.length, ...keys, ...rest);
    } catch (fault) {
      if (!(fault instanceof Error && fault.message.startsWith("NOSCRIPT"))) throw fault;
      return this.command("EVAL", source, keys.length, ...keys, ...rest);
    }
  }

  /** Close it at once; what is under way rejects. */
  close(): void {
    this.#closed = true;
    this.#change.set();
    this.#client.destroy();
  }
}

/** Throws `SettingsError` for a URL that cannot be read. */
function client(url: string, tls: ConnectionOptions | undefined) {
  const limits = {
    connectTimeout: CONNECT_TIMEOUT_MS,
    // Something comes every second, so a silent connection is half-open.
    socketTimeout: SOCKET_TIMEOUT_MS,
    reconnectStrategy: pauseMs,
  };
  try {
    const { protocol, pathname } = new URL(url);
    const unix = protocol === "unix:";
    const secure = protocol === "rediss:" ? { ...tls, tls: true as const } : {};
    return createClient({
      ...(unix ? {} : { url }),
      name: "memsift-producer",
      RESP: 2,
      socket: unix ? { ...limits, path: pathname, tls: false as const } : { ...limits, ...secure },
      disableOfflineQueue: true,
      disableClientInfo: true,
      maintNotifications: "disabled",
    });
  } catch {
    // The URL may hold a password, and the error it.
    throw new SettingsError("url: must be redis://[user:password@]host[:port][/number], or unix:///path");
  }
}

/** How long to wait before the next try: doubled after each fault, so that none becomes a busy loop. */
export function pauseMs(faults: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** faults, MOST_PAUSE_MS);
}

/** A fault's type and Redis's own error code. Its message may quote what was sent. */
export function tell(fault: unknown): string {
  if (!(fault instanceof Error)) return "unknown fault";
  const code = ERROR_CODE.exec(fault.message)?.[0] ?? ("code" in fault ? String(fault.code) : "");
  const name = fault.constructor.name; // the Redis client's errors have no other
  return code ? `${name} ${code}` : name;
}
