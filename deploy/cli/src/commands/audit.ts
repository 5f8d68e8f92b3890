import { type OperatorAuditEntry, CONSOLE_ROUTES } from "@kapi/contracts";
import { type Command, InvalidArgumentError } from "commander";

import { addCommand, type CommandContext, type PrintOptions } from "../context.ts";
import { table } from "../output.ts";

/** Default number of listed entries. */
const DEFAULT_ENTRIES = 100;
/** Maximum number of entries of one command. */
const MAX_ENTRIES = 10_000;
/** Number of entries per request. */
const PAGE_LIMIT = 100;

interface ListOptions extends PrintOptions {
  readonly organization?: string;
  readonly limit: number;
  readonly before?: string;
}

/** `kapi admin audit list` */
export function addAudit(program: Command, context: CommandContext): void {
  const audit = program.command("audit").description("Who did what, from where");
  addCommand(audit, "list", "List the audit log, newest first")
    .option("--organization <id>", "only entries of this organization (default: all)")
    .option("--limit <entries>", "maximum number of entries", entries, DEFAULT_ENTRIES)
    .option("--before <id>", "only entries that are older than the entry with this id")
    .action((options: ListOptions) => list(context, options));
}

async function list(context: CommandContext, options: ListOptions): Promise<void> {
  const found: OperatorAuditEntry[] = [];
  let before = options.before;
  do {
    const limit = Math.min(PAGE_LIMIT, options.limit - found.length);
    const query = { limit, organizationId: options.organization, before };
    const page = await context.operator("console").call(CONSOLE_ROUTES.listAuditLog, { query });
    found.push(...page.entries);
    before = page.next ?? undefined;
  } while (before !== undefined && found.length < options.limit);
  context.print(options, found, (rows) =>
    table(rows, [
      { heading: "ID", of: (row) => row.id },
      { heading: "AT", of: (row) => row.at },
      { heading: "ORGANIZATION", of: (row) => row.organizationId ?? "-" },
      { heading: "ACTION", of: (row) => row.action },
      { heading: "BY", of: ({ actor }) => (actor === null ? "-" : named(actor.type, actor.name ?? actor.id)) },
      { heading: "ADDRESS", of: (row) => row.address ?? "-" },
      { heading: "SUBJECT", of: ({ subject }) => (subject === null ? "-" : named(subject.type, subject.id)) },
      { heading: "DETAILS", of: (row) => JSON.stringify(row.details) },
    ]),
  );
}

function named(type: string, id: string | null): string {
  return id === null ? type : `${type} ${id}`;
}

function entries(text: string): number {
  const count = /^[1-9]\d{0,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(count <= MAX_ENTRIES)) throw new InvalidArgumentError(`It must be a whole number from 1 to ${MAX_ENTRIES}.`);
  return count;
}
