/**
 * What the platform's side of a bridge implements. The bridge itself keeps the promises of the
 * contract about references, outcomes, durability and history; the platform's side knows accounts,
 * orders and money.
 */
import type { AccountSnapshot, Change, RefusalCode, ServerConfiguration } from "@kapi/trading-server";

/** What became of a change. */
export type ChangeResult =
  | {
      readonly applied: true;
      /**
       * JSON text of the event that the change made, as `Committer.recordEvent` gave it; null: it
       * already was so.
       */
      readonly event: string | null;
    }
  | Rejection;

/** Final: a change that may succeed later is no refusal, but an error that is thrown. */
export interface Rejection {
  readonly applied: false;
  readonly code: RefusalCode;
  readonly message: string;
}

/** The platform's side. Server ids come in lower case, and of servers that are configured. */
export interface TradingPlatform {
  isConfigured(serverId: string): boolean;

  /**
   * Makes a server known, or replaces its configuration. Its state goes to `Committer.storeServer`.
   */
  configure(serverId: string, configuration: ServerConfiguration): void | Promise<void>;

  /**
   * Carries out changes, and gives what became of each, in their order. Those of one account are
   * carried out in their order. All of them are valid, have references of their own and no outcome;
   * no other call has one of these references until this one ends. Records the events of each
   * change before it ends: first what the change causes besides, and last its own, with its
   * reference.
   *
   * Throws where it cannot know what became of a change: the caller settles the references. A
   * change may come again after that, or after a process ended in the middle: it is carried out
   * once all the same.
   */
  apply(serverId: string, changes: readonly Change[]): Promise<readonly ChangeResult[]>;

  /**
   * Called before a reference that has no outcome is closed for good: what became of its change, if
   * it was carried out after all, as by a process that ended before it recorded the event; the
   * event is recorded now. Null: the platform never carried it out. Throws where that cannot be
   * known now: the reference stays open, and the caller settles it again.
   */
  findApplied(serverId: string, reference: string): Promise<ChangeResult | null>;

  /** The account at this moment, null where there is none or it was deleted. */
  snapshot(serverId: string, accountNumber: string): Promise<AccountSnapshot | null>;

  /**
   * Sequence of the account's last recorded event, also of a deleted account; null where there
   * never was one.
   */
  lastSequence(serverId: string, accountNumber: string): Promise<number | null>;
}
