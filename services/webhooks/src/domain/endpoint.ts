import {
  COMMAND_WEBHOOK_KINDS,
  type WebhookDisabledReason,
  type WebhookEndpoint,
  type WebhookKind,
} from "@kapi/contracts";
import { type SealedPassword, toIso } from "@kapi/kernel";

/** How long the previous secret still signs after a rotation (decisions, 11). */
export const OLD_SECRET_MS = 24 * 3_600_000;
/** An endpoint is disabled after failing for this long without a success (decisions, 11). */
export const FAILING_LIMIT_MS = 5 * 24 * 3_600_000;

const COMMAND_KINDS: ReadonlySet<WebhookKind> = new Set(COMMAND_WEBHOOK_KINDS);

/** A stored endpoint. Times in milliseconds since 1970. */
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
 * Whether `kind` is a command event. Command events are recorded only if an endpoint subscribes to
 * them.
 */
export function isCommandKind(kind: WebhookKind): boolean {
  return COMMAND_KINDS.has(kind);
}

/** Whether the endpoint subscribes to `kind`; null means all kinds except command events. */
export function subscribesToKind({ kinds }: Pick<Endpoint, "kinds">, kind: WebhookKind): boolean {
  return kinds === null ? !isCommandKind(kind) : kinds.includes(kind);
}

/**
 * Whether the endpoint receives events of a server. Events without a server go to every endpoint.
 */
export function subscribesToServer({ serverIds }: Pick<Endpoint, "serverIds">, serverId: string | null): boolean {
  return serverIds === null || serverId === null || serverIds.includes(serverId);
}

/** An endpoint as the API shows it, without its secret. */
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
