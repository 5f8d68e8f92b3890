import { type CommandEvent, type CommandMessage, isFinal, queuedCommand } from "@kapi/contracts";
import { commandMessage } from "@kapi/testkit";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { eventOf } from "../../test/events.ts";
import type { ClaimKeeper, CommandRead, CommandStore, LogPosition, TakenIn } from "../domain/ports.ts";
import { CommandIntake, knowingHeld, TooManyHeld } from "./take-in-commands.ts";

const TOPIC = "commands.finance";
const at = (nextOffset: bigint, partition = 0): LogPosition => ({ topic: TOPIC, partition, nextOffset });
const eventsAt = (nextOffset: bigint): LogPosition => ({ topic: "command.events", partition: 0, nextOffset });

/** A store in memory: which half of each command it has, and the positions. Tells every statement. */
class MemoryStore implements Pick<CommandStore, "insertWhole" | "takeInMessages" | "takeInEvents"> {
  readonly statements: string[] = [];
  readonly rows = new Map<string, { message: CommandMessage | null; event: CommandEvent | null }>();
  readonly reached = new Map<string, bigint>();
  failWith: Error | null = null;

  async insertWhole(...[commands, positions]: Parameters<CommandStore["insertWhole"]>): Promise<TakenIn[]> {
    this.#begin(`whole ${commands.length}`);
    const added = commands.filter(({ event }) => !this.rows.has(event.commandId));
    for (const command of added) this.rows.set(command.event.commandId, command);
    if (added.length === commands.length) this.#move(positions);
    return added.map(({ event }) => this.#taken(event.commandId));
  }

  async takeInMessages(...[messages, positions]: Parameters<CommandStore["takeInMessages"]>): Promise<TakenIn[]> {
    this.#begin(`messages ${messages.length}`);
    for (const message of messages) {
      this.rows.set(message.commandId, { event: this.rows.get(message.commandId)?.event ?? null, message });
    }
    this.#move(positions);
    return messages.map(({ commandId }) => this.#taken(commandId));
  }

  async takeInEvents(...[events, positions]: Parameters<CommandStore["takeInEvents"]>): Promise<TakenIn[]> {
    this.#begin(`events ${events.length}`);
    for (const event of events) {
      this.rows.set(event.commandId, { message: this.rows.get(event.commandId)?.message ?? null, event });
    }
    this.#move(positions);
    return events.map(({ commandId }) => this.#taken(commandId));
  }

  #begin(statement: string): void {
    if (this.failWith !== null) throw this.failWith;
    this.statements.push(statement);
  }

  #move(positions: readonly LogPosition[]): void {
    for (const { topic, partition, nextOffset } of positions) this.reached.set(`${topic}/${partition}`, nextOffset);
  }

  #taken(commandId: string): TakenIn {
    const row = this.rows.get(commandId);
    const organizationId = row?.message?.organizationId ?? row?.event?.organizationId ?? "";
    const status = row?.event?.status ?? "queued";
    return { commandId, organizationId, final: isFinal(status), readable: (row?.message ?? null) !== null };
  }
}

let store: MemoryStore;
let forgotten: CommandRead[];
let failures: unknown[];
let readsEvents: boolean;
let claimsFail: Error | null;
let intake: CommandIntake;

beforeEach(() => {
  vi.useFakeTimers();
  store = new MemoryStore();
  forgotten = [];
  failures = [];
  readsEvents = true;
  claimsFail = null;
  const claims: ClaimKeeper = {
    forget: async (commands) => {
      if (claimsFail !== null) throw claimsFail;
      forgotten.push(...commands);
    },
  };
  intake = new CommandIntake({
    store: store as Partial<CommandStore> as CommandStore,
    claims,
    readsEventsOf: () => readsEvents,
    failed: (error) => failures.push(error),
    nowMs: () => Date.now(),
  });
});
afterEach(() => {
  intake.stop();
  vi.useRealTimers();
});

const logged = (offset: bigint, message = commandMessage()): { message: CommandMessage; offset: bigint } => ({
  message,
  offset,
});

