/** Names of the Redis keys; all begin with the queue's name. */

import { blake2b } from "./blake2b.js";

export const breakerKey = (queue: string): string => `${queue}:breaker`;
export const cancelKey = (queue: string, jobId: string): string => `${queue}:cancel:${jobId}`;
export const decksKey = (queue: string, user: string): string => `${queue}:decks:${digest(user)}`;
export const forgottenKey = (queue: string, user: string): string => `${queue}:forgotten:${digest(user)}`;
export const ownKey = (queue: string, runtime: string): string => `${queue}:own:${runtime}`;
export const replyKey = (queue: string, name: string): string => `${queue}:reply:${name}`;
export const workerKey = (queue: string, hostname: string): string => `${queue}:worker:${hostname}`;
export const workersKey = (queue: string): string => `${queue}:workers`;

/** Names of users may say who somebody is, and keys show up in logs of slow commands. */
function digest(name: string): string {
  return blake2b(name, 12);
}
