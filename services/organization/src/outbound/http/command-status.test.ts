import { createHttpServer, startInternalClient, DependencyError, startListening } from "@kapi/http";
import { createLogger, Health, Scope } from "@kapi/runtime";
import { afterAll, describe, expect, it } from "vitest";

import type { CommandStatus } from "../../domain/credits/ports.ts";
import { createCommandStatus } from "./command-status.ts";

const scope = new Scope();
afterAll(() => scope.stop());

/** A client of a command-status server whose look-ups return `answersOf` the command ids. */
async function lookingUp(answersOf: (commandIds: readonly string[]) => readonly unknown[]): Promise<CommandStatus> {
  const app = createHttpServer({ logger: createLogger({ service: "test", level: "silent" }), health: new Health() });
  app.post("/internal/commands/lookup", (request) => ({
    commands: answersOf((request.body as { commandIds: string[] }).commandIds),
  }));
  const { url } = await scope.start("server", () => startListening(app, { host: "127.0.0.1", port: 0 }));
  return createCommandStatus(
    await scope.start("client", () => startInternalClient({ baseUrl: url, credentials: {}, timeoutMs: 5_000 })),
  );
}

describe("the states of commands", () => {
  const STATUSES: Record<string, string> = {
    a: "queued",
    b: "leased",
    c: "succeeded",
    d: "expired",
    e: "status of a later release",
  };
  const lookedUp = (id: string) => (STATUSES[id] === undefined ? null : { command: { status: STATUSES[id] } });

  it("are in the order of the ids, even if some states did not fit into the first response", async () => {
    const asked: number[] = [];
    const { states } = await lookingUp((commandIds) => {
      asked.push(commandIds.length);
      return commandIds.map((id, index) => (index < 2 ? lookedUp(id) : "later"));
    });
    const found = await states(["a", "b", "c", "a", "none", "d", "e"]);
    expect(found).toEqual(["open", "open", "final", "open", "unknown", "final", "open"]);
    expect(asked).toEqual([6, 4, 2]);
  });

  it("are not returned at all if a response is truncated or has no state: an error is thrown", async () => {
    const cutOff = await lookingUp((commandIds) => commandIds.slice(1).map(lookedUp));
    await expect(cutOff.states(["a", "b"])).rejects.toThrow(DependencyError);
    const nothing = await lookingUp((commandIds) => commandIds.map(() => "later"));
    await expect(nothing.states(["a", "b"])).rejects.toThrow(DependencyError);
  });
});