describe("a command whose end comes soon", () => {
  it("is written once, with its end, and both positions with it", async () => {
    const { message } = logged(0n);
    const writtenUpTo = await intake.takeMessages(at(1n), [{ message, offset: 0n }]);
    expect(writtenUpTo()).toBe(0n);
    expect(intake.messageOf(message.commandId)).toEqual(message);
    await intake.takeEvents([eventOf(message)], [eventsAt(1n)]);
    expect(store.statements).toEqual(["whole 1"]);
    expect(Object.fromEntries(store.reached)).toEqual({ "commands.finance/0": 1n, "command.events/0": 1n });
    expect(writtenUpTo()).toBe(1n);
    expect(forgotten).toMatchObject([{ commandId: message.commandId }]);
    expect(intake.messageOf(message.commandId)).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(store.statements).toEqual(["whole 1"]);
  });

  it("moves its position only as far as nothing before it is held", async () => {
    const [first, second, third] = [logged(10n), logged(11n), logged(12n)];
    const writtenUpTo = await intake.takeMessages(at(13n), [first, second, third]);
    await intake.takeEvents([eventOf(second.message)], [eventsAt(1n)]);
    expect(store.reached.get("commands.finance/0")).toBe(10n);
    expect(writtenUpTo()).toBe(10n);
    await intake.takeEvents([eventOf(first.message)], [eventsAt(2n)]);
    expect(store.reached.get("commands.finance/0")).toBe(12n);
    await vi.advanceTimersByTimeAsync(250);
    expect(store.reached.get("commands.finance/0")).toBe(13n);
    expect(writtenUpTo()).toBe(13n);
  });

  it("that has a row already, for its message came twice, meets it, and the positions move with its last half", async () => {
    const { message } = logged(0n);
    store.rows.set(message.commandId, { message, event: null });
    await intake.takeMessages(at(1n), [{ message, offset: 0n }]);
    await intake.takeEvents([eventOf(message)], [eventsAt(1n)]);
    expect(store.statements).toEqual(["whole 1", "messages 1", "events 1"]);
    expect(store.rows.get(message.commandId)?.event?.status).toBe("succeeded");
    expect(Object.fromEntries(store.reached)).toEqual({ "commands.finance/0": 1n, "command.events/0": 1n });
  });

  it("is written again where the claims were not told, and they are told then", async () => {
    const { message } = logged(0n);
    const writtenUpTo = await intake.takeMessages(at(1n), [{ message, offset: 0n }]);
    claimsFail = new Error("no Redis");
    await expect(intake.takeEvents([eventOf(message)], [eventsAt(1n)])).rejects.toThrow("no Redis");
    expect(writtenUpTo()).toBe(0n);
    claimsFail = null;
    await intake.takeEvents([eventOf(message)], [eventsAt(1n)]);
    expect(forgotten).toContainEqual(expect.objectContaining({ commandId: message.commandId }));
    expect(writtenUpTo()).toBe(1n);
  });
});

describe("a command whose end is late", () => {
  it("is written as queued after a quarter of a second", async () => {
    const message = logged(0n);
    const writtenUpTo = await intake.takeMessages(at(1n), [message]);
    await vi.advanceTimersByTimeAsync(249);
    expect(store.statements).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(store.statements).toEqual(["messages 1"]);
    expect(writtenUpTo()).toBe(1n);
    await intake.takeEvents([eventOf(message.message)], [eventsAt(1n)]);
    expect(store.statements).toEqual(["messages 1", "events 1"]);
  });

  it("is written at once where another process reads its events", async () => {
    readsEvents = false;
    await intake.takeMessages(at(1n), [logged(0n)]);
    await vi.advanceTimersByTimeAsync(0);
    expect(store.statements).toEqual(["messages 1"]);
  });

  it("is written at once where its event came first, and its claim is told", async () => {
    const message = logged(0n);
    await intake.takeEvents([eventOf(message.message)], [eventsAt(1n)]);
    expect(forgotten).toEqual([]);
    await intake.takeMessages(at(1n), [message]);
    await vi.advanceTimersByTimeAsync(0);
    expect(store.statements).toEqual(["events 1", "messages 1"]);
    expect(forgotten).toMatchObject([{ commandId: message.message.commandId }]);
  });

  it("stays while the store is away, is tried again, and holds its position meanwhile", async () => {
    const writtenUpTo = await intake.takeMessages(at(1n), [logged(0n)]);
    store.failWith = new Error("no PostgreSQL");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(failures.length).toBeGreaterThanOrEqual(2);
    expect(failures.length).toBeLessThanOrEqual(3);
    expect(writtenUpTo()).toBe(0n);
    store.failWith = null;
    await vi.advanceTimersByTimeAsync(500);
    expect(store.statements).toEqual(["messages 1"]);
    expect(writtenUpTo()).toBe(1n);
  });
});

