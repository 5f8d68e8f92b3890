/** The internal routes of the gateway: operations that a person calls in the console. */
import { z } from "zod";

import { CommandEnvelope } from "../http/commands.ts";
import { PERSON_OPERATIONS, PERSON_TEMPLATE_OPERATIONS } from "../http/console-actions.ts";
import type { InternalRoutes } from "./route.ts";

const SERVER = "/internal/organizations/:organizationId/servers/:serverId";

const OperationCall = z.object({
  /** The console page chooses one key for each change that the person requests. */
  idempotencyKey: z.uuid(),
  /** The operation's body, or its query if it has no body. The operation validates it. */
  body: z.record(z.string(), z.unknown()),
});

export const GATEWAY_ROUTES = {
  /**
   * An operation of the management API on an account, for the person that `x-kapi-actor` names.
   * The answer, 202 or 200, and the errors are those of the operation.
   */
  callAccountOperation: {
    method: "POST",
    path: `${SERVER}/accounts/:accountNumber/operations`,
    callers: ["console"],
    body: OperationCall.extend({ operation: z.enum(PERSON_OPERATIONS) }),
    answer: CommandEnvelope,
  },
  /** Like `callAccountOperation`, for an operation on a risk template. */
  callTemplateOperation: {
    method: "POST",
    path: `${SERVER}/risk-templates/:templateName/operations`,
    callers: ["console"],
    body: OperationCall.extend({ operation: z.enum(PERSON_TEMPLATE_OPERATIONS) }),
    answer: CommandEnvelope,
  },
} as const satisfies InternalRoutes;
