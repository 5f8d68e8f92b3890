/** The internal routes of command-status. Its answers are text that is rendered once. */
import { z } from "zod";

import { Command, CommandAnswer, CommandsAnswer, ListCommandsQuery } from "../http/commands.ts";
import { Guid } from "../values.ts";
import { CUSTOMER_CALLERS, type InternalRoutes } from "./route.ts";

/** Most commands or organizations of one request. */
const MAX_IDS = 1_000;
/** Longest wait of one request, in milliseconds (decisions, 3.7). */
const MAX_WAIT_MS = 30_000;
/** Stands for a command that did not fit beside the others. The first one always fits. */
export const LATER = "later";

const SERVER = "/internal/servers/:serverId";
const ListQuery = ListCommandsQuery.extend({ organizationId: Guid });

const lookUp = {
  method: "POST",
  path: "/internal/commands/lookup",
  callers: CUSTOMER_CALLERS,
  body: z.object({ commandIds: z.array(z.guid()).max(MAX_IDS) }),
  /** In order; null for a command that is not known (yet). */
  answer: z.object({
    commands: z.array(
      z
        .object({
          fingerprint: z.string(),
          organizationId: z.string(),
          derivationKeyId: z.string().nullable(),
          command: Command,
        })
        .or(z.literal(LATER))
        .nullable(),
    ),
  }),
} as const;

export const COMMAND_STATUS_ROUTES = {
  /** 413 where the answer is too large to be given whole. */
  listCommands: {
    method: "GET",
    path: `${SERVER}/commands`,
    callers: CUSTOMER_CALLERS,
    query: ListQuery,
    answer: CommandsAnswer,
  },
  /** The same answer of any size, as it comes. */
  streamCommands: {
    method: "GET",
    path: `${SERVER}/commands/stream`,
    callers: CUSTOMER_CALLERS,
    query: ListQuery,
    answer: CommandsAnswer,
  },
  /** Lines of text, one per command and in order: the answer of getCommand, "later" as JSON, or nothing. */
  readCommands: {
    method: "POST",
    path: "/internal/commands/read",
    callers: CUSTOMER_CALLERS,
    body: z.object({
      reads: z.array(z.object({ organizationId: z.guid(), commandId: z.guid() })).max(MAX_IDS),
    }),
    answer: z.string(),
  },
  waitForCommand: {
    method: "POST",
    path: "/internal/commands/wait",
    callers: ["gateway"],
    body: z.object({ organizationId: Guid, commandId: Guid, timeoutMs: z.int().min(0).max(MAX_WAIT_MS) }),
    answer: CommandAnswer,
  },
  lookUpCommands: lookUp,
  /** The commands of organizations that are not final. */
  listOpenCommands: {
    method: "POST",
    path: "/internal/commands/open",
    callers: ["organization"],
    body: z.object({ organizationIds: z.array(z.guid()).max(MAX_IDS) }),
    answer: z.object({
      commands: z.array(z.object({ commandId: z.guid(), organizationId: z.guid(), reservedCredits: z.int().min(0) })),
    }),
  },
  /** Answers once everything is read that was in the topics of commands at the time of the request; 503 after 10 s. */
  waitUntilCaughtUp: {
    method: "POST",
    path: "/internal/commands/caught-up",
    callers: ["organization"],
    /** An empty object; not looked at. */
    body: z.unknown(),
    answer: z.object({ caughtUp: z.boolean() }),
  },
} as const satisfies InternalRoutes;

/**
 * {@link COMMAND_STATUS_ROUTES.lookUpCommands} for a caller that needs the status alone. A status
 * that this release does not know is no error.
 */
export const LOOK_UP_STATUSES = {
  ...lookUp,
  answer: z.object({
    commands: z.array(z.union([z.null(), z.literal(LATER), z.object({ command: z.object({ status: z.string() }) })])),
  }),
} as const;
