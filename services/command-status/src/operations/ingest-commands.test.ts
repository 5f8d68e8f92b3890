import type { CommandEvent, AnyCommandMessage } from "@kapi/contracts";
import { commandMessage } from "@kapi/testkit";
import { expect, it } from "vitest";

import { eventOf } from "../../test/events.ts";
import type { CommandRead, LogPosition, IngestedCommand } from "../domain/ports.ts";
import { createIngestion } from "./ingest-commands.ts";

const POSITIONS: readonly LogPosition[] = [{ topic: "commands.finance", partition: 0, nextOffset: 2n }];

/**
 * An ingestion whose repository returns `ingested`. `written` collects the arguments of each call
 * of the repository, `forgotten` the commands whose records are forgotten.
 */
function ingestionOf(ingested: readonly IngestedCommand[]) {
  const written: (readonly [readonly (AnyCommandMessage | CommandEvent)[], readonly LogPosition[]])[] = [];
  const forgotten: CommandRead[] = [];
  const write = async (...given: (typeof written)[number]): Promise<readonly IngestedCommand[]> => {
    written.push(given);
    return ingested;
  };
  const ingestion = createIngestion({
    repository: { ingestMessages: write, ingestEvents: write },
    records: { forget: async (commands) => void forgotten.push(...commands) },
  });
  return { ingestion, written, forgotten };
}

it("the ingestion writes a message once if a batch has it twice, because a statement cannot write a row twice", async () => {
  const [first, second] = [commandMessage(), commandMessage()];
  const { ingestion, written } = ingestionOf([]);
  await ingestion.ingestMessages([first, second, first], POSITIONS);
  expect(written).toEqual([[[first, second], POSITIONS]]);
});

it("the ingestion writes only the newest event of a command in a batch", async () => {
  const message = commandMessage();
  const [leased, succeeded] = [eventOf(message, { status: "leased", result: null }), eventOf(message, { version: 2 })];
  const { ingestion, written } = ingestionOf([]);
  await ingestion.ingestEvents([leased, succeeded], POSITIONS);
  expect(written).toEqual([[[succeeded], POSITIONS]]);
});

it("the ingestion forgets only the idempotency records of commands that are final and readable, after messages and after events", async () => {
  const row = (commandId: string, final: boolean, readable: boolean): IngestedCommand => ({
    commandId,
    organizationId: "organization",
    final,
    readable,
  });
  const { ingestion, forgotten } = ingestionOf([
    row("final", true, true),
    row("open", false, true),
    row("unreadable", true, false),
  ]);
  await ingestion.ingestMessages([commandMessage()], POSITIONS);
  await ingestion.ingestEvents([eventOf(commandMessage())], POSITIONS);
  expect(forgotten.map(({ commandId }) => commandId)).toEqual(["final", "final"]);
});
