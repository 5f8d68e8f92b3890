import { randomUUID } from "node:crypto";

import { AccountMetricsFrame, accountKey, TOPICS, type Valuation } from "@kapi/contracts";
import type { Message, Position } from "@kapi/kafka";
import { anyAccountNumber, eventually, onWrongClock, serverEntry, valuation } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { LiveClient } from "./live-client.ts";
import { Harness } from "./harness.ts";

const PARTITIONS = 4;
const HOUR_MS = 3_600_000;
const UNUSED_SERVER = randomUUID();

let harness: Harness;
let client: LiveClient;

beforeAll(async () => {
  harness = await Harness.start({ partitions: PARTITIONS });
  const { wsUrl } = await harness.metrics({ REJECTED_SAMPLES_PER_MINUTE: "1000", ...onWrongClock("behind") });
  client = await LiveClient.connect(wsUrl, harness.managementKey);
});

afterAll(async () => {
  client.close();
  await harness.scope.stop();
});

/** An invalid record of `trading.valuations`. */
interface Bad {
  readonly value: string | Buffer;
  /** Default: the key of the account. */
  readonly key?: string;
  /** Added to the partition number of the account's key. */
  readonly partitionShift?: number;
}

function body(account: string, change: object = {}): string {
  return JSON.stringify({ ...valuation({ serverId: harness.serverId, accountNumber: account }), ...change });
}

/**
 * Publishes a valid valuation, the invalid record and another valid valuation, without a pause.
 * Returns the position of the invalid record.
 */
async function publishBetweenValid(account: string, { value, key, partitionShift = 0 }: Bad): Promise<Position> {
  const own = accountKey(harness.serverId, account);
  const partition = (harness.producer.partitionOf(TOPICS.tradingValuations, own) + partitionShift) % PARTITIONS;
  // Raises the producer's limit of 900,000 bytes to about Kafka's own limit.
  const topic = { ...TOPICS.tradingValuations, maxMessageBytes: 1_000_000 };
  const before = harness.value(account, [10_000]);
  const bad = harness.producer.send(topic, { key: key ?? own, value, partition });
  await Promise.all([before, harness.value(account, [20_000])]);
  return bad;
}

/** Waits for the dead letters of the records at `positions`. */
function lettersOf(positions: readonly Position[]): Promise<Message[]> {
  return eventually(
    async () => {
      const letters = await harness.readAll(TOPICS.deadLetter);
      const byOrigin = new Map(letters.map(({ message }) => [originOf(message.headers), message]));
      return positions.map(({ partition, offset }) => {
        const found = byOrigin.get(originOf({ partition: String(partition), offset: String(offset) }));
        if (found === undefined) throw new Error(`there is no dead letter of ${partition}/${offset}`);
        return found;
      });
    },
    { timeoutMs: 20_000 },
  );
}

function originOf(headers: Readonly<Record<string, string>>): string {
  return `${headers["partition"]}/${headers["offset"]}`;
}

/**
 * Checks that the valid valuations before and after each invalid valuation become samples, and that
 * the invalid valuation becomes a dead letter with its reason.
 */
async function expectDeadLetters(cases: readonly { account: string; bad: Bad; reason: RegExp }[]): Promise<void> {
  for (const { account } of cases) client.subscribe(harness.serverId, account, 0);
  const positions = await Promise.all(cases.map(({ account, bad }) => publishBetweenValid(account, bad)));
  await client.until(() => cases.every(({ account }) => client.last(account) === 2));
  const letters = await lettersOf(positions);
  for (const [index, { account, bad, reason }] of cases.entries()) {
    expect(client.samples(account).map(({ equity }) => equity)).toEqual([100, 200]);
    const letter = letters[index];
    expect(letter?.key).toBe(bad.key ?? accountKey(harness.serverId, account));
    // The dead letter of a parked valuation has no value.
    expect([Buffer.from(bad.value), Buffer.alloc(0)]).toContainEqual(letter?.value);
    expect(letter?.headers).toEqual({
      reason: expect.stringMatching(reason) as string,
      topic: "trading.valuations",
      partition: String(positions[index]?.partition),
      offset: String(positions[index]?.offset),
      group: "metrics-sequencer",
    });
  }
}

