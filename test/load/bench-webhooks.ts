/**
 * `npm run bench -- webhooks`: rate and latency of deliveries from the topic to the receiver, with
 * 1 and with 100 endpoints. It also measures the effect of one hanging endpoint on 99 others. That
 * endpoint answers and hangs in turns, so that slow changes (of the machine, of the size of the
 * database) affect both cases equally. The benchmark starts a webhooks service, and servers
 * unless the environment names servers.
 */
import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import path from "node:path";

import { type AccountEvent, type FinanceEvent, TOPICS } from "@kapi/contracts";
import { createKafka, startProducer, type Producer } from "@kapi/kafka";
import { delay, randomBase32 } from "@kapi/kernel";
import { type Stack, startStack } from "@kapi/local";
import { deleteTopics, dropDatabase, printedReport, stopRecorded } from "@kapi/servers";
import { startPool, type Database, statement } from "@kapi/postgres";
import { createLogger } from "@kapi/runtime";

import { type Figures, figuresOf, line } from "./measure.ts";
import { startProcess } from "./process.ts";
import { microsecondsEach, type ProcessorTimes, processorTimes } from "./processor-time.ts";

const STATE_DIR = path.resolve(import.meta.dirname, "../../.local/bench-webhooks");
const MEASURE_MS = Number(process.env["BENCH_MEASURE_MS"] ?? 10_000);
const WARM_UP_MS = 2_000;
const TICK_MS = 10;
const SECOND_MS = 1_000;
const ENDPOINTS_PER_ORGANIZATION = 20;
const ORGANIZATIONS = 5;
const ACCOUNTS_PER_ORGANIZATION = 200;
/** Deliveries of a burst, and deliveries a second of the steady load. */
const BURST_DELIVERIES = Number(process.env["BENCH_DELIVERIES"] ?? 40_000);
const STEADY_DELIVERIES = Number(process.env["BENCH_STEADY"] ?? 1_000);
const PUBLISHED_TOGETHER = 5_000;
const AIM_PER_SECOND = 2_000;
const AIM_RATIO = 1.5;
const WAIT_MS = 120_000;
const NAME_CHARACTERS = 10;
/**
 * Whether the endpoint hangs, for each turn: it answers in a turn `d` and hangs in a turn `e`.
 * Hanging turns come in pairs, so that attempts reach their timeout (15 s) in the second turn.
 */
const TURNS = (process.env["BENCH_TURNS"] ?? "deeddeed").split("").map((turn) => turn === "e");
const WORK_DONE = statement<{ transactions: number; rows_read: number }>(
  "bench_work_done",
  `select xact_commit as transactions, tup_returned + tup_fetched as rows_read
   from pg_stat_database where datname = current_database()`,
);

interface Arrival {
  readonly atMs: number;
  readonly tookMs: number;
}

/** Organizations with the same number of endpoints each. */
interface Audience {
  readonly organizationIds: readonly string[];
  /** Endpoints of each organization. */
  readonly endpoints: number;
  /** Whether one endpoint of the first organization can hang. */
  readonly oneCanHang: boolean;
}

/** Resources used until a point in time. */
interface Used {
  readonly processor: ProcessorTimes;
  readonly transactions: number;
  readonly rowsRead: number;
}

class Bench {
  readonly #stack: Stack;
  readonly #producer: Producer;
  readonly #receiverUrl: string;
  readonly #database: Database;
  /** Number of published events of each organization. */
  readonly #published = new Map<string, number>();

  constructor(stack: Stack, producer: Producer, receiverUrl: string, database: Database) {
    this.#stack = stack;
    this.#producer = producer;
    this.#receiverUrl = receiverUrl;
    this.#database = database;
  }

  /**
   * Creates organizations with endpoints. With `oneCanHang`, one endpoint of the first organization
   * can hang; its deliveries are never measured.
   */
  async audience(organizations: number, endpoints: number, oneCanHang = false): Promise<Audience> {
    const organizationIds = Array.from({ length: organizations }, () => randomUUID());
    for (const [index, organizationId] of organizationIds.entries()) {
      for (let count = 0; count < endpoints; count += 1) {
        const canHang = oneCanHang && index === 0 && count === 0;
        await this.#createEndpoint(organizationId, `${this.#receiverUrl}/${canHang ? "can-hang" : count}`);
      }
    }
    return { organizationIds, endpoints, oneCanHang };
  }

