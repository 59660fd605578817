/** A wait that can be ended early. */

export class Waking {
  #wake: (() => void) | null = null;
  #isSet = false;

  /** End the wait that is on, or else the next one at once. */
  set(): void {
    this.#isSet = true;
    this.#wake?.();
  }

  clear(): void {
    this.#isSet = false;
  }

  /** Wait until it is set, at most so many milliseconds. */
  async wait(ms: number): Promise<void> {
    if (this.#isSet) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = null;
  }
}
