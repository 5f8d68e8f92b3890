/**
 * A command makes only allowed transitions (decisions, 3.1), and a final state never changes. The
 * test checks `command.events` and the responses to polling callers. Meanwhile, the trading server
 * is slow, rejects changes, applies them late, loses responses or is unavailable.
 */
import { randomUUID } from "node:crypto";

import { CommandEvent, type CommandStatus, TOPICS } from "@kapi/contracts";
import { createKafka, startLogReader, endOffsets, type KafkaConnection, type LogReader } from "@kapi/kafka";
import { createLogger, type Started } from "@kapi/runtime";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";

import { inFlight } from "../e2e/in-flight.ts";
import { type CommandView, type OutsideClient, pause } from "../e2e/outside-client.ts";
import { startTwoGateways, type TwoGateways } from "../e2e/system.ts";
import { TradingControl } from "../e2e/trading-control.ts";
import { bounded } from "./settings.ts";

const RUNS = 4;
const ACCOUNTS = 4;
const MAX_REQUESTS = 24;
/** Longer than the time after which a running attempt is shown as leased. */
const SLOW_MS = 600;
const POLL_MS = 50;
const READ_MS = 10_000;
const COMMAND_MS = 60_000;
const PROPERTY_TIMEOUT_MS = 120_000;

/**
 * The states that may follow each state. A command moves from queued to queued if a short attempt,
 * which is never shown as leased, is to be retried.
 */
const MOVES: Readonly<Record<CommandStatus, readonly CommandStatus[]>> = {
  queued: ["queued", "leased", "succeeded", "failed", "expired"],
  leased: ["queued", "succeeded", "failed"],
  succeeded: [],
  failed: [],
  expired: [],
};

let system: TwoGateways;
let kafka: KafkaConnection;
let reader: Started<LogReader>;
/** Every event of every command, in the order of the topic. */
const events = new Map<string, CommandEvent[]>();

beforeAll(async () => {
  system = await startTwoGateways();
  const { kafkaBrokers, topicPrefix } = system.stack.environment;
  const logger = createLogger({ service: "command-states", level: "error" });
  kafka = createKafka({ brokers: kafkaBrokers.split(","), clientId: "command-states", topicPrefix, logger });
  reader = await startLogReader(kafka, {
    topic: TOPICS.commandEvents,
    from: "beginning",
    onBatch: (_partition, messages) => {
      for (const { value } of messages) {
        const event = CommandEvent.parse(JSON.parse(value.toString()));
        events.set(event.commandId, [...(events.get(event.commandId) ?? []), event]);
      }
    },
    logger,
    fatal: (error) => {
      throw error;
    },
  });
});

afterAll(async () => {
  await reader.stop();
  await system.stop();
});

const account = fc.nat({ max: ACCOUNTS - 1 });
const request = fc.record({
  account,
  gateway: fc.nat({ max: 1 }),
  operation: fc.constantFrom(
    "deposit",
    "withdraw",
    "update",
    "disable",
    "enable",
    "archive",
    "password-reset",
    "export",
  ),
});
type Request = typeof request extends fc.Arbitrary<infer R> ? R : never;
const fault = fc.record({
  account,
  kind: fc.constantFrom("refuse", "drop_answer", "apply_late", "unreachable"),
  count: fc.integer({ min: 1, max: 2 }),
  slow: fc.boolean(),
});
type Fault = typeof fault extends fc.Arbitrary<infer F> ? F : never;
/**
 * Every run has this fault and the deposit {@link LOST_RESPONSE_REQUEST}. The deposit is shown as
 * leased. The trading server's response is lost, and the deposit returns to queued.
 */
const LOST_RESPONSE: Fault = { account: 0, kind: "drop_answer", count: 1, slow: true };
const LOST_RESPONSE_REQUEST: Request = { account: 0, gateway: 0, operation: "deposit" };

/**
 * Injects the fault into an account. `operation` is an operation of the trading server. Without it,
 * the fault applies to the next calls of any operation.
 */
async function inject(
  control: TradingControl,
  accounts: readonly string[],
  { account, kind, count, slow }: Fault,
  operation?: string,
): Promise<void> {
  const where = { accountNumber: accounts[account] ?? "", count, delayMs: SLOW_MS };
  const fault = operation === undefined ? where : { ...where, operation };
  await control.inject({ kind, ...fault });
  if (slow) await control.inject({ kind: "delay", ...fault });
}

async function queue(client: OutsideClient, accountNumber: string, { operation }: Request): Promise<string> {
  const at = `/accounts/${accountNumber}`;
  const [method, path, body] = ((): [string, string, object] => {
    switch (operation) {
      case "deposit":
        return ["POST", `${at}/finance/deposits`, { amount: 1 }];
      case "withdraw":
        return ["POST", `${at}/finance/withdrawals`, { amount: 700 }];
      case "update":
        return ["PATCH", at, { leverage: 50 }];
      case "export":
        return ["POST", `${at}/exports/history`, { limit: 10 }];
      default:
        return ["POST", `${at}/${operation}`, {}];
    }
  })();
  const answer = await client.queue(method, path, { ...body, requestId: randomUUID() });
  // 200 is a duplicate: an earlier attempt was accepted, but its response was lost.
  if (answer.status !== 200) {
    expect(answer).toMatchObject({ status: 202, body: { command: { status: "queued", attempts: 0 } } });
  }
  return answer.body.command.id;
}

