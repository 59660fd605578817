/** The Redis server's clock, kept as an offset to this process's monotonic one: deadlines are written in it. */

/** Milliseconds that never go back. */
export function monotonic(): number {
  return performance.now();
}

export class ServerClock {
  #offset = performance.timeOrigin;

  /** Unix milliseconds on the server's clock, as of the last `measured`. */
  now(): number {
    return monotonic() + this.#offset;
  }

  /** Take over one reading of Redis `TIME`: seconds and microseconds, as if from the middle of the round trip. */
  measured([seconds, microseconds]: readonly [string, string], sent: number, received: number): void {
    this.#offset = Number(seconds) * 1e3 + Number(microseconds) / 1e3 - (sent + received) / 2;
  }
}
