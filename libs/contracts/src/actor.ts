import { z } from "zod";

/** What can cause a change: a management key, a user of the console, kapi itself. */
export const ACTOR_TYPES = ["key", "user", "system"] as const;
const MAX_ACTOR_ID_CHARACTERS = 64;
/** Enough for every network address: an IPv6 address has at most 45 characters. */
const MAX_ADDRESS_CHARACTERS = 64;

export const ActorType = z.enum(ACTOR_TYPES);

/** Who caused a command, a billed request or a transaction (decisions, 3.3). */
export const Actor = z.object({
  type: ActorType,
  /** The key id of a key, the id of a user, or for `system` a part of kapi, such as `risk`. */
  id: z.string().min(1).max(MAX_ACTOR_ID_CHARACTERS),
});
export type Actor = z.infer<typeof Actor>;

/** kapi, acting on the breach of a risk rule. Its command has the breach's id as request id. */
export const RISK_ACTOR = { type: "system", id: "risk" } as const satisfies Actor;

/**
 * The field `createdBy`. Null or absent if nobody requested the change through kapi, or if an
 * earlier release recorded the change.
 */
export const CreatedBy = Actor.nullable().optional();

/**
 * The field `createdBy` in messages between services. An unreadable actor, for example from a later
 * release, is dropped: the actor must never invalidate the message.
 */
export const MessageCreatedBy = CreatedBy.catch(undefined);

/** An actor as text for tables: `<type>/<id>`. */
export function actorToText(actor: Actor | null | undefined): string | null {
  return actor === null || actor === undefined ? null : `${actor.type}/${actor.id}`;
}

/** Parses the text of an actor; null for null, a malformed text or an unknown type. */
export function actorFromText(text: string | null): Actor | null {
  if (text === null) return null;
  const slash = text.indexOf("/");
  if (slash < 0) return null;
  const parsed = Actor.safeParse({ type: text.slice(0, slash), id: text.slice(slash + 1) });
  return parsed.success ? parsed.data : null;
}

/**
 * The network address of the request that queued a command, in the messages of the command. The
 * audit log shows it. Absent if the audit log does not record such a command, or if an earlier
 * release sent the message. Null if the address is unknown or unreadable: the address must never
 * invalidate the message.
 */
export const CallerAddress = z.string().max(MAX_ADDRESS_CHARACTERS).nullable().optional().catch(null);