/**
 * Polls both gateways in turn until the command is final. Returns all views; the final state is
 * read twice.
 */
async function watch(clients: readonly OutsideClient[], commandId: string): Promise<CommandView[]> {
  const seen: CommandView[] = [];
  const deadline = Date.now() + COMMAND_MS;
  for (let turn = 0; ; turn += 1) {
    const client = clients[turn % clients.length];
    const answer = await client?.call<{ command: CommandView }>("GET", `/commands/${commandId}`);
    if (answer?.status !== 200) throw new Error(`command ${commandId} answered ${answer?.status}`);
    const { command } = answer.body;
    const before = seen.at(-1);
    seen.push(command);
    if (before !== undefined && isFinal(before.status)) return seen;
    if (Date.now() > deadline) throw new Error(`command ${commandId} is not final: ${JSON.stringify(command)}`);
    await pause(POLL_MS);
  }
}

const isFinal = (status: string): boolean => status in MOVES && MOVES[status as CommandStatus].length === 0;

/** Through either gateway, attempts never decrease, and a final command never changes. */
function expectSeen(seen: readonly CommandView[]): void {
  for (const [index, command] of seen.entries()) {
    const before = seen[index - 1];
    if (before === undefined) continue;
    expect(command.attempts).toBeGreaterThanOrEqual(before.attempts);
    if (isFinal(before.status)) expect(command).toEqual(before);
  }
}

/**
 * Versions increase by one, attempts never decrease, every transition is allowed, and the last
 * state is final. Events with the same version are equal. `last` agrees with the last event.
 */
function expectHistory(history: readonly CommandEvent[], last: CommandView): void {
  let before: { version: number; status: CommandStatus; attempts: number } = {
    version: 0,
    status: "queued",
    attempts: 0,
  };
  const reported = new Map<number, CommandEvent>();
  for (const event of history) {
    const earlier = reported.get(event.version);
    if (earlier !== undefined) {
      expect(event).toEqual(earlier);
      continue;
    }
    reported.set(event.version, event);
    expect(event.version).toBe(before.version + 1);
    expect(MOVES[before.status], `${event.commandId}: from ${before.status}`).toContain(event.status);
    expect(event.attempts).toBeGreaterThanOrEqual(before.attempts);
    before = event;
  }
  expect(isFinal(before.status)).toBe(true);
  const { status, attempts, result, errorCode } = history.at(-1) ?? {};
  expect(last).toMatchObject({ status, attempts, result, errorCode });
}

it(
  "commands make only allowed transitions while the trading server has faults, and a final command never changes",
  { timeout: PROPERTY_TIMEOUT_MS },
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(request, { minLength: MAX_REQUESTS / 2, maxLength: MAX_REQUESTS, size: "max" }),
        fc.array(fault, { minLength: 1, maxLength: 3 }),
        async (requests, faults) => {
          const clients = await system.newOrganization();
          const accounts = await inFlight(ACCOUNTS, ACCOUNTS, () => clients[0].openAccount(1_000));
          const control = new TradingControl(clients[0].demo);
          await inject(control, accounts, LOST_RESPONSE, "deposit");
          for (const fault of faults) await inject(control, accounts, fault);
          const ids = await Promise.all(
            [LOST_RESPONSE_REQUEST, ...requests].map((request) => {
              const client = clients[request.gateway] ?? clients[0];
              return queue(client, accounts[request.account] ?? "", request);
            }),
          );
          const watched = await Promise.all(ids.map((id) => watch(clients, id)));
          await reader.value.waitFor(await endOffsets(kafka, TOPICS.commandEvents), READ_MS);
          for (const [index, seen] of watched.entries()) {
            expectSeen(seen);
            const last = seen.at(-1);
            if (last !== undefined) expectHistory(events.get(ids[index] ?? "") ?? [], last);
          }
        },
      ),
      bounded(RUNS),
    );
    const moves = [...events.values()].flatMap((history) =>
      history.map(({ status }, index) => `${history[index - 1]?.status ?? "queued"} to ${status}`),
    );
    // Without these transitions, the runs have tested too little.
    expect(moves).toEqual(expect.arrayContaining(["queued to leased", "leased to queued", "queued to succeeded"]));
    // No command of any run has an event with another version after its final state.
    for (const history of events.values()) {
      const end = history.findIndex(({ status }) => isFinal(status));
      expect(history.slice(end).every(({ version }) => version === history[end]?.version)).toBe(true);
    }
  },
);