  /**
   * Makes the endpoint hang, or answer again. When it answers again, it also answers the deliveries
   * that it kept waiting.
   */
  async hang(hangs: boolean): Promise<void> {
    await fetch(`${this.#receiverUrl}/${hangs ? "hang" : "answer"}`);
  }

  async #createEndpoint(organizationId: string, url: string): Promise<void> {
    const answer = await fetch(`${this.#stack.url("webhooks")}/internal/organizations/${organizationId}/webhooks`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-service-token": this.#stack.secrets.serviceTokens.gateway },
      body: JSON.stringify({ url }),
    });
    if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`);
  }

  /**
   * Publishes the next event of an organization. Closed positions, in `account.events`, alternate
   * with the transactions of their deals, in `finance.events`. In the webhooks service, an event
   * that arrives too early waits for the event before it.
   */
  async #publish(organizationId: string): Promise<void> {
    const published = this.#published.get(organizationId) ?? 0;
    this.#published.set(organizationId, published + 1);
    const pair = Math.floor(published / 2);
    const accountNumber = String(10_000_000 + (pair % ACCOUNTS_PER_ORGANIZATION));
    const sequence = Math.floor(pair / ACCOUNTS_PER_ORGANIZATION) + 1;
    const isTransaction = published % 2 === 1;
    const through = 2 * sequence - (isTransaction ? 0 : 1);
    const serverId = organizationId;
    const occurredAt = new Date().toISOString();
    const place = { through, after: through - 1 };
    const envelope = { eventId: randomUUID(), organizationId, serverId, accountNumber, occurredAt, place };
    const event = isTransaction ? transactionOf(envelope, sequence) : closedPositionOf(envelope, sequence);
    const topic = isTransaction ? TOPICS.financeEvents : TOPICS.accountEvents;
    await this.#producer.send(topic, { key: `${serverId}/${accountNumber}`, value: JSON.stringify(event) });
  }

  /** Publishes all events at once. Returns the rate of the deliveries. */
  async burst(label: string, audience: Audience): Promise<number> {
    const organizations = audience.organizationIds.length;
    const events = Math.round(BURST_DELIVERIES / audience.endpoints);
    await this.#takeArrivals();
    const before = await this.#used();
    const beganMs = Date.now();
    for (let from = 0; from < events; from += PUBLISHED_TOGETHER) {
      const count = Math.min(PUBLISHED_TOGETHER, events - from);
      const owners = Array.from(
        { length: count },
        (_, index) => audience.organizationIds[(from + index) % organizations],
      );
      await Promise.all(owners.map((organizationId = "") => this.#publish(organizationId)));
    }
    const arrivals = await this.#arrived(events * audience.endpoints);
    const lastMs = arrivals.reduce((last, { atMs }) => Math.max(last, atMs), 0);
    const figures = figuresOfAll(arrivals, lastMs - beganMs);
    console.log(line(`${label}: ${events} events at once`, figures));
    await this.#printCosts(before, arrivals.length);
    return figures.perSecond;
  }

  /** Publishes a steady load. Returns the deliveries of events that occurred after the warm-up. */
  async steady(label: string, audience: Audience): Promise<Arrival[]> {
    const organizations = audience.organizationIds.length;
    const perTick = (STEADY_DELIVERIES / audience.endpoints) * (TICK_MS / SECOND_MS);
    await this.#takeArrivals();
    const before = await this.#used();
    const beganMs = Date.now();
    const endMs = beganMs + WARM_UP_MS + MEASURE_MS;
    let events = 0;
    const sends: Promise<void>[] = [];
    for (let due = 0; Date.now() < endMs;) {
      due = ((Date.now() - beganMs) / TICK_MS) * perTick;
      for (; events < due; events += 1)
        sends.push(this.#publish(audience.organizationIds[events % organizations] ?? ""));
      await delay(TICK_MS);
    }
    await Promise.all(sends);
    // Waits for all deliveries, so that none falls into the time of the next load. The receiver
    // does not record the deliveries of the endpoint that can hang.
    const unrecorded = audience.oneCanHang ? Math.ceil(events / organizations) : 0;
    const arrivals = await this.#arrived(events * audience.endpoints - unrecorded);
    const measured = arrivals.filter(({ atMs, tookMs }) => atMs - tookMs >= beganMs + WARM_UP_MS);
    console.log(line(label, figuresOfAll(measured, MEASURE_MS)));
    await this.#printCosts(before, arrivals.length);
    return measured;
  }

  async #used(): Promise<Used> {
    const [row] = await this.#database.query(WORK_DONE, []);
    const { transactions = 0, rows_read: rowsRead = 0 } = row ?? {};
    return { processor: processorTimes(this.#pids()), transactions, rowsRead };
  }

  async #printCosts(before: Used, deliveries: number): Promise<void> {
    const after = await this.#used();
    const each = (count: number): string => (count / deliveries).toFixed(2);
    const processor = microsecondsEach(before.processor, after.processor, deliveries);
    const transactions = each(after.transactions - before.transactions);
    const rows = each(after.rowsRead - before.rowsRead);
    console.log(`    per delivery: processor time, us: ${processor}; transactions ${transactions}, rows read ${rows}`);
  }

  #pids(): ReadonlyMap<string, number> {
    const { pid } = this.#stack.process("webhooks");
    if (pid === null) throw new Error("webhooks does not run");
    return new Map([
      ["webhooks", pid],
      ["bench", process.pid],
    ]);
  }

  async #takeArrivals(): Promise<Arrival[]> {
    return (await (await fetch(`${this.#receiverUrl}/take`)).json()) as Arrival[];
  }

  async #arrived(count: number): Promise<Arrival[]> {
    const all: Arrival[] = [];
    for (const endMs = Date.now() + WAIT_MS; all.length < count; await delay(100)) {
      all.push(...(await this.#takeArrivals()));
      if (Date.now() > endMs) throw new Error(`${all.length} of ${count} deliveries arrived`);
    }
    return all;
  }
}

