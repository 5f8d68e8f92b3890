/** The internal routes of command-status. */
import { z } from "zod";

import { Command, CommandAnswer, CommandsAnswer, ListCommandsQuery } from "../http/commands.ts";
import { Guid } from "../values.ts";
import { CUSTOMER_CALLERS, type InternalRoutes } from "./route.ts";

/** Maximum number of commands or organizations per request. */
const MAX_IDS = 1_000;
/** Maximum wait of one request, in milliseconds (decisions, 3.7). */
const MAX_WAIT_MS = 30_000;
/**
 * Replaces a command that did not fit into the answer: request the command again. The first command
 * always fits.
 */
export const LATER = "later";

const SERVER = "/internal/servers/:serverId";
const ListQuery = ListCommandsQuery.extend({ organizationId: Guid });

const lookUp = {
  method: "POST",
  path: "/internal/commands/lookup",
  callers: CUSTOMER_CALLERS,
  body: z.object({ commandIds: z.array(z.guid()).max(MAX_IDS) }),
  /** In the order of the request; null for an unknown command. */
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
  /** 413 when the answer is too large for one body: use `streamCommands`. */
  listCommands: {
    method: "GET",
    path: `${SERVER}/commands`,
    callers: CUSTOMER_CALLERS,
    query: ListQuery,
    answer: CommandsAnswer,
  },
  /** The answer of `listCommands` as a stream, of any size. */
  streamCommands: {
    method: "GET",
    path: `${SERVER}/commands/stream`,
    callers: CUSTOMER_CALLERS,
    query: ListQuery,
    answer: CommandsAnswer,
  },
  /**
   * One line per command, in the order of the request: the answer of getCommand, or {@link LATER}
   * as JSON. The line is empty for an unknown command and for a command of another organization.
   */
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
  /** The commands without a final state, of the given organizations. */
  listOpenCommands: {
    method: "POST",
    path: "/internal/commands/open",
    callers: ["organization"],
    body: z.object({ organizationIds: z.array(z.guid()).max(MAX_IDS) }),
    answer: z.object({
      commands: z.array(z.object({ commandId: z.guid(), organizationId: z.guid(), reservedCredits: z.int().min(0) })),
    }),
  },
  /** Number of commands of an organization that are not final yet, by server. */
  countWaitingCommands: {
    method: "GET",
    path: "/internal/organizations/:organizationId/waiting-commands",
    callers: ["console"],
    answer: z.object({
      servers: z.array(
        z.object({
          serverId: z.guid(),
          waiting: z.int().min(1),
          /**
           * `createdAt` of the oldest of these commands, as far as their messages have arrived;
           * null: no message has arrived.
           */
          oldestCreatedAt: z.iso.datetime().nullable(),
        }),
      ),
    }),
  },
  /**
   * Answers as soon as every record that `commands.*` and `command.events` had at the time of the
   * request is stored. Returns 503 if that takes more than 10 s.
   */
  waitUntilCaughtUp: {
    method: "POST",
    path: "/internal/commands/caught-up",
    callers: ["organization"],
    /** Ignored; callers send an empty object. */
    body: z.unknown(),
    answer: z.object({ caughtUp: z.boolean() }),
  },
} as const satisfies InternalRoutes;

/**
 * {@link COMMAND_STATUS_ROUTES.lookUpCommands} for a caller that needs only the status. It accepts
 * statuses of later releases.
 */
export const LOOK_UP_STATUSES = {
  ...lookUp,
  answer: z.object({
    commands: z.array(z.union([z.null(), z.literal(LATER), z.object({ command: z.object({ status: z.string() }) })])),
  }),
} as const;