describe("an invalid valuation is a dead letter with its reason and position, and later valuations are not affected: a valuation that", () => {
  it.each<[string, string | Buffer]>([
    ["nothing", ""],
    ["half an object", "{"],
    ["a word", "valuation"],
    ["bytes that are not UTF-8", Buffer.from([0xff, 0xfe, 0x00])],
    ["nearly a megabyte", "x".repeat(950_000)],
  ])("is not JSON: %s", async (_name, value) => {
    await expectDeadLetters([{ account: harness.account(), bad: { value }, reason: /^the valuation is not JSON: ./ }]);
  });

  it.each(["null", "5", "[]"])("is not an object: %s", async (value) => {
    await expectDeadLetters([
      { account: harness.account(), bad: { value }, reason: /^the valuation is malformed: : ./ },
    ]);
  });

  const amounts = ["balanceMinor", "equityMinor", "marginMinor", "freeMarginMinor", "unrealizedProfitMinor"];
  const beyond = Number.MAX_SAFE_INTEGER + 1;
  const wrong: [string, unknown][] = [
    ...["serverId", "accountNumber", "measuredAt", "marginLevel", "openPositionCount", ...amounts].flatMap(
      (field): [string, unknown][] => [
        [field, undefined],
        [field, null],
        [field, {}],
      ],
    ),
    ...amounts.flatMap((field): [string, unknown][] => [
      [field, "100"],
      [field, 0.5],
      [field, beyond],
      [field, -beyond],
    ]),
    ["openPositionCount", -1],
    ["openPositionCount", 1.5],
    ["openPositionCount", beyond],
    ["marginLevel", "100"],
    ["measuredAt", 1_700_000_000_000],
    ["measuredAt", "yesterday"],
    ["measuredAt", "2026-02-30T00:00:00.000Z"],
    ["measuredAt", "2026-02-20T00:00:00.000+01:00"],
    ["measuredAt", `${new Date(Date.now() + HOUR_MS).toISOString().slice(0, -1)}${"0".repeat(3_000)}Z`],
    ["serverId", "server"],
    ["accountNumber", "abc"],
    ["accountNumber", 'a","sequence":1,"b":"'],
    ["accountNumber", "a".repeat(33)],
  ];
  it("lacks one field or has a wrong value in it, for every field", async () => {
    await expectDeadLetters(
      wrong.map(([field, value]) => {
        const account = harness.account();
        const reason = new RegExp(`^the valuation is malformed: ${field}: .`);
        return { account, bad: { value: body(account, { [field]: value }) }, reason };
      }),
    );
  });

  it("has an account number that is not UTF-8", async () => {
    const account = harness.account();
    const [before, behind] = body(account).split(account);
    const value = Buffer.concat([
      Buffer.from(before ?? ""),
      Buffer.from([0xc3, 0x28, 0x31, 0x32]),
      Buffer.from(behind ?? ""),
    ]);
    await expectDeadLetters([{ account, bad: { value }, reason: /^the valuation is malformed: accountNumber: ./ }]);
  });

  it("has the key of another account, or no key", async () => {
    const [account, keyless, other] = [harness.account(), harness.account(), harness.account()];
    const reason = /^the key is not that of the account$/;
    await expectDeadLetters([
      { account, bad: { value: body(account), key: accountKey(harness.serverId, other) }, reason },
      { account: keyless, bad: { value: body(keyless), key: "" }, reason },
    ]);
  });

  it("is on another partition than its account's, also before the account has a sample", async () => {
    const account = harness.account();
    const reason = /^the partition is not that of the key$/;
    await expectDeadLetters([{ account, bad: { value: body(account), partitionShift: 1 }, reason }]);
    const fresh = harness.account();
    const key = accountKey(harness.serverId, fresh);
    const partition = (harness.producer.partitionOf(TOPICS.tradingValuations, key) + 2) % PARTITIONS;
    const position = await harness.producer.send(TOPICS.tradingValuations, { key, value: body(fresh), partition });
    expect((await lettersOf([position]))[0]?.headers["reason"]).toMatch(reason);
    client.subscribe(harness.serverId, fresh, 0);
    await harness.value(fresh, [100, 200]);
    await client.until(() => client.last(fresh) === 2);
  });

  it("is of an unknown account, or of an unknown or removed server", async () => {
    const removed = serverEntry({ organizationId: harness.organizationId, status: "removed" });
    await harness.putDirectory(removed);
    const unknown: [string, RegExp][] = [
      [harness.serverId, /^the account is unknown$/],
      [UNUSED_SERVER, /^the server is unknown$/],
      [removed.serverId, /^the server is unknown$/],
    ];
    for (const [serverId, reason] of unknown) {
      const accountNumber = anyAccountNumber();
      const key = accountKey(serverId, accountNumber);
      const value = JSON.stringify(valuation({ serverId, accountNumber }));
      const position = await harness.producer.send(TOPICS.tradingValuations, { key, value });
      expect((await lettersOf([position]))[0]?.headers["reason"]).toMatch(reason);
    }
  });

  it("was measured long before the previous valuation, or too far ahead of all clocks", async () => {
    const [early, ahead, far] = [harness.account(), harness.account(), harness.account()];
    const old = body(early, { measuredAt: new Date(Date.now() - HOUR_MS).toISOString() });
    const tomorrow = body(ahead, { measuredAt: new Date(Date.now() + 23 * HOUR_MS).toISOString() });
    const reason = /^measuredAt is more than 5 minutes ahead of the database's and of this machine's clock$/;
    await expectDeadLetters([
      {
        account: early,
        bad: { value: old },
        reason: /^measuredAt is more than 5 minutes before that of the account's last valuation$/,
      },
      { account: ahead, bad: { value: tomorrow }, reason },
      { account: far, bad: { value: body(far, { measuredAt: "9999-12-31T23:59:59.999Z" }) }, reason },
    ]);
  });
});