type Envelope = Pick<
  AccountEvent,
  "eventId" | "organizationId" | "serverId" | "accountNumber" | "occurredAt" | "place"
>;

function closedPositionOf(envelope: Envelope, accountSequence: number): AccountEvent {
  const { occurredAt } = envelope;
  const names = { id: "7001", orderId: "5001", symbol: "EURUSD", side: "buy" } as const;
  const position = {
    ...names,
    volume: 0.1,
    closedVolume: 0.1,
    openPrice: 1.08421,
    status: "closed" as const,
    openedAt: occurredAt,
    closedAt: occurredAt,
  };
  return {
    ...envelope,
    type: "position.closed",
    accountSequence,
    position,
    dealIds: ["9001", "9002"],
    openPositionCount: 0,
  };
}

function transactionOf(envelope: Envelope, sequence: number): FinanceEvent {
  const { eventId, accountNumber, occurredAt } = envelope;
  const transaction = {
    id: eventId,
    accountNumber,
    sequence,
    type: "realized_pnl" as const,
    amount: 12.5,
    currency: "USD" as const,
    balanceBefore: 10_000,
    balanceAfter: 10_012.5,
    description: null,
    requestId: null,
    commandId: null,
    orderId: "5001",
    positionId: "7001",
    dealId: "9002",
    reversalOf: null,
    createdBy: null,
    recordedAt: occurredAt,
    createdAt: occurredAt,
  };
  return { ...envelope, type: "transaction.recorded", transaction };
}

