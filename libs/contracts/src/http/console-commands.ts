/** The commands of a server as the console finds them, and the names of who requested them. */
import { z } from "zod";

import { actorFromText } from "../actor.ts";
import { Command, ListCommandsQuery } from "./commands.ts";

/** Maximum number of actors per request for names. */
export const MAX_NAMED_ACTORS = 100;
/** The longest text of an actor: its type, a slash and its id. */
const MAX_ACTOR_CHARACTERS = 71;
const AMOUNT = /^\d{1,12}(?:\.\d{1,2})?$/;

const ActorText = z
  .string()
  .max(MAX_ACTOR_CHARACTERS)
  .refine((text) => actorFromText(text) !== null, "must be <type>/<id>, such as key/mfrggzdfmztwq2lk");

/**
 * Query of GET /servers/:serverId/commands of the console. With `by` or `amount` the console reads
 * 100 commands at a time, and compares each of them. After each read the page ends if it has at
 * least `limit` commands. So a page may have more than `limit` commands. A page has fewer at the
 * end of the list, or if the search stopped at its maximum number of reads.
 */
export const ConsoleCommandsQuery = ListCommandsQuery.extend({
  /** Who requested the command: `key/<id>`, `user/<id>` or `system/risk`. */
  by: ActorText.optional(),
  /** The `amount` of the command's payload, in units of currency. */
  amount: z
    .string()
    .regex(AMOUNT, "must be an amount with at most two decimals")
    .transform((text) => Number(text))
    .optional(),
});
export type ConsoleCommandsQuery = z.infer<typeof ConsoleCommandsQuery>;

/** Answer if `by` or `amount` is given. */
export const FoundCommandsAnswer = z.object({
  commands: z.array(Command),
  /** The next page; null at the end of the list. */
  nextCursor: z.string().nullable(),
  /** `createdAt` of the last compared command; null at the end of the list. */
  searchedTo: z.iso.datetime().nullable(),
});
export type FoundCommandsAnswer = z.infer<typeof FoundCommandsAnswer>;

/** Query of GET /actors: actors as texts, separated by commas. */
export const ActorNamesQuery = z.object({
  actors: z
    .string()
    .max(MAX_NAMED_ACTORS * (MAX_ACTOR_CHARACTERS + 1))
    .transform((text) => text.split(","))
    .pipe(z.array(ActorText).max(MAX_NAMED_ACTORS)),
});
/** Names by the text of the actor. Unknown actors, also of other organizations, are left out. */
export const ActorNamesAnswer = z.object({ names: z.record(z.string(), z.string()) });
export type ActorNamesAnswer = z.infer<typeof ActorNamesAnswer>;