it("asked for by its id, a command that is held is queued, one that is written is what its row says, and no other is there", async () => {
  const [held, written, unknown] = [commandMessage(), commandMessage(), commandMessage()];
  await intake.takeMessages(at(2n), [logged(0n, held), logged(1n, written)]);
  const row = { ...written, isFinal: false, json: "{}" };
  const byIds: CommandStore["byIds"] = async (ids) => ids.map((id) => (id === written.commandId ? row : null));
  const known = knowingHeld({ byIds } satisfies Partial<CommandStore> as CommandStore, intake);
  const ids = [held, written, unknown].map(({ commandId }) => commandId);
  const [first, second, third] = await known.byIds(ids);
  if (first === null || first === undefined || first === "later") throw new Error("a held command is known");
  expect(JSON.parse(first.json)).toEqual(queuedCommand(held));
  expect(first).toMatchObject({ organizationId: held.organizationId, fingerprint: held.fingerprint });
  expect([second, third]).toEqual([row, null]);
});

it("what is written while its row is looked for is not missed", async () => {
  const message = commandMessage();
  await intake.takeMessages(at(1n), [logged(0n, message)]);
  const byIds: CommandStore["byIds"] = async () => {
    await intake.takeEvents([eventOf(message)], [eventsAt(1n)]);
    return [null];
  };
  const known = knowingHeld({ byIds } satisfies Partial<CommandStore> as CommandStore, intake);
  expect(await known.byIds([message.commandId])).toMatchObject([{ commandId: message.commandId }]);
});

it("of a message that came twice both places count as written together", async () => {
  const { message } = logged(0n);
  await intake.takeMessages(at(1n), [{ message, offset: 0n }]);
  const writtenUpTo = await intake.takeMessages(at(2n), [{ message, offset: 1n }]);
  await intake.takeEvents([eventOf(message)], [eventsAt(1n)]);
  expect(store.statements).toEqual(["whole 1"]);
  expect(writtenUpTo()).toBe(2n);
});

it("records that are no commands move the position, with what is held before them or by themselves", async () => {
  await intake.takeMessages(at(3n), []);
  expect(Object.fromEntries(store.reached)).toEqual({ "commands.finance/0": 3n });
  await intake.takeMessages(at(4n), [logged(3n)]);
  await intake.takeMessages(at(6n), []);
  expect(store.reached.get("commands.finance/0")).toBe(3n);
  await vi.advanceTimersByTimeAsync(250);
  expect(store.reached.get("commands.finance/0")).toBe(6n);
});

it("what is held is forgotten with a new assignment, and its offset is never called written", async () => {
  const message = logged(0n);
  const writtenUpTo = await intake.takeMessages(at(1n), [message]);
  await intake.forget();
  expect(writtenUpTo()).toBe(0n);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(store.statements).toEqual([]);
  const again = await intake.takeMessages(at(1n), [message]);
  await intake.writeAll();
  expect([store.statements, writtenUpTo(), again()]).toEqual([["messages 1"], 0n, 1n]);
});

it("no more than 5,000 messages are held; what is refused is not half taken", async () => {
  const many = Array.from({ length: 5_000 }, (_, index) => logged(BigInt(index)));
  await intake.takeMessages(at(5_000n), many);
  await expect(intake.takeMessages(at(5_001n), [logged(5_000n)])).rejects.toThrow(TooManyHeld);
  await intake.writeAll();
  expect(store.statements).toEqual(Array.from({ length: 5 }, () => "messages 1000"));
  expect(store.reached.get("commands.finance/0")).toBe(5_000n);
});

it("of a batch with held, written and early commands each is written as it is, and the positions last", async () => {
  const [held, written] = [logged(0n), logged(1n)];
  await intake.takeMessages(at(1n), [held]);
  await intake.takeEvents(
    [eventOf(held.message, { status: "leased", result: null }), eventOf(written.message)],
    [eventsAt(2n)],
  );
  expect(store.statements).toEqual(["whole 1", "events 1"]);
  expect(Object.fromEntries(store.reached)).toEqual({ "commands.finance/0": 1n, "command.events/0": 2n });
  expect(store.rows.get(held.message.commandId)?.event?.status).toBe("leased");
});
