/**
 * `npm run bench:webhooks`: deliveries from the topic to the receiver, with 1 and with 100 endpoints: how many a second, how
 * soon, and what one endpoint of 100 that hangs changes for the others. Starts servers and the service of its own.
 */
import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import path from "node:path";

import { TOPICS } from "@kapi/contracts";
import { createKafka, createProducer, type Producer } from "@kapi/kafka";
import { delay, randomBase32 } from "@kapi/kernel";
import { deleteTopics, dropDatabase, printedReport, type Stack, startStack, stopRecorded } from "@kapi/local";
import { createLogger } from "@kapi/runtime";

import { type Figures, figuresOf, line } from "./measure.ts";
import { startProcess } from "./process.ts";
import { microsecondsEach, processorTimes } from "./processor-time.ts";

const STATE_DIR = path.resolve(import.meta.dirname, "../../.local/bench-webhooks");
const MEASURE_MS = Number(process.env["BENCH_MEASURE_MS"] ?? 10_000);
const WARM_UP_MS = 2_000;
const TICK_MS = 10;
const ENDPOINTS_PER_ORGANIZATION = 20;
const ORGANIZATIONS = 5;
/** Deliveries of a burst, and a second of the steady load. */
const BURST_DELIVERIES = Number(process.env["BENCH_DELIVERIES"] ?? 40_000);
const STEADY_DELIVERIES = 1_000;
const PUBLISHED_TOGETHER = 5_000;
const AIM_PER_SECOND = 2_000;
const AIM_RATIO = 1.5;
const WAIT_MS = 120_000;
const NAME_CHARACTERS = 10;

interface Arrival {
  readonly atMs: number;
  readonly tookMs: number;
}

/** Organizations that all have equally many endpoints. */
interface Audience {
  readonly organizationIds: readonly string[];
  /** Endpoints of each that answer. */
  readonly answering: number;
}

class Bench {
  readonly #stack: Stack;
  readonly #producer: Producer;
  readonly #receiverUrl: string;
  #account = 0;

  constructor(stack: Stack, producer: Producer, receiverUrl: string) {
    this.#stack = stack;
    this.#producer = producer;
    this.#receiverUrl = receiverUrl;
  }

  /** Makes organizations with endpoints; of the first one an endpoint hangs, if asked for. */
  async audience(organizations: number, endpoints: number, hanging = false): Promise<Audience> {
    const organizationIds = Array.from({ length: organizations }, () => randomUUID());
    for (const [index, organizationId] of organizationIds.entries()) {
      for (let count = 0; count < endpoints; count += 1) {
        const hangs = hanging && index === 0 && count === 0;
        await this.#createEndpoint(organizationId, `${this.#receiverUrl}/${hangs ? "hanging" : count}`);
      }
    }
    return { organizationIds, answering: endpoints };
  }

