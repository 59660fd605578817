/** Names of the Redis keys; all begin with the queue's name. */

export const breakerKey = (queue: string): string => `${queue}:breaker`;
export const cancelKey = (queue: string, jobId: string): string => `${queue}:cancel:${jobId}`;
export const ownKey = (queue: string, runtime: string): string => `${queue}:own:${runtime}`;
export const replyKey = (queue: string, name: string): string => `${queue}:reply:${name}`;
export const workerKey = (queue: string, hostname: string): string => `${queue}:worker:${hostname}`;
export const workersKey = (queue: string): string => `${queue}:workers`;
