import { type Outbox, type OutboxTransaction, transactionWithOutbox } from "@kapi/outbox";
import type { Database } from "@kapi/postgres";

import type { LedgerPosition } from "../../domain/credits/ports.ts";
import type { Store, StoreTransaction } from "../../domain/ports.ts";
import { insertAudit, insertFirstKeyUses } from "./audit-outbox.ts";
import { consumedOffsets, raiseConsumedOffsets } from "./credits/consumed-offsets.ts";
import {
  countKeys,
  countServers,
  insertKey,
  lockAndCountKeys,
  readDirectory,
  readKeyNames,
  readKeys,
  readServer,
  readServers,
  revokeKey,
  setPrices,
  setServerStatus,
  upsertServer,
} from "./directory/directory.ts";
import { tablesOf } from "./credits/ledger-positions.ts";
import { readConsumed, readPurchase, readSettlements } from "./credits/entries.ts";
import { recordEntries, shareShardLocks } from "./credits/ledger.ts";
import {
  countOrganizations,
  insertOrganization,
  readOrganization,
  readOrganizations,
} from "./directory/organizations.ts";
import { deletePending, insertPending, readPending } from "./credits/pending-wallet-changes.ts";
import {
  insertWallet,
  oldReservations,
  readForSync,
  readWallet,
  setLowBalanceThreshold,
  walletsOf,
} from "./credits/wallets.ts";

/** After each commit `outbox` publishes what the transaction enqueued. */
export function createStore(database: Database, outbox: Pick<Outbox, "publish">): Store {
  return {
    transaction: (work) => transactionWithOutbox(database, outbox, (tx) => work(transactionOn(tx))),
    organizationExists: async (id) => (await readOrganization(database, id)) !== null,
    readOrganization: (id) => readOrganization(database, id),
    readOrganizations: (range) => readOrganizations(database, range),
    countOrganizations: () => countOrganizations(database),
    readKeys: (organizationId, range) => readKeys(database, organizationId, range),
    readKeyNames: (keyIds) => readKeyNames(database, keyIds),
    countKeys: (organizationId) => countKeys(database, organizationId),
    readServers: (organizationId, range) => readServers(database, organizationId, range),
    countServers: (organizationId) => countServers(database, organizationId),
    readServer: (organizationId, serverId) => readServer(database, organizationId, serverId),
    readWallet: (organizationId) => readWallet(database, organizationId),
    walletsOf: (shards, after, limit) => walletsOf(database, shards, after, limit),
    readForSync: (shard, open) => readForSync(database, shard, open),
    oldReservations: (range, limit) => oldReservations(database, range, limit),
    consumedOffsets: () => consumedOffsets(database),
    insertPending: (changes) => insertPending(database, changes),
    readPending: (limit, exceptShards, oldAfterMs) => readPending(database, limit, exceptShards, oldAfterMs),
    deletePending: (chargeIds) => deletePending(database, chargeIds),
    readDirectory: () => readDirectory(database),
  };
}

function transactionOn(tx: OutboxTransaction): StoreTransaction {
  const shared: LedgerPosition[] = [];
  return {
    shareShardLocks: async (shards) => {
      const positions = await shareShardLocks(tx, shards);
      shared.push(...positions.values());
      return positions;
    },
    recordEntries: (positions, entries, nowMs) => recordEntries(tx, positions, entries, nowMs),
    raiseConsumedOffsets: (reached) => raiseConsumedOffsets(tx, reached),
    readSettlements: (chargeIds) => readSettlements(tx, tablesOf(shared), chargeIds),
    readConsumed: (chargeIds) => readConsumed(tx, tablesOf(shared), chargeIds),
    readPurchase: (purchaseId) => readPurchase(tx, purchaseId),
    insertPending: (changes) => insertPending(tx, changes),
    insertOrganization: (id, name, nowMs) => insertOrganization(tx, id, name, nowMs),
    insertWallet: (wallet) => insertWallet(tx, wallet),
    readWallet: (organizationId) => readWallet(tx, organizationId),
    setLowBalanceThreshold: (organizationId, credits, nowMs) =>
      setLowBalanceThreshold(tx, organizationId, credits, nowMs),
    lockAndCountKeys: (organizationId, nowMs) => lockAndCountKeys(tx, organizationId, nowMs),
    insertKey: (key, nowMs) => insertKey(tx, key, nowMs),
    revokeKey: (keyId, organizationId, nowMs) => revokeKey(tx, keyId, organizationId, nowMs),
    setServerStatus: (organizationId, serverId, status) => setServerStatus(tx, organizationId, serverId, status),
    upsertServer: (server, nowMs) => upsertServer(tx, server, nowMs),
    setPrices: (prices) => setPrices(tx, prices),
    recordAudit: (records) => insertAudit(tx, records),
    recordFirstKeyUses: (uses) => insertFirstKeyUses(tx, uses),
  };
}
