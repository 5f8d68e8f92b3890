import { randomUUID } from "node:crypto";

import { accountKey } from "@kapi/contracts";
import { eventually, keyEntry, serverEntry } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type Frame, LiveClient } from "./live-client.ts";
import { clientFrame, OPCODES, RawClient } from "./raw-client.ts";
import { type MetricsProcess, Harness } from "./harness.ts";

const KIB = 1_024;
const MAX_MESSAGE_BYTES = 16 * KIB;
const NO_JSON = "The message is not valid JSON";

let harness: Harness;
let metrics: MetricsProcess;
/** An account with one sample. */
let account: string;
/** The client that sends the invalid text messages, over one connection. */
let client: LiveClient;
const clients: (LiveClient | RawClient)[] = [];

beforeAll(async () => {
  harness = await Harness.start();
  // No subscription waits for a sequence above the last one. So all answers to a message come
  // before the pong to the ping that a test sends after the message.
  metrics = await harness.metrics({ CATCH_UP_TIMEOUT_MS: "0", METRICS: "on" });
  account = harness.account();
  client = await connect();
  client.subscribe(harness.serverId, account, 0);
  await harness.value(account, [100]);
  await client.until(() => client.last(account) === 1);
});

afterAll(async () => {
  for (const one of clients) one.close();
  await harness.scope.stop();
});

async function connect(managementKey = harness.managementKey): Promise<LiveClient> {
  const one = await LiveClient.connect(metrics.wsUrl, managementKey);
  clients.push(one);
  return one;
}

async function connectRaw(): Promise<RawClient> {
  const one = await RawClient.open(metrics.wsUrl, harness.managementKey);
  clients.push(one);
  return one;
}

/** Number of sockets that the process has closed with this code, by its own metrics. */
async function closedWith(code: number): Promise<number> {
  const text = await (await fetch(`${metrics.url}/metrics`)).text();
  return Number(new RegExp(`^metrics_live_closes_total{[^}]*code="${code}"[^}]*} (\\S+)`, "m").exec(text)?.[1] ?? 0);
}

function message(change: object = {}): string {
  return JSON.stringify({ type: "subscribe", serverId: harness.serverId, accountNumber: account, ...change });
}

/** A subscribe message, padded to exactly `bytes` in an unknown field. */
function padded(bytes: number): string {
  const short = message({ afterSequence: 1, padding: "" });
  return message({ afterSequence: 1, padding: "x".repeat(bytes - short.length) });
}

/** Sends `text` and then a ping; returns the messages that the server sends before the pong. */
async function answersTo(text: string | Buffer, to = client): Promise<Frame[]> {
  const before = to.texts.length;
  to.ws.send(text);
  to.send("ping");
  await to.until(() => to.texts.includes("pong", before));
  const answers = to.texts.slice(before, to.texts.indexOf("pong", before));
  return answers.map((answer) => JSON.parse(answer) as Frame);
}

/** Subscribes to a new account and gets a live sample of it. */
async function expectServed(one: LiveClient): Promise<void> {
  const fresh = harness.account();
  one.subscribe(harness.serverId, fresh, 0);
  await harness.value(fresh, [100]);
  await one.until(() => one.last(fresh) === 1);
  expect(one.closeCode).toBeNull();
}