/** Compares the p99 of 99 endpoints while the 100th endpoint answers and while it hangs. */
async function besideHanging(bench: Bench): Promise<void> {
  const audience = await bench.audience(ORGANIZATIONS, ENDPOINTS_PER_ORGANIZATION, true);
  const answering: Arrival[] = [];
  const hanging: Arrival[] = [];
  for (const hangs of TURNS) {
    await bench.hang(hangs);
    const label = `    100 endpoints, ${STEADY_DELIVERIES} deliveries/s${hangs ? ", one of them hangs" : ""}`;
    (hangs ? hanging : answering).push(...(await bench.steady(label, audience)));
  }
  await bench.hang(false);
  const overMs = (MEASURE_MS * TURNS.length) / 2;
  const [without, beside] = [figuresOfAll(answering, overMs), figuresOfAll(hanging, overMs)];
  console.log(line(`(d) 99 of 100 endpoints, ${STEADY_DELIVERIES} deliveries/s, all turns`, without));
  console.log(line("(e) the same 99, while the 100th endpoint hangs", beside));
  const ratio = (beside.p99Ms / without.p99Ms).toFixed(2);
  console.log(`p99 while the 100th endpoint hangs: ${ratio} x the p99 while it answers   aim <= ${AIM_RATIO}`);
  const [usual, usualBeside] = [p99OfUsualSecond(answering), p99OfUsualSecond(hanging)];
  const usualRatio = (usualBeside / usual).toFixed(2);
  console.log(`the same ratio for the median second: ${usualRatio} x (${usualBeside} and ${usual} ms)`);
}

function figuresOfAll(arrivals: readonly Arrival[], overMs: number): Figures {
  return figuresOf(
    arrivals.map(({ tookMs }) => tookMs),
    overMs,
  );
}

/**
 * Computes the p99 of each second, and returns the median of these values in milliseconds. One
 * stall hardly changes the median.
 */
function p99OfUsualSecond(arrivals: readonly Arrival[]): number {
  const seconds = Map.groupBy(arrivals, ({ atMs, tookMs }) => Math.floor((atMs - tookMs) / SECOND_MS));
  const p99s = [...seconds.values()].map((second) => figuresOfAll(second, SECOND_MS).p99Ms);
  return p99s.toSorted((a, b) => a - b)[Math.floor(p99s.length / 2)] ?? NaN;
}

await stopRecorded(STATE_DIR);
rmSync(STATE_DIR, { recursive: true, force: true });
const name = `bench${randomBase32(NAME_CHARACTERS)}`;
const topicPrefix = `${name}.`;
const services = ["webhooks"];
const stack = await startStack({ stateDir: STATE_DIR, report: printedReport(), services, database: name, topicPrefix });
const receiver = await startProcess<{ url: string }>("webhook-receiver.ts", [], {});
try {
  const logger = createLogger({ service: "bench", level: "error" });
  const brokers = stack.servers.kafkaBrokers.split(",");
  const kafka = createKafka({ brokers, clientId: "bench", topicPrefix: stack.topicPrefix, logger });
  const producer = await startProducer(kafka);
  const database = await startPool({
    connectionString: stack.servers.postgresUrl,
    schema: "webhooks",
    applicationName: "bench",
    max: 1,
    logger,
  });
  const bench = new Bench(stack, producer.value, receiver.hello.url, database.value);

  const one = await bench.audience(1, 1);
  await bench.burst("(warm-up) 1 endpoint", one);
  const rates = [await bench.burst("(a) 1 endpoint", one)];
  await bench.steady(`(b) 1 endpoint, ${STEADY_DELIVERIES} deliveries/s`, one);
  const hundred = await bench.audience(ORGANIZATIONS, ENDPOINTS_PER_ORGANIZATION);
  rates.push(await bench.burst("(c) 100 endpoints", hundred));
  console.log(`slowest burst: ${Math.round(Math.min(...rates))} deliveries/s   aim >= ${AIM_PER_SECOND}`);
  await besideHanging(bench);
  await database.stop();
  await producer.stop();
} finally {
  await receiver.stop();
  for (const service of stack.processes.values()) await service.stop();
  // Servers that the environment names continue to run: they must keep no data of the benchmark.
  await deleteTopics(stack.servers.kafkaBrokers, topicPrefix);
  await dropDatabase(stack.servers.postgresUrl, name);
  await stack.stop();
}
