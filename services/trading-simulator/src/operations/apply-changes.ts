import type { ChangeResult } from "@kapi/bridge";
import type { Change } from "@kapi/trading-server";

import { abandonFlattening, applyChange, type PasswordHashes } from "../domain/changes.ts";
import { hashPassword } from "../domain/password-hash.ts";
import type { Engine, RecordingContext } from "./engine.ts";
import type { TradingServer } from "./server.ts";

/** Hashes the passwords, then applies all changes in order and in one turn of the event loop. */
export async function applyChanges(
  engine: Engine,
  server: TradingServer,
  changes: readonly Change[],
): Promise<ChangeResult[]> {
  const hashes = await Promise.all(changes.map(hashPasswords));
  const context = engine.context(server);
  return changes.map((change, index) => apply(engine, server, context, change, hashes[index]));
}

/** Rejects the incomplete change with this reference; null if there is no such change. */
export function abandonChange(engine: Engine, server: TradingServer, reference: string): ChangeResult | null {
  const account = server.flattening.get(reference);
  if (account === undefined) return null;
  server.flattening.delete(reference);
  const result = abandonFlattening(engine.context(server), account, reference);
  return result?.applied === false ? result : null;
}

function apply(
  engine: Engine,
  server: TradingServer,
  context: RecordingContext,
  change: Change,
  hashes: PasswordHashes | undefined,
): ChangeResult {
  context.traceparent = change.traceparent;
  context.createdBy = change.createdBy;
  const input = {
    serverId: server.serverId,
    supportedLeverage: server.configuration.supportedLeverage,
    account: server.accounts.get(change.accountNumber),
    hashes,
  };
  const result = applyChange(context, input, change);
  if (result.applied === false) {
    abandonChange(engine, server, change.reference);
    return result;
  }
  if (result.applied === "incomplete") {
    server.flattening.set(change.reference, result.account);
    engine.changed(server, context, result.account);
    return { applied: "incomplete", message: result.message };
  }
  server.flattening.delete(change.reference);
  const { account, event } = result;
  if (event === null) return { applied: true, event: null };
  if (event.type === "account.created") server.accounts.set(account.accountNumber, account);
  if (event.type === "account.deleted") server.reindex(account);
  else if (event.type !== "account.password_changed") engine.changed(server, context, account);
  return { applied: true, event: context.lastEventText };
}

async function hashPasswords(change: Change): Promise<PasswordHashes | undefined> {
  const passwords = passwordsOf(change);
  if (passwords === null) return undefined;
  const [trading, investor] = await Promise.all([hashPassword(passwords[0]), hashPassword(passwords[1])]);
  return { trading, investor };
}

function passwordsOf(change: Change): [trading: string, investor: string] | null {
  if (change.type === "create") return [change.tradingPassword, change.investorPassword];
  return change.type === "set_password" ? [change.password, change.password] : null;
}