describe("a message is answered INVALID_MESSAGE once, on a socket that stays open,", () => {
  const after = (literal: string) => (): string => `${message().slice(0, -1)},"afterSequence":${literal}}`;

  it.each<[string, string | (() => string)]>([
    ["nothing", ""],
    ["half an object", "{"],
    ["a word", "hello"],
    ["a ping in capitals", "PING"],
    ["a ping after a space", " ping"],
    ["a ping with a line break", "ping\n"],
    ["a ping after a byte order mark", "\uFEFFping"],
    ["a pong", "pong"],
    ["two messages in one", () => message() + message()],
    ["NaN", after("NaN")],
    ["-Infinity", after("-Infinity")],
  ])("if it is not JSON: %s", async (_name, text) => {
    const answers = await answersTo(typeof text === "string" ? text : text());
    expect(answers).toEqual([{ type: "error", code: "INVALID_MESSAGE", error: NO_JSON }]);
  });

  it.each<[string, string]>([
    ["message", "null"],
    ["message", "5"],
    ["message", '"ping"'],
    ["message", "[]"],
    ["type", "{}"],
    ["type", '{"type":null}'],
    ["type", '{"type":5}'],
    ["type", '{"type":"dance"}'],
    ["type", '{"type":"Subscribe"}'],
    ["type", '{"type":"account.metrics"}'],
  ])("if it is not an object or has an unknown type, reported as invalid %s: %s", async (field, text) => {
    const error = expect.stringMatching(new RegExp(`^Invalid message: ${field}: .`)) as string;
    expect(await answersTo(text)).toEqual([{ type: "error", code: "INVALID_MESSAGE", error }]);
  });

  const uuid = "5b0c8a0e-9d7f-4c5b-8f8e-1f2f3f4f5f6f";
  const wrong: Readonly<Record<string, readonly unknown[]>> = {
    serverId: [undefined, null, 5, true, {}, [uuid], "", "server", uuid.replaceAll("-", ""), `{${uuid}}`, `${uuid} `],
    accountNumber: [undefined, null, 12_345, {}, "", "abc", "a".repeat(33), "a b c", "a/b/c", "zürich", "1234\n"],
  };
  it.each(
    ["subscribe", "unsubscribe"].flatMap((type) =>
      Object.entries(wrong).flatMap(([field, values]) => values.map((value) => [type, field, value] as const)),
    ),
  )("if it is %s with an invalid %s: %j; the error repeats the ids that are text", async (type, field, value) => {
    const named = { serverId: harness.serverId, accountNumber: account, [field]: value };
    const repeated = Object.fromEntries(Object.entries(named).filter(([, one]) => typeof one === "string"));
    const error = expect.stringMatching(new RegExp(`^Invalid message: ${field}: .`)) as string;
    const answers = await answersTo(JSON.stringify({ type, ...named }));
    expect(answers).toEqual([{ type: "error", code: "INVALID_MESSAGE", error, ...repeated }]);
  });

  it.each(["-1", "1.5", "-0.5", '"1"', "null", "true", "[]", "{}", "9007199254740992", "1e400"])(
    "if it is subscribe with the invalid afterSequence %s",
    async (literal) => {
      const error = expect.stringMatching(/^Invalid message: afterSequence: ./) as string;
      const { serverId } = harness;
      const repeated = { serverId, accountNumber: account };
      expect(await answersTo(after(literal)())).toEqual([
        { type: "error", code: "INVALID_MESSAGE", error, ...repeated },
      ]);
    },
  );

  it("if it has an id of 65 characters, which the error does not repeat, or if it is binary", async () => {
    const long = "x".repeat(65);
    const [answer] = await answersTo(message({ serverId: long, accountNumber: long }));
    expect(Object.keys(answer ?? {})).toEqual(["type", "code", "error"]);
    const error = "Messages must be text";
    expect(await answersTo(Buffer.from(message()))).toEqual([{ type: "error", code: "INVALID_MESSAGE", error }]);
  });
});

