/**
 * Records whose shape depends on one of their fields. Each variant is a schema of its own, and the
 * union names the field that tells them apart, so that generated code can switch on it.
 */
import { z } from "zod";

import { type CommandOperation, COMMANDS } from "../commands.ts";
import { COMMAND_RESULTS } from "../http/command-results.ts";
import { Command } from "../http/commands.ts";
import { ExportRecord } from "../http/exports.ts";
import { DailyLossRule, MaxLossRule, ProfitTargetRule } from "../http/risk.ts";
import { FeedEvent } from "../http/webhooks.ts";
import { EVENTS } from "./event-schemas.ts";

/** A union of named schemas. */
interface Union {
  /** The field that tells the variants apart. */
  readonly field: string;
  /** Schemas by name. */
  readonly variants: Readonly<Record<string, z.ZodObject>>;
}

/** The payload of an export. Its times are already converted to UTC. */
const EXPORT_PAYLOAD = z.object({
  from: z.iso.datetime().nullish(),
  to: z.iso.datetime().nullish(),
  limit: z.int(),
});

/** Unions by the name of their schema in the document. */
export const UNIONS: Readonly<Record<string, Union>> = {
  Command: { field: "operation", variants: commandVariants() },
  ExportRecord: { field: "kind", variants: exportVariants() },
  RiskRule: { field: "type", variants: { DailyLossRule, MaxLossRule, ProfitTargetRule } },
  WebhookEvent: { field: "type", variants: EVENTS },
  FeedEvent: { field: "type", variants: feedVariants() },
};

function commandVariants(): Record<string, z.ZodObject> {
  const operations = Object.keys(COMMANDS) as CommandOperation[];
  return Object.fromEntries(
    operations.map((operation) => [
      `${pascalCase(operation)}Command`,
      Command.extend({
        operation: z.literal(operation),
        payload: (operation === "account.history_export" ? EXPORT_PAYLOAD : COMMANDS[operation].payload).optional(),
        result: COMMAND_RESULTS[operation].nullable(),
      }),
    ]),
  );
}

function exportVariants(): Record<string, z.ZodObject> {
  return Object.fromEntries(
    ExportRecord.options.map((record) => [`${pascalCase(record.shape.kind.value)}Record`, record]),
  );
}

function feedVariants(): Record<string, z.ZodObject> {
  const { id, cursor } = FeedEvent.shape;
  return Object.fromEntries(
    Object.entries(EVENTS).map(([name, event]) => [`Feed${name}`, z.object({ id, cursor, ...event.shape })]),
  );
}

/** The values of the field that tells variants apart, for one variant. */
export function valuesOf(variant: z.ZodObject, field: string): readonly string[] {
  const schema = variant.shape[field];
  if (schema instanceof z.ZodLiteral) return [...schema.values].map(String);
  if (schema instanceof z.ZodEnum) return schema.options.map(String);
  throw new Error(`the field ${field} of a variant is neither a literal nor an enum`);
}

/** account.password_reset → AccountPasswordReset. */
function pascalCase(name: string): string {
  return name.replaceAll(/(?:^|[._])(\w)/g, (_whole, letter: string) => letter.toUpperCase());
}
