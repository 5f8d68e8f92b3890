import type { Database, Transaction } from "@kapi/postgres";

import type { Store, StoreTransaction } from "../../domain/ports.ts";
import { consumedOffsets, raiseConsumedOffsets } from "./consumed-offsets.ts";
import { insertKey, readDirectory, revokeKey, setPrices, upsertServer } from "./directory.ts";
import { readPurchase, recordLegs, shareTagLocks } from "./ledger.ts";
import { deletePending, insertPending, readPending } from "./pending-wallet-changes.ts";
import {
  insertOrganization,
  insertWallet,
  oldReservations,
  organizationExists,
  organizationsOf,
  readForOpening,
  readWallet,
} from "./wallets.ts";

/** The store on PostgreSQL. */
export function createStore(database: Database): Store {
  return {
    transaction: (work) => database.transaction((tx) => work(transactionOn(tx))),
    organizationExists: (id) => organizationExists(database, id),
    readWallet: (organizationId) => readWallet(database, organizationId),
    organizationsOf: (tags) => organizationsOf(database, tags),
    oldReservations: (beforeMs, limit) => oldReservations(database, beforeMs, limit),
    consumedOffsets: () => consumedOffsets(database),
    insertPending: (changes) => insertPending(database, changes),
    readPending: (limit) => readPending(database, limit),
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
    readPurchase: (purchaseId) => readPurchase(tx, purchaseId),
    insertPending: (changes) => insertPending(tx, changes),
    insertOrganization: (id, name, nowMs) => insertOrganization(tx, id, name, nowMs),
    insertWallet: (wallet) => insertWallet(tx, wallet),
    readWallet: (organizationId) => readWallet(tx, organizationId),
    insertKey: (key, nowMs) => insertKey(tx, key, nowMs),
    revokeKey: (keyId) => revokeKey(tx, keyId),
    upsertServer: (server, nowMs) => upsertServer(tx, server, nowMs),
    setPrices: (prices) => setPrices(tx, prices),
  };
}
