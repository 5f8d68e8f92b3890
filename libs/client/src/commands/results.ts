import type { Command, ExportRecord, HistoryExport } from "../generated/api.ts";

/** A queued operation, such as `finance.deposit`. */
export type CommandOperation = Command["operation"];

/** A command of one operation. */
export type CommandOf<Operation extends CommandOperation> = Extract<Command, { operation: Operation }>;

/** What a succeeded command of the operation returns. */
export type ResultOf<Operation extends CommandOperation> = NonNullable<CommandOf<Operation>["result"]>;

export type { ExportRecord, HistoryExport };
