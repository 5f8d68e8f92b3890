import type { OwnersAnswer, WebhooksRequest } from "../domain/console-ports.ts";
import type { ConsoleContext } from "./console-context.ts";

/**
 * Asks the service that owns webhooks for an organization, which finds only what is that organization's. Returns its status
 * and bytes; throws the ApiError that it refuses with, and DependencyError where it is away.
 */
export async function askWebhooks(
  { webhooks }: Pick<ConsoleContext, "webhooks">,
  organizationId: string,
  request: WebhooksRequest,
): Promise<OwnersAnswer> {
  const answer = await webhooks(organizationId, request);
  if ("refusal" in answer) throw answer.refusal;
  return answer;
}