describe("a subscribe to a server that the key does not reach, or to an account that does not exist", () => {
  it("is answered SERVER_ACCESS_DENIED if the server is unknown, removed, another organization's, or not in the key's list", async () => {
    const others = serverEntry();
    const removed = serverEntry({ organizationId: harness.organizationId, status: "removed" });
    const unlisted = serverEntry({ organizationId: harness.organizationId });
    const narrow = keyEntry({ organizationId: harness.organizationId, serverIds: [harness.serverId] });
    for (const entry of [others, removed, unlisted, narrow.entry]) await harness.putDirectory(entry);
    for (const { serverId } of [others, removed, unlisted]) harness.accounts.add(accountKey(serverId, account));
    const limited = await eventually(() => connect(narrow.managementKey));
    const servers = [randomUUID(), others.serverId, removed.serverId, unlisted.serverId];
    for (const serverId of servers) {
      expect(await answersTo(message({ serverId: serverId.toUpperCase() }), limited)).toEqual([
        {
          type: "error",
          code: "SERVER_ACCESS_DENIED",
          error: `Missing server access: ${serverId}`,
          serverId,
          accountNumber: account,
        },
      ]);
      expect(await answersTo(message({ type: "unsubscribe", serverId }), limited)).toEqual([]);
    }
    await expectServed(limited);
  });

  it("is answered ACCOUNT_NOT_FOUND every time until the account exists", async () => {
    const later = harness.account();
    harness.accounts.delete(accountKey(harness.serverId, later));
    const one = await connect();
    for (let count = 1; count <= 2; count += 1) {
      one.subscribe(harness.serverId, later, 0);
      await one.until(() => one.frames("error").length === count);
      expect(one.frames("error").at(-1)).toEqual({
        type: "error",
        code: "ACCOUNT_NOT_FOUND",
        error: "Trading account not found",
        serverId: harness.serverId,
        accountNumber: later,
      });
    }
    harness.accounts.add(accountKey(harness.serverId, later));
    one.subscribe(harness.serverId, later, 0);
    await harness.value(later, [100]);
    await one.until(() => one.last(later) === 1);
  });
});

describe("an unusual but valid message", () => {
  const after = (literal: string, change: object = {}): string =>
    `${message(change).slice(0, -1)},"afterSequence":${literal}}`;

  it.each<[string, () => string]>([
    ["with unknown fields", () => message({ afterSequence: 1, channel: "a", nested: { type: ["dance"] } })],
    ["with the server's id in capitals", () => after("1", { serverId: harness.serverId.toUpperCase() })],
    ["with a negative zero", () => after("-0")],
    ["with a sequence with a decimal point and an exponent", () => after("1.0e0")],
    ["with the highest safe integer as its sequence", () => after(String(Number.MAX_SAFE_INTEGER))],
  ])("%s is served", async (_name, text) => {
    const [notice, ...more] = await answersTo(text());
    expect(notice).toMatchObject({
      type: "account.metrics.replay",
      serverId: harness.serverId,
      accountNumber: account,
    });
    expect(more.map(({ sequence }) => sequence)).toEqual(text().endsWith(":-0}") ? [1] : []);
  });

  it("is unsubscribe without a subscription, which is not answered, or a repeated subscribe, which restarts the subscription", async () => {
    const fresh = harness.account();
    const end = message({ type: "unsubscribe", accountNumber: fresh });
    expect(await answersTo(end)).toEqual([]);
    await harness.value(fresh, [1, 2, 3]);
    client.subscribe(harness.serverId, fresh, 0);
    await client.until(() => client.last(fresh) === 3);
    const again = await answersTo(message({ accountNumber: fresh, afterSequence: 1 }));
    expect(again.map(({ type, sequence }) => sequence ?? type)).toEqual(["account.metrics.replay", 2, 3]);
    const latest = await answersTo(message({ accountNumber: fresh }));
    expect(latest.map(({ sequence }) => sequence)).toEqual([3]);
    await harness.value(fresh, [4]);
    await client.until(() => client.last(fresh) === 4);
    expect(client.sequences(fresh)).toEqual([1, 2, 3, 2, 3, 3, 4]);
    expect(await answersTo(end)).toEqual([]);
    expect(await answersTo(end)).toEqual([]);
  });

  it("leaves the socket usable", () => expectServed(client));
});

