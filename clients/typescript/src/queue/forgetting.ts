/** Taking memories out of the prompts that workers keep for a user's sessions. */

import { NotForgotten } from "../errors.js";
import { MAX_DEADLINE_MS } from "../generated/constants.js";
import { decksKey, forgottenKey } from "../protocol/keys.js";
import { type Link, tell } from "./link.js";

/**
 * Drop every deck of the user, and keep these memories out of new ones until no job can hold them.
 *
 * First the ids are noted, then the decks are dropped: a turn in between cannot put one back. Throws
 * `NotForgotten`.
 */
export async function forget(link: Link, queue: string, user: string, memories: readonly string[]): Promise<void> {
  const noted = forgottenKey(queue, user);
  try {
    await link.command("SADD", noted, ...memories);
    await link.command("EXPIRE", noted, MAX_DEADLINE_MS / 1e3);
    const decks = (await link.command("SMEMBERS", decksKey(queue, user))) as string[];
    if (decks.length) await link.command("DEL", ...decks);
  } catch (fault) {
    throw new NotForgotten(`Redis could not be told (${tell(fault)}): ask again`);
  }
}
