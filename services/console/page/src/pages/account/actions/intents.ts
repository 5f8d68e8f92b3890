/**
 * What a person wants to do to an account or a template, and how far it is. It is kept in the
 * browser tab, so that a reload neither forgets it nor carries it out again (decisions, 26.2).
 */
import type { Failure } from "../../../api/failure.ts";
import type { AccountAction, Command, TemplateAction } from "../../../api/shapes.ts";

const FIRST_SERVER_ERROR = 500;
/**
 * A command begins within 15 minutes of its acceptance, or expires (decisions, 3.1). One minute
 * more: the clocks of browser and server may differ.
 */
const DECIDED_WITHIN_MS = 16 * 60_000;

/** A change that a person began, as the browser tab keeps it. */
export interface Intent {
  readonly action: AccountAction | TemplateAction;
  /** The same for all attempts: the action is carried out once. */
  readonly key: string;
  /** Fields of the action. Never a password: the browser stores them. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** The time of the last attempt, by the clock of the browser. */
  readonly sentAtMs: number;
  /**
   * `sending`: an attempt is running. `unknown`: an attempt had no answer, so it may have been
   * accepted. `accepted`: its command is known.
   */
  readonly state: "sending" | "unknown" | "accepted";
  readonly commandId: string | null;
  /** When the command expires, if it has not begun. */
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
 * Whether a failed attempt was certainly not accepted. After an attempt without an answer, a
 * rejection of a later one proves nothing about the first.
 */
export function isRefused({ status }: Pick<Failure, "status">, before: Intent["state"]): boolean {
  return before === "sending" && status !== null && status < FIRST_SERVER_ERROR;
}

/** From this time on, a command that is not known does not exist, and a known one is final. */
export function decidedAtMs({ sentAtMs, deadlineAt }: Intent): number {
  return deadlineAt === null ? sentAtMs + DECIDED_WITHIN_MS : Date.parse(deadlineAt) + 60_000;
}

/** The key under which the person's intent on `subject`, something of a server, is stored. */
export function intentStorageKey(userId: string, serverId: string, subject: string): string {
  return `kapi.action ${userId} ${serverId} ${subject}`;
}

/**
 * The kept intent; null without one. An attempt that was running when the page was left may have
 * been accepted.
 */
export function loadIntent(storage: Pick<Storage, "getItem">, storageKey: string): Intent | null {
  const text = storage.getItem(storageKey);
  if (text === null) return null;
  const kept = JSON.parse(text) as Intent;
  return kept.state === "sending" ? { ...kept, state: "unknown" } : kept;
}

/** Keeps the intent, before it is sent; null: forgets it. */
export function keepIntent(
  storage: Pick<Storage, "setItem" | "removeItem">,
  storageKey: string,
  intent: Intent | null,
): void {
  if (intent === null) storage.removeItem(storageKey);
  else storage.setItem(storageKey, JSON.stringify(intent));
}