  async #createEndpoint(organizationId: string, url: string): Promise<void> {
    const answer = await fetch(`${this.#stack.url("webhooks")}/internal/organizations/${organizationId}/webhooks`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-internal-token": this.#stack.secrets.internalToken },
      body: JSON.stringify({ url }),
    });
    if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`);
  }

  async #publish(organizationId: string): Promise<void> {
    this.#account += 1;
    const serverId = "11111111-1111-4111-8111-111111111111";
    const accountNumber = String(10_000_000 + (this.#account % 1_000));
    const now = new Date().toISOString();
    const position = {
      id: "7001",
      orderId: "5001",
      symbol: "EURUSD",
      side: "buy",
      volume: 0.1,
      openPrice: 1.08421,
      status: "closed",
      openedAt: now,
      closedAt: now,
    };
    const envelope = { eventId: randomUUID(), organizationId, serverId, accountNumber, occurredAt: now };
    const record = { accountSequence: 1, position, dealIds: ["9001", "9002"], openPositionCount: 0 };
    const value = JSON.stringify({ ...envelope, type: "position.closed", ...record });
    await this.#producer.send(TOPICS.accountEvents, { key: `${serverId}/${accountNumber}`, value });
  }

  /** Everything at once: how fast it arrives. */
  async burst(label: string, audience: Audience): Promise<number> {
    const organizations = audience.organizationIds.length;
    const events = Math.round(BURST_DELIVERIES / audience.answering);
    await this.#take();
    const before = processorTimes(this.#pids());
    const beganMs = Date.now();
    for (let from = 0; from < events; from += PUBLISHED_TOGETHER) {
      const count = Math.min(PUBLISHED_TOGETHER, events - from);
      const owners = Array.from(
        { length: count },
        (_, index) => audience.organizationIds[(from + index) % organizations],
      );
      await Promise.all(owners.map((organizationId = "") => this.#publish(organizationId)));
    }
    const arrivals = await this.#arrived(events * audience.answering);
    const lastMs = arrivals.reduce((last, { atMs }) => Math.max(last, atMs), 0);
    const figures = figuresOf(
      arrivals.map(({ tookMs }) => tookMs),
      lastMs - beganMs,
    );
    console.log(line(`${label}: ${events} events at once`, figures));
    const costs = microsecondsEach(before, processorTimes(this.#pids()), arrivals.length);
    console.log(`    processor time per delivery, us: ${costs}`);
    return figures.perSecond;
  }

  /** A steady load: how soon it arrives. */
  async steady(label: string, audience: Audience): Promise<Figures> {
    const organizations = audience.organizationIds.length;
    const perTick = (STEADY_DELIVERIES / audience.answering) * (TICK_MS / 1_000);
    await this.#take();
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
    // What a hanging endpoint is owed never arrives; it is only in the first organization's share.
    const arrivals = await this.#arrivedSince(endMs);
    const measured = arrivals.filter(({ atMs }) => atMs >= beganMs + WARM_UP_MS && atMs < endMs);
    const figures = figuresOf(
      measured.map(({ tookMs }) => tookMs),
      MEASURE_MS,
    );
    console.log(line(label, figures));
    return figures;
  }

  #pids(): ReadonlyMap<string, number> {
    const { pid } = this.#stack.process("webhooks");
    if (pid === null) throw new Error("webhooks does not run");
    return new Map([
      ["webhooks", pid],
      ["bench", process.pid],
    ]);
  }

  async #take(): Promise<Arrival[]> {
    return (await (await fetch(`${this.#receiverUrl}/take`)).json()) as Arrival[];
  }

  async #arrived(count: number): Promise<Arrival[]> {
    const all: Arrival[] = [];
    for (const endMs = Date.now() + WAIT_MS; all.length < count; await delay(100)) {
      all.push(...(await this.#take()));
      if (Date.now() > endMs) throw new Error(`${all.length} of ${count} deliveries arrived`);
    }
    return all;
  }

  async #arrivedSince(endMs: number): Promise<Arrival[]> {
    await delay(Math.max(0, endMs + WARM_UP_MS - Date.now()));
    return this.#take();
  }
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
  const producer = await createProducer(kafka);
  const bench = new Bench(stack, producer.value, receiver.hello.url);

  const one = await bench.audience(1, 1);
  await bench.burst("(warm-up) 1 endpoint", one);
  const rates = [await bench.burst("(a) 1 endpoint", one)];
  await bench.steady(`(b) 1 endpoint, ${STEADY_DELIVERIES} deliveries/s`, one);
  const hundred = await bench.audience(ORGANIZATIONS, ENDPOINTS_PER_ORGANIZATION);
  rates.push(await bench.burst("(c) 100 endpoints", hundred));
  const without = await bench.steady(`(d) 100 endpoints, ${STEADY_DELIVERIES} deliveries/s`, hundred);
  const hanging = await bench.audience(ORGANIZATIONS, ENDPOINTS_PER_ORGANIZATION, true);
  const beside = await bench.steady("(e) the same, one of them hangs", hanging);
  const ratio = (beside.p99Ms / without.p99Ms).toFixed(2);
  console.log(`slowest burst: ${Math.round(Math.min(...rates))} deliveries/s   aim >= ${AIM_PER_SECOND}`);
  console.log(`p99 beside an endpoint that hangs: ${ratio} x that without   aim <= ${AIM_RATIO}`);
  await producer.stop();
} finally {
  await receiver.stop();
  for (const service of stack.processes.values()) await service.stop();
  // Servers that were there before keep nothing of it.
  await deleteTopics(stack.servers.kafkaBrokers, topicPrefix);
  await dropDatabase(stack.servers.postgresUrl, name);
  await stack.stop();
}
