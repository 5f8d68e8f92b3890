/**
 * The platform that a bridge connects. The bridge keeps the guarantees of the contract: references,
 * outcomes, durability, history. The platform knows accounts, orders and money.
 */
import type { Quote } from "@kapi/contracts";
import type { AccountSnapshot, Change, RejectionCode, ServerConfiguration } from "@kapi/trading-server";

/** The result of one change on the platform: applied, rejected, or not complete yet. */
export type ChangeResult =
  | {
      readonly applied: true;
      /**
       * JSON text of the event of the change, from `Committer.recordEvent`; null: nothing changed.
       */
      readonly event: string | null;
    }
  | Rejection
  | Incomplete;

/**
 * Not final: a part of the change cannot be applied now. The same change is requested again. If its
 * reference is settled first, `findApplied` returns a rejection.
 */
export interface Incomplete {
  readonly applied: "incomplete";
  readonly message: string;
}

/** Final. If the same change could succeed later, throw an error instead. */
export interface Rejection {
  readonly applied: false;
  readonly code: RejectionCode;
  readonly message: string;
}

/**
 * Server ids are in lower case. Only `isConfigured` and `configure` get ids of servers that are not
 * configured.
 */
export interface TradingPlatform {
  isConfigured(serverId: string): boolean;

  /**
   * Adds a server, or replaces its configuration. Passes the server to `Committer.storeServer`,
   * which stores its state.
   */
  configure(serverId: string, configuration: ServerConfiguration): void | Promise<void>;

  /**
   * Applies the changes of each account in their order. Returns the results in the order of
   * `changes`. The changes are valid. Their references are distinct and have no final outcome, and
   * no concurrent call has the same references. Records all events before it resolves. The last
   * event of a change has the reference of the change; the other events that the change causes come
   * before.
   *
   * Throws if the result of a change is unknown. After an error or a crash, the caller requests the
   * same changes again or settles their references. Apply each change only once.
   */
  apply(serverId: string, changes: readonly Change[]): Promise<readonly ChangeResult[]>;

  /**
   * Called before a reference without an outcome is closed for good. If the change was applied,
   * returns the result. If its event is not recorded, for example because a process ended too
   * early, records the event first. Returns a rejection for an {@link Incomplete} change. Null: the
   * change was not applied and never will be. Throws if that is unknown: the reference stays open,
   * and the caller settles it again.
   */
  findApplied(serverId: string, reference: string): Promise<ChangeResult | null>;

  /** Null: unknown or deleted account. */
  snapshot(serverId: string, accountNumber: string): Promise<AccountSnapshot | null>;

  /**
   * Sequence of the account's last recorded event, also after deletion; null: the account never
   * existed.
   */
  lastSequence(serverId: string, accountNumber: string): Promise<number | null>;

  /**
   * For each symbol the last quote at or before `atMs` (milliseconds since 1970), in any order. A
   * symbol is left out if it is unknown, has no such quote, or the quote is no longer kept. A quote
   * is kept for at least `MIN_QUOTE_RETENTION_MS` (`@kapi/contracts`) after the next quote of its
   * symbol. The times of quotes, events and valuations come from one clock. Symbols are distinct. A
   * platform without quotes does not have this method.
   */
  quotes?(serverId: string, symbols: readonly string[], atMs: number): Promise<readonly Quote[]>;
}
