import { personIdempotencyKey, RiskRulesAnswer, RiskTemplateAnswer, type AccountRef } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { commandIdOf } from "@kapi/kernel";

import type { Directory, Risk } from "../domain/ports.ts";

/**
 * `risk` reads the newest version. It does not check that the organization has the server: callers
 * ask `directory` first.
 */
export interface RiskVersionDependencies {
  readonly directory: Directory;
  readonly risk: Pick<Risk, "rules" | "template">;
}

/** The version that a person saw before a change, and the key of the change. */
export interface ExpectedVersion {
  readonly organizationId: string;
  readonly userId: string;
  readonly idempotencyKey: string;
  readonly expectedVersion: number;
}

/**
 * Throws 409 if the person did not see the newest version of the rules; not for a repeat of the
 * change that made the newest version. Changes that are queued at the same time pass: the result of
 * each command shows the version that the command made.
 */
export async function requireRulesVersion(
  { risk }: RiskVersionDependencies,
  account: AccountRef,
  expected: ExpectedVersion,
): Promise<void> {
  const { riskRules } = RiskRulesAnswer.parse(JSON.parse((await risk.rules(account)).toString("utf8")));
  requireVersion("The rules were", riskRules, expected);
}

/**
 * Throws 409 if the person did not see the newest version of the template; not for a repeat of the
 * change that made the newest version. Version 0: there is no template of this name.
 */
export async function requireTemplateVersion(
  { risk }: RiskVersionDependencies,
  { serverId, templateName }: { readonly serverId: string; readonly templateName: string },
  expected: ExpectedVersion,
): Promise<void> {
  const body = await risk.template(serverId, templateName);
  const found = body === null ? null : RiskTemplateAnswer.parse(JSON.parse(body.toString("utf8"))).riskTemplate;
  requireVersion("The template was", found ?? { version: 0, commandId: null }, expected);
}

/** A repeat of the change that made the version passes: the gateway answers with that command. */
function requireVersion(
  /** The start of the error text. */
  subject: string,
  { version, commandId }: { readonly version: number; readonly commandId: string | null },
  { organizationId, userId, idempotencyKey, expectedVersion }: ExpectedVersion,
): void {
  if (version === expectedVersion) return;
  if (commandId === commandIdOf(organizationId, personIdempotencyKey(userId, idempotencyKey))) return;
  const text =
    version === 0
      ? `${subject} deleted by somebody else`
      : expectedVersion === 0
        ? `${subject} already created, in version ${version}`
        : `${subject} changed by somebody else: the current version is ${version}. Reload and try again`;
  throw new ApiError("VERSION_CHANGED", { text });
}
