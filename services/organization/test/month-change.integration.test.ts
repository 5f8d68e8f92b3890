/** The change of a wallet shard into the next month. */
import { startPool, statement } from "@kapi/postgres";
import { shardOf } from "@kapi/admission/redis";
import { expect, test } from "vitest";

import { raiseEpochExclusively } from "../src/outbound/postgres/credits/wallets.ts";
import { organizationWith, startLedger } from "./support.ts";

test("a shard moves into the next month although copying its wallets exceeds the statement timeout", async () => {
  const fresh = await startLedger();
  const { value: impatient, stop } = await startPool({
    connectionString: fresh.environment.postgresUrl,
    schema: "organization",
    applicationName: "impatient",
    logger: fresh.context.logger,
    statementTimeoutMs: 200,
  });
  try {
    const shard = shardOf(await organizationWith(fresh, 100));
    // The copy takes longer than 1.2 s: the statement timeout and 1 s more. After this time, the
    // pool gives up other queries.
    const copySlowly = [
      `create function copy_slowly() returns trigger language plpgsql as $$ begin perform pg_sleep(1.5); return new; end $$`,
      `create trigger copy_slowly before insert on wallet_closings for each statement execute function copy_slowly()`,
      `update tags set epoch = epoch - 40 * 86400`,
    ];
    for (const [index, text] of copySlowly.entries()) {
      await fresh.database.query(statement(`test_copy_slowly_${index}`, text), []);
    }
    const limit = statement<{ statement_timeout: string }>("test_limit", `show statement_timeout`);
    const after = await impatient.transaction(async (tx) => {
      await raiseEpochExclusively(tx, shard);
      return tx.query(limit, []);
    });
    expect(after).toEqual([{ statement_timeout: "200ms" }]);
    const closings = statement<{ count: number }>("test_count_closings", `select count(*) from wallet_closings`);
    expect((await fresh.database.query(closings, []))[0]?.count).toBeGreaterThan(0);
  } finally {
    await stop();
    await fresh.stop();
  }
});