describe("the limit of 16 KiB for a message", () => {
  it("allows a message of exactly 16 KiB, whole or in fragments with a ping frame between them", async () => {
    const raw = await connectRaw();
    const garbage = "x".repeat(MAX_MESSAGE_BYTES);
    raw.send(clientFrame(garbage));
    await raw.until(() => raw.texts.length === 2);
    expect(JSON.parse(raw.texts[1] ?? "")).toEqual({ type: "error", code: "INVALID_MESSAGE", error: NO_JSON });
    const whole = padded(MAX_MESSAGE_BYTES);
    const half = MAX_MESSAGE_BYTES / 2;
    raw.send(
      clientFrame(whole),
      clientFrame(whole.slice(0, half), { final: false }),
      clientFrame("between", { opcode: OPCODES.ping }),
      clientFrame(whole.slice(half), { opcode: OPCODES.continuation }),
    );
    await raw.until(() => raw.texts.length === 4);
    for (const text of raw.texts.slice(2)) {
      expect(JSON.parse(text)).toMatchObject({ type: "account.metrics.replay", accountNumber: account });
    }
    expect(raw.pongs).toEqual(["between"]);
    expect(raw.closeCode).toBeNull();
  });

  const tooLarge = "x".repeat(MAX_MESSAGE_BYTES + 1);
  const third = "x".repeat(6 * KIB);
  const claimed = Buffer.concat([Buffer.from([0x81, 0xff, 0x40]), Buffer.alloc(11)]);
  it.each<[string, Buffer]>([
    ["a KiB", clientFrame("x".repeat(17 * KIB))],
    ["one byte", clientFrame(tooLarge)],
    ["one byte, in binary", clientFrame(tooLarge, { opcode: OPCODES.binary })],
    [
      "the third fragment",
      Buffer.concat([
        clientFrame(third, { final: false }),
        clientFrame(third, { opcode: OPCODES.continuation, final: false }),
        clientFrame(third, { opcode: OPCODES.continuation }),
      ]),
    ],
    ["a declared length of 2^62 bytes, without a payload", claimed],
  ])("exceeded by %s: closes the socket with 4413, after earlier messages are answered", async (_name, bytes) => {
    const closedBefore = await closedWith(4413);
    const raw = await connectRaw();
    raw.send(clientFrame("ping"), clientFrame(message({ afterSequence: 1 })), bytes);
    expect(await raw.closed()).toBe(4413);
    expect(await closedWith(4413)).toBe(closedBefore + 1);
    expect(raw.texts.slice(1).map((text) => text === "pong" || (JSON.parse(text) as Frame).type)).toEqual([
      true,
      "account.metrics.replay",
    ]);
  });
});

describe("bytes that violate the protocol", () => {
  const invalid = Buffer.from([0x7b, 0xc3, 0x28, 0x7d]);
  it.each<[string, number, Buffer]>([
    ["a frame without a mask", 1002, clientFrame("ping", { masked: false })],
    ["an unknown opcode", 1002, clientFrame("ping", { opcode: 3 })],
    ["a reserved bit", 1002, clientFrame("ping", { reserved: 0x40 })],
    ["a continuation without a first frame", 1002, clientFrame("ping", { opcode: OPCODES.continuation })],
    ["a fragmented ping frame", 1002, clientFrame("x", { opcode: OPCODES.ping, final: false })],
    ["a ping frame of 126 bytes", 1002, clientFrame("x".repeat(126), { opcode: OPCODES.ping })],
    ["a close frame with one byte of a code", 1002, clientFrame("x", { opcode: OPCODES.close })],
    ["text that is not UTF-8", 1007, clientFrame(invalid)],
  ])("such as %s close their own socket with %i, and no other socket", async (_name, code, bytes) => {
    const closedBefore = await closedWith(code);
    const raw = await connectRaw();
    raw.send(bytes);
    expect(await raw.closed()).toBe(code);
    expect(await closedWith(code)).toBe(closedBefore + 1);
    expect(await answersTo(message({ afterSequence: 1 }))).toMatchObject([{ type: "account.metrics.replay" }]);
  });

  it("get no answer after a close frame of the client; the client gets the answers to its earlier messages and a close frame", async () => {
    const raw = await connectRaw();
    const goodbye = Buffer.from([0x03, 0xe8]);
    raw.send(clientFrame("ping"), clientFrame(goodbye, { opcode: OPCODES.close }), clientFrame("ping"));
    expect(await raw.closed()).toBe(1000);
    expect(raw.texts.slice(1)).toEqual(["pong"]);
    await expectServed(client);
  });
});
