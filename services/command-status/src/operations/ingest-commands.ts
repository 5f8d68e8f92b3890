import type { CommandEvent, AnyCommandMessage } from "@kapi/contracts";

import { collapseEvents, dropDuplicates } from "../domain/command-state.ts";
import type { IdempotencyRecords, CommandRepository, LogPosition, IngestedCommand } from "../domain/ports.ts";

interface IngestionDependencies {
  readonly repository: Pick<CommandRepository, "ingestMessages" | "ingestEvents">;
  readonly records: IdempotencyRecords;
}

/** Stores messages or events, with the positions of their partitions. Both calls are idempotent. */
export interface CommandIngestion {
  readonly ingestMessages: (messages: readonly AnyCommandMessage[], positions: readonly LogPosition[]) => Promise<void>;
  readonly ingestEvents: (events: readonly CommandEvent[], positions: readonly LogPosition[]) => Promise<void>;
}

/** Creates the ingestion of `commands.*` and `command.events`. */
export function createIngestion({ repository, records }: IngestionDependencies): CommandIngestion {
  return {
    ingestMessages: async (messages, positions) => {
      await forgetRecords(records, await repository.ingestMessages(dropDuplicates(messages), positions));
    },
    ingestEvents: async (events, positions) => {
      await forgetRecords(records, await repository.ingestEvents(collapseEvents(events), positions));
    },
  };
}

/**
 * Forgets the idempotency records of commands that are final and readable. Call it after the
 * commit.
 */
async function forgetRecords(records: IdempotencyRecords, ingested: readonly IngestedCommand[]): Promise<void> {
  const finalCommands = ingested.filter((row) => row.final && row.readable);
  if (finalCommands.length > 0) await records.forget(finalCommands);
}