it("a duplicate of a valuation that arrives after later valuations is not a dead letter", async () => {
  const account = harness.account();
  const key = accountKey(harness.serverId, account);
  client.subscribe(harness.serverId, account, 0);
  const nowMs = Date.now();
  const values = [100, 200, 300].map((equityMinor, index) =>
    body(account, { equityMinor, measuredAt: new Date(nowMs + index).toISOString() }),
  );
  // A trading server that got no answer to its produce request sends the whole request again.
  for (const value of [...values, ...values]) await harness.producer.send(TOPICS.tradingValuations, { key, value });
  await harness.value(account, [400]);
  await client.until(() => client.last(account) === 4);
  expect(client.samples(account).map(({ equity }) => equity)).toEqual([1, 2, 3, 4]);
  const letters = (await harness.readAll(TOPICS.deadLetter)).filter(({ message }) => message.key === key);
  expect(letters).toEqual([]);
});

describe("an unusual but valid valuation", () => {
  it.each<[string, (account: string) => Partial<Valuation> & Record<string, unknown>]>([
    ["with unknown fields", () => ({ comment: "x".repeat(500_000), nested: [{}] })],
    ["with its server's id in capitals", () => ({ serverId: harness.serverId.toUpperCase() })],
    ["with a time in nanoseconds", () => ({ measuredAt: "2026-01-01T00:00:00.123456789Z" })],
    [
      "with the largest amounts",
      () => ({ equityMinor: Number.MAX_SAFE_INTEGER, balanceMinor: -Number.MAX_SAFE_INTEGER }),
    ],
  ])("%s is a sample", async (_name, change) => {
    const account = harness.account();
    client.subscribe(harness.serverId, account, 0);
    const value = body(account, change(account));
    const key = accountKey(harness.serverId, account);
    await harness.producer.send(TOPICS.tradingValuations, { key, value });
    await client.until(() => client.last(account) === 1);
    const [sample] = client.samples(account);
    expect(AccountMetricsFrame.parse(sample)).toMatchObject({ serverId: harness.serverId, accountNumber: account });
    await harness.value(account, [100]);
    await client.until(() => client.last(account) === 2);
  });
});
