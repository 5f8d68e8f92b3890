import {
  COMMAND_WEBHOOK_KINDS,
  type WebhookDisabledReason,
  type WebhookEndpoint,
  type WebhookKind,
} from "@kapi/contracts";
import { type SealedPassword, toIso } from "@kapi/kernel";

/** How long the secret before a rotation signs along (decisions, 11). */
export const OLD_SECRET_MS = 24 * 3_600_000;
/** An endpoint that only failed for so long is disabled (decisions, 11). */
export const FAILING_LIMIT_MS = 5 * 24 * 3_600_000;

const COMMAND_KINDS: ReadonlySet<WebhookKind> = new Set(COMMAND_WEBHOOK_KINDS);

/** An endpoint as it is kept. Times in milliseconds since 1970. */
export interface Endpoint {
  readonly id: string;
  readonly organizationId: string;
  readonly url: string;
  readonly description: string;
  readonly kinds: readonly WebhookKind[] | null;
  readonly serverIds: readonly string[] | null;
  readonly status: "enabled" | "disabled";
  readonly disabledReason: WebhookDisabledReason | null;
  readonly secret: SealedPassword;
  readonly previousSecret: SealedPassword | null;
  readonly previousUntilMs: number | null;
  readonly failingSinceMs: number | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/**
 * Whether an event of `kind` is one of a command, which is recorded only where an endpoint asks for
 * it.
 */
export function isCommandKind(kind: WebhookKind): boolean {
  return COMMAND_KINDS.has(kind);
}

/** Whether the endpoint takes events of `kind`; null means all but those of commands. */
export function takesKind({ kinds }: Pick<Endpoint, "kinds">, kind: WebhookKind): boolean {
  return kinds === null ? !isCommandKind(kind) : kinds.includes(kind);
}

/** Whether the endpoint takes events of a server; what is of no server is for every endpoint. */
export function takesServer({ serverIds }: Pick<Endpoint, "serverIds">, serverId: string | null): boolean {
  return serverIds === null || serverId === null || serverIds.includes(serverId);
}

/** An endpoint as the API shows it: never its secret. */
export function toWire(endpoint: Endpoint): WebhookEndpoint {
  const { id, url, description, kinds, serverIds, status, disabledReason, failingSinceMs, createdAtMs, updatedAtMs } =
    endpoint;
  return {
    id,
    url,
    description,
    kinds: kinds === null ? null : [...kinds],
    serverIds: serverIds === null ? null : [...serverIds],
    status,
    disabledReason,
    failingSince: failingSinceMs === null ? null : toIso(failingSinceMs),
    createdAt: toIso(createdAtMs),
    updatedAt: toIso(updatedAtMs),
  };
}
