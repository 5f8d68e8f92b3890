/** The actor of a change: a key, a person, or kapi itself. */
import { useApi } from "../api/context.ts";
import type { Actor } from "../api/shapes.ts";
import { useData } from "./use-data.ts";
import { Nothing } from "./values.tsx";

/** Names of actors, by {@link actorText}. */
export type ActorNames = Readonly<Record<string, string>>;

const NO_NAMES: ActorNames = {};
const WORDS: Readonly<Record<Actor["type"], string>> = { key: "key", user: "person", system: "kapi" };

/** The text of an actor in the URL and in requests: `key/<id>`, `user/<id>`, `system/<id>`. */
export function actorText({ type, id }: Actor): string {
  return `${type}/${id}`;
}

/** The known names of the actors of a list, read in one request. */
export function useActorNames(actors: readonly (Actor | null | undefined)[]): ActorNames {
  const api = useApi();
  const named = actors.filter((actor) => actor !== null && actor !== undefined && actor.type !== "system");
  const texts = [...new Set(named.map((actor) => actorText(actor as Actor)))].toSorted();
  const names = useData(texts.join(","), (signal) =>
    texts.length === 0 ? Promise.resolve(NO_NAMES) : api.actorNames(texts, signal),
  );
  return names.value ?? NO_NAMES;
}

interface ActorNameProps {
  readonly of: Actor | null | undefined;
  readonly names: ActorNames;
}

/**
 * The name of an actor and its type: "Ada (person)". If the name is unknown, the id and the type.
 * For kapi: "kapi (risk)".
 */
export function ActorName({ of: actor, names }: ActorNameProps) {
  if (actor === null || actor === undefined) return <Nothing />;
  if (actor.type === "system") return <>kapi ({actor.id})</>;
  const name = names[actorText(actor)];
  return (
    <span title={actor.id}>
      {name ?? <code>{actor.id}</code>} <span class="quiet">({WORDS[actor.type]})</span>
    </span>
  );
}
