/**
 * An intent is a change of an account or a template that a person began. The browser tab keeps the
 * intent, so that a reload of the page neither forgets nor repeats the change (decisions, 26.2).
 */
import type { Failure } from "../../../api/failure.ts";
import type { AccountAction, Command, TemplateAction } from "../../../api/shapes.ts";

const FIRST_SERVER_ERROR = 500;
/**
 * A command begins within 15 minutes of its acceptance, or expires (decisions, 3.1). One minute is
 * added, because the clocks of browser and server may differ.
 */
const DECIDED_WITHIN_MS = 16 * 60_000;

/** An intent as the browser tab keeps it. */
export interface Intent {
  readonly action: AccountAction | TemplateAction;
  /** All attempts have this key, so that the action is carried out at most once. */
  readonly key: string;
  /** Fields of the action. They contain no password, because the browser stores them. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** The time of the last attempt, by the clock of the browser. */
  readonly sentAtMs: number;
  /**
   * `sending`: the first attempt is running. `unknown`: an attempt had no answer or a 5xx, so the
   * attempt may have been accepted. `accepted`: the command of the intent is known.
   */
  readonly state: "sending" | "unknown" | "accepted";
  readonly commandId: string | null;
  /** When the command expires, if it has not begun; null while the command is unknown. */
  readonly deadlineAt: string | null;
}

/** A new intent, with a key of its own. */
export function createIntent(action: Intent["action"], fields: Intent["fields"], nowMs: number): Intent {
  const key = crypto.randomUUID();
  return { action, key, fields, sentAtMs: nowMs, state: "sending", commandId: null, deadlineAt: null };
}

/** The intent after its command became known. */
export function acceptedAs(intent: Intent, { id, deadlineAt }: Command): Intent {
  return { ...intent, state: "accepted", commandId: id, deadlineAt: deadlineAt ?? null };
}

/**
 * Whether it is certain that no attempt was accepted, after an attempt that failed with `status`.
 * `before` is the state before this attempt. If an earlier attempt had no answer, the rejection of
 * this attempt proves nothing about the earlier attempt.
 */
export function isRefused({ status }: Pick<Failure, "status">, before: Intent["state"]): boolean {
  return before === "sending" && status !== null && status < FIRST_SERVER_ERROR;
}

/**
 * An accepted command is final from this time on, unless its outcome on the trading server cannot
 * be determined yet (decisions, 3.1). A read that does not find the command proves nothing, even
 * later: after an outage, command-status may not have stored the command yet.
 */
export function decidedAtMs({ sentAtMs, deadlineAt }: Intent): number {
  return deadlineAt === null ? sentAtMs + DECIDED_WITHIN_MS : Date.parse(deadlineAt) + 60_000;
}

/** The key under which an intent is stored. `subject`: see `IntentTarget`. */
export function intentStorageKey(userId: string, serverId: string, subject: string): string {
  return `kapi.action ${userId} ${serverId} ${subject}`;
}

/**
 * The stored intent; null if there is none. Its state is `unknown` instead of `sending`: an attempt
 * that was running when the page was left may have been accepted.
 */
export function loadIntent(storage: Pick<Storage, "getItem">, storageKey: string): Intent | null {
  const text = storage.getItem(storageKey);
  if (text === null) return null;
  const kept = JSON.parse(text) as Intent;
  return kept.state === "sending" ? { ...kept, state: "unknown" } : kept;
}

/** Stores the intent; null removes the stored one. */
export function keepIntent(
  storage: Pick<Storage, "setItem" | "removeItem">,
  storageKey: string,
  intent: Intent | null,
): void {
  if (intent === null) storage.removeItem(storageKey);
  else storage.setItem(storageKey, JSON.stringify(intent));
}
