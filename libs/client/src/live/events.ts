import type { Money, Position, TradingAccount } from "../generated/api.ts";
import type { Place, Truncation } from "./place.ts";

/** Names an account. */
export interface Account {
  readonly serverId: string;
  readonly accountNumber: string;
}

/** The values of an account at one moment. */
export interface Sample extends Account {
  readonly type: "account.metrics";
  /** Every copy of the sample has the same id. */
  readonly eventId: string;
  /** Counts the account's samples from 1, without a gap. */
  readonly sequence: number;
  /** When the values were measured, UTC. */
  readonly measuredAt: string;
  readonly balance: Money;
  readonly equity: Money;
  readonly margin: Money;
  readonly freeMargin: Money;
  /** Equity in percent of the margin in use; 0 with no margin in use. */
  readonly marginLevel: number;
  readonly openPositionCount: number;
  /**
   * The lowest equity from the previous sample to this sample, both included. Compare this value,
   * not `equity`, with a loss limit.
   */
  readonly intervalMinimumEquity: Money;
  readonly intervalMinimumMeasuredAt: string;
}

/** An event of a followed account. Store `place` in one transaction with the event's effect. */
export type LiveEvent =
  | { readonly type: "sample"; readonly sample: Sample; readonly place: Place }
  | {
      /**
       * Some samples are no longer available. Instead, the client has read the account over the
       * API: `account` and `openPositions` are its present values. The lowest equity of the missing
       * samples is unknown.
       */
      readonly type: "reconciled";
      readonly account: TradingAccount;
      readonly openPositions: readonly Position[];
      /** The missing samples. */
      readonly missed: Truncation;
      readonly place: Place;
    }
  | { readonly type: "deleted"; readonly place: Place | null }
  | {
      /**
       * kapi has rejected or ended the subscription: the account does not exist, the key does not
       * reach its server, or an id is malformed. The account is no longer followed.
       */
      readonly type: "rejected";
      readonly code: string;
      readonly error: string;
      readonly place: Place | null;
    };

/**
 * Handles the events of an account, one at a time. If the handler throws, it gets the event again,
 * unless the stored place shows that the event was handled. For `reconciled`, the client reads the
 * account again.
 */
export type LiveHandler = (event: LiveEvent) => Promise<void> | void;

/** A sample on the wire, with amounts of money as numbers. */
interface WireSample extends Account {
  readonly type: "account.metrics";
  readonly sequence: number;
  readonly balance: number;
  readonly equity: number;
  readonly margin: number;
  readonly freeMargin: number;
  readonly intervalMinimumEquity: number;
}

interface ReplayNotice extends Account {
  readonly type: "account.metrics.replay";
  readonly lastAvailableSequence: number;
  readonly replayTruncated: boolean;
  readonly replayCount: number;
}

interface ErrorMessage {
  readonly type: "error";
  readonly code: string;
  readonly error: string;
  readonly serverId?: string;
  readonly accountNumber?: string;
}

/** A message of the server. Later versions of kapi may send other types. */
export type ServerMessage =
  | WireSample
  | ReplayNotice
  | ErrorMessage
  | { readonly type: "connected"; readonly sessionId: string }
  | (Account & { readonly type: "account.deleted" });

const DECIMALS = 2;

/** Converts the amounts of a sample to decimal strings. */
export function sampleFromWire(wire: WireSample): Sample {
  return {
    ...wire,
    balance: wire.balance.toFixed(DECIMALS),
    equity: wire.equity.toFixed(DECIMALS),
    margin: wire.margin.toFixed(DECIMALS),
    freeMargin: wire.freeMargin.toFixed(DECIMALS),
    intervalMinimumEquity: wire.intervalMinimumEquity.toFixed(DECIMALS),
  } as Sample;
}

/** The key of an account in maps. */
export function keyOf({ serverId, accountNumber }: Account): string {
  return `${serverId.toLowerCase()}/${accountNumber}`;
}
