import { z } from "zod";

/** What can cause a change: a management key, a person in the console, kapi itself. */
export const ACTOR_TYPES = ["key", "user", "system"] as const;
const MAX_ACTOR_ID_CHARACTERS = 64;
/** An IPv6 address has 45 at most. */
const MAX_ADDRESS_CHARACTERS = 64;

/** Who caused a command, a billed request or a transaction (decisions, 3.3). */
export const Actor = z.object({
  type: z.enum(ACTOR_TYPES),
  /** Of a key its key id, of a person the user id. */
  id: z.string().min(1).max(MAX_ACTOR_ID_CHARACTERS),
});
export type Actor = z.infer<typeof Actor>;

/**
 * The field `createdBy`. Null or absent: nobody asked for it through kapi, or an earlier release
 * recorded it.
 */
export const CreatedBy = Actor.nullable().optional();

/**
 * The same in messages between services. What cannot be read, such as the actor of a later release,
 * is left out: it must never stop the message.
 */
export const MessageCreatedBy = CreatedBy.catch(undefined);

/** An actor as tables keep it: `<type>/<id>`. */
export function actorToText(actor: Actor | null | undefined): string | null {
  return actor === null || actor === undefined ? null : `${actor.type}/${actor.id}`;
}

/** The actor of a text; null for null, and for a type that this release does not know. */
export function actorFromText(text: string | null): Actor | null {
  if (text === null) return null;
  const slash = text.indexOf("/");
  const parsed = Actor.safeParse({ type: text.slice(0, slash), id: text.slice(slash + 1) });
  return parsed.success ? parsed.data : null;
}

/**
 * The network address that a request came from, in messages of what the audit log records. Absent
 * or null: not known, not readable, or of no interest. It must never stop the message.
 */
export const CallerAddress = z.string().max(MAX_ADDRESS_CHARACTERS).nullable().optional().catch(null);
