import type { Progress, StoredState } from "@kapi/bridge";
import type { TradingEvent } from "@kapi/contracts";
import { assert, assertDefined, type Clock } from "@kapi/kernel";

import { type Account, fromState } from "../domain/account.ts";
import type { Feed } from "../domain/market.ts";
import { TradingServer } from "./server.ts";

/** The state that the previous process stored. */
export interface Restored {
  readonly servers: Map<string, TradingServer>;
  readonly lastPosition: number;
  readonly progress: Progress;
  /** Accounts whose stored state is behind the journal. */
  readonly movedAccounts: ReadonlySet<Account>;
  /** Accounts with events after {@link Progress.published}, which Kafka possibly does not have. */
  readonly unpublishedAccounts: readonly Account[];
}

/**
 * Reads servers and accounts, then the journal after {@link Progress.checkpoint}. The caller has
 * claimed the journal. Only changes of balance are stored without the state of their account. So
 * only balance, net deposits and sequence of a stored state can be behind the journal.
 */
export async function restore(stored: StoredState, feed: Feed, clock: Clock): Promise<Restored> {
  const progress = await stored.progress();
  const servers = new Map<string, TradingServer>();
  for (const { serverId, state } of await stored.servers()) {
    servers.set(serverId, TradingServer.fromState(serverId, feed, state, clock.nowMs()));
  }
  const find = (serverId: string, accountNumber: string): Account =>
    assertDefined(servers.get(serverId)?.accounts.get(accountNumber), `account ${serverId}/${accountNumber}`);
  const positions = new Map<Account, number>();
  for await (const rows of stored.accounts()) {
    for (const row of rows) {
      const account = fromState(row.state);
      const server = assertDefined(servers.get(row.serverId), `server ${row.serverId}`);
      server.accounts.set(account.accountNumber, account);
      server.reindex(account);
      for (const reference of Object.keys(account.flattening)) server.flattening.set(reference, account);
      if (row.position > progress.checkpoint) positions.set(account, row.position);
    }
  }
  const movedAccounts = new Set<Account>();
  for await (const rows of stored.eventsAfter(progress.checkpoint)) {
    for (const row of rows) {
      const account = find(row.serverId, row.accountNumber);
      if (row.position <= (positions.get(account) ?? 0)) continue;
      applyTail(account, JSON.parse(row.event) as TradingEvent);
      movedAccounts.add(account);
    }
  }
  const unpublished = await stored.accountsWithEventsAfter(progress.published);
  return {
    servers,
    lastPosition: await stored.lastPosition(),
    progress,
    movedAccounts,
    unpublishedAccounts: unpublished.map((at) => find(at.serverId, at.accountNumber)),
  };
}

function applyTail(account: Account, event: TradingEvent): void {
  if (event.sequence <= account.sequence) return;
  assert(
    event.type === "balance.changed",
    `the stored state of ${account.key} is older than event ${event.sequence} of type ${event.type}`,
  );
  assert(
    event.sequence === account.sequence + 1,
    `events of ${account.key} before ${event.sequence} are missing in the journal`,
  );
  account.sequence = event.sequence;
  account.balanceMinor = event.balanceMinor;
  account.netDepositsMinor += event.amountMinor;
}
