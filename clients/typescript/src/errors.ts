/** What a caller did wrong, said without any memory text. Operational faults do not throw, but for one. */

/** An argument is wrong: the same call can never succeed. Names the place and the remedy, never the text. */
export class InvalidInput extends Error {
  override name = "InvalidInput";
}

/** The encoded job is over 256 KiB: send fewer or shorter memories or turns. */
export class JobTooLarge extends InvalidInput {
  override name = "JobTooLarge";
}

/** A setting is wrong; the message begins with its name. */
export class SettingsError extends Error {
  override name = "SettingsError";
}

/** Memories may still be in a session's prompt: ask again. */
export class NotForgotten extends Error {
  override name = "NotForgotten";
}
