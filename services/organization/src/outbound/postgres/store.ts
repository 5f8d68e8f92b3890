import type { Database, Transaction } from "@kapi/postgres";

import type { Store, StoreTransaction } from "../../domain/ports.ts";
import { consumedOffsets, raiseConsumedOffsets } from "./consumed-offsets.ts";
import {
  countKeys,
  countServers,
  insertKey,
  readDirectory,
  readKeys,
  readServer,
  readServers,
  revokeKey,
  setPrices,
  setServerStatus,
  upsertServer,
} from "./directory.ts";
import { readPurchase, readSettlements, recordLegs, shareTagLocks } from "./ledger.ts";
import { countOrganizations, insertOrganization, organizationExists, readOrganizations } from "./organizations.ts";
import { deletePending, insertPending, readPending } from "./pending-wallet-changes.ts";
import {
  insertWallet,
  oldReservations,
  organizationsOf,
  readForOpening,
  readWallet,
  setLowBalanceThreshold,
} from "./wallets.ts";

/** The store on PostgreSQL. */
export function createStore(database: Database): Store {
  return {
    transaction: (work) => database.transaction((tx) => work(transactionOn(tx))),
    organizationExists: (id) => organizationExists(database, id),
    readOrganizations: (range) => readOrganizations(database, range),
    countOrganizations: () => countOrganizations(database),
    readKeys: (organizationId, range) => readKeys(database, organizationId, range),
    countKeys: (organizationId) => countKeys(database, organizationId),
    readServers: (organizationId, range) => readServers(database, organizationId, range),
    countServers: (organizationId) => countServers(database, organizationId),
    readServer: (organizationId, serverId) => readServer(database, organizationId, serverId),
    readWallet: (organizationId) => readWallet(database, organizationId),
    organizationsOf: (tags) => organizationsOf(database, tags),
    oldReservations: (range, limit) => oldReservations(database, range, limit),
    consumedOffsets: () => consumedOffsets(database),
    insertPending: (changes) => insertPending(database, changes),
    readPending: (limit, exceptTags) => readPending(database, limit, exceptTags),
    deletePending: (chargeIds) => deletePending(database, chargeIds),
    readDirectory: () => readDirectory(database),
  };
}

function transactionOn(tx: Transaction): StoreTransaction {
  return {
    shareTagLocks: (tags) => shareTagLocks(tx, tags),
    recordLegs: (epochs, told, nowMs) => recordLegs(tx, epochs, told, nowMs),
    raiseConsumedOffsets: (reached) => raiseConsumedOffsets(tx, reached),
    readForOpening: (tag) => readForOpening(tx, tag),
    readSettlements: (chargeIds) => readSettlements(tx, chargeIds),
    readPurchase: (purchaseId) => readPurchase(tx, purchaseId),
    insertPending: (changes) => insertPending(tx, changes),
    insertOrganization: (id, name, nowMs) => insertOrganization(tx, id, name, nowMs),
    insertWallet: (wallet) => insertWallet(tx, wallet),
    readWallet: (organizationId) => readWallet(tx, organizationId),
    setLowBalanceThreshold: (organizationId, credits, nowMs) =>
      setLowBalanceThreshold(tx, organizationId, credits, nowMs),
    insertKey: (key, nowMs) => insertKey(tx, key, nowMs),
    revokeKey: (keyId, organizationId, nowMs) => revokeKey(tx, keyId, organizationId, nowMs),
    setServerStatus: (organizationId, serverId, status) => setServerStatus(tx, organizationId, serverId, status),
    upsertServer: (server, nowMs) => upsertServer(tx, server, nowMs),
    setPrices: (prices) => setPrices(tx, prices),
  };
}
