/** Accepts deposits: HTTP → look-up of the id → one Redis call per batch → Kafka → Redis → 202. */
import { randomUUID } from "node:crypto";

import { TOPICS } from "@kapi/contracts";
import { batcher, uuidV7 } from "@kapi/kernel";
import { fastify } from "fastify";
import { Redis } from "ioredis";
import { Pool } from "undici";

import { bareProcess, ORGANIZATION_ID, SERVER_ID } from "./bare-process.ts";
import type { BareCommand } from "./messages.ts";

const FUNCTIONS = `#!lua name=barepath
redis.register_function('bare_admit', function(keys, args)
  for i = 1, #args, 2 do
    if redis.call('SISMEMBER', keys[2], args[i]) == 1 then return 0 end
    redis.call('HINCRBY', keys[1], 'available', -1)
    redis.call('HINCRBY', keys[1], 'reserved', 1)
    local claim = '{bare-path}:claim:' .. args[i]
    redis.call('HSET', claim, 'message', args[i + 1], 'state', 'open')
    redis.call('PEXPIRE', claim, 3600000)
    redis.call('XADD', keys[3], '*', 'charge', args[i], 'kind', 'reserve', 'credits', '1', 'operation', 'finance.deposit')
  end
  return 1
end)
redis.register_function('bare_answered', function(keys, args)
  for i = 1, #args do redis.call('HSET', '{bare-path}:claim:' .. args[i], 'state', 'answered') end
  return 1
end)`;
/** Maximum number of requests in one Redis call, as in one admission call of kapi. */
const MAX_TOGETHER = 20;
const MAX_CALLS = 64;
const MAX_LOOK_UPS_TOGETHER = 100;
const COMMAND_STATUS_CONNECTIONS = 4;

const { producer, hello } = await bareProcess("gateway");
const redis = new Redis(process.env["REDIS_URL"] ?? "", { enableAutoPipelining: true });
await redis.call("FUNCTION", "LOAD", "REPLACE", FUNCTIONS);
const commandStatus = new Pool(process.env["COMMAND_STATUS_URL"] ?? "", { connections: COMMAND_STATUS_CONNECTIONS });

const isKnown = batcher<string, boolean>({
  load: async (ids) => {
    const headers = { "content-type": "application/json" };
    const { body } = await commandStatus.request({
      method: "POST",
      path: "/known",
      headers,
      body: JSON.stringify(ids),
    });
    const known = new Set((await body.json()) as string[]);
    return ids.map((id) => known.has(id));
  },
  maxBatchSize: MAX_LOOK_UPS_TOGETHER,
  maxConcurrentBatches: 1,
});
const admit = batcher<readonly [id: string, message: string], true>({
  load: async (claims) => {
    const keys = ["{bare-path}:wallet", "{bare-path}:revoked", "{bare-path}:usage"];
    await redis.call("FCALL", "bare_admit", keys.length, ...keys, ...claims.flat());
    return claims.map(() => true);
  },
  maxBatchSize: MAX_TOGETHER,
  maxConcurrentBatches: MAX_CALLS,
});
const answered = batcher<string, true>({
  load: async (ids) => {
    await redis.call("FCALL", "bare_answered", 1, "{bare-path}:wallet", ...ids);
    return ids.map(() => true);
  },
  maxBatchSize: MAX_TOGETHER,
  maxConcurrentBatches: MAX_CALLS,
});

interface Deposit {
  Params: { accountNumber: string };
  Body: { amountMinor: number; requestId: string };
}

const app = fastify();
app.post<Deposit>("/accounts/:accountNumber/finance/deposits", async (request, reply) => {
  const createdAt = new Date().toISOString();
  const command: BareCommand = {
    id: uuidV7(Date.now()),
    organizationId: ORGANIZATION_ID,
    serverId: SERVER_ID,
    accountNumber: request.params.accountNumber,
    operation: "finance.deposit",
    status: "queued",
    requestId: request.body.requestId,
    idempotencyKey: randomUUID(),
    fingerprint: "0".repeat(64),
    payload: { amountMinor: request.body.amountMinor, currency: "USD", description: null },
    createdAt,
    deadlineAt: createdAt,
  };
  const message = JSON.stringify(command);
  await isKnown(command.id);
  await admit([command.id, message]);
  await producer.send(TOPICS.commandsFinance, { key: command.accountNumber, value: message });
  await answered(command.id);
  return reply.code(202).send({ command, duplicate: false });
});
hello({ url: await app.listen({ host: "127.0.0.1", port: 0 }) });
