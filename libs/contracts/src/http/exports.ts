import { z } from "zod";

import { MessageCreatedBy } from "../actor.ts";
import { DateTime, RequestId } from "../values.ts";
import { Transaction } from "./finance.ts";
import { Deal, Order, PositionMessage } from "./history.ts";

/** Maximum and default number of records per export (interface, "Limits"). */
export const MAX_EXPORT_RECORDS = 1_000;

/** Body of exportAccountHistory; `from` and `to` are inclusive (decisions, 8). */
export const ExportAccountHistoryBody = z
  .object({
    from: DateTime.optional(),
    to: DateTime.optional(),
    limit: z.int().min(1).max(MAX_EXPORT_RECORDS).default(MAX_EXPORT_RECORDS),
    requestId: RequestId,
  })
  .refine(({ from, to }) => from === undefined || to === undefined || from <= to, {
    path: ["from"],
    error: "must not be after to",
  });
export type ExportAccountHistoryBody = z.infer<typeof ExportAccountHistoryBody>;

/**
 * One record of an export. Its time is recordedAt, createdAt, openedAt or executedAt, by its kind.
 */
export const ExportRecord = z.discriminatedUnion("kind", [
  Transaction.extend({ kind: z.literal("transaction"), createdBy: MessageCreatedBy }),
  Order.extend({ kind: z.literal("order") }),
  PositionMessage.extend({ kind: z.literal("position") }),
  // A deal already has a field `kind`, which is called `dealKind` here.
  Deal.extend({ kind: z.literal("deal"), dealKind: z.string() }),
]);
export type ExportRecord = z.infer<typeof ExportRecord>;

/**
 * Result of account.history_export: the newest records of the four kinds together, newest first.
 */
export const HistoryExport = z.object({
  from: z.iso.datetime().nullable(),
  to: z.iso.datetime().nullable(),
  recordCount: z.int().min(0),
  /** Whether more records match than `records` has. */
  truncated: z.boolean(),
  records: z.array(ExportRecord),
});
export type HistoryExport = z.infer<typeof HistoryExport>;
