import { z } from "zod";

import { RequestId } from "../values.ts";
import { AccountName, RequestBody } from "./accounts.ts";
import { RiskRule, RiskRules } from "./risk.ts";

/** Maximum number of risk templates of one server. */
export const MAX_RISK_TEMPLATES = 100;
/** Maximum number of characters of a template's name. */
const MAX_NAME_CHARACTERS = 64;

/** The name of a template, chosen by the caller; unique among the templates of a server. */
export const RiskTemplateName = z
  .string()
  .min(1)
  .max(MAX_NAME_CHARACTERS)
  .regex(/^[A-Za-z0-9._-]+$/, "must have only letters, digits, '.', '_' and '-'");

/**
 * The states of accounts that a template may apply to: accounts that are open on their trading
 * server.
 */
export const RISK_TEMPLATE_STATUSES = ["active", "close_only", "disabled", "archived"] as const;
export const RiskTemplateStatus = z.enum(RISK_TEMPLATE_STATUSES);
export type RiskTemplateStatus = z.infer<typeof RiskTemplateStatus>;

/**
 * Selects the accounts that meet every condition. The template applies to them unless an older
 * template does, or their own rules were set, or deleted without `useTemplate`.
 */
export const RiskTemplateSelection = z
  .object({
    status: z
      .array(RiskTemplateStatus)
      .min(1)
      .max(RISK_TEMPLATE_STATUSES.length)
      .refine((statuses) => new Set(statuses).size === statuses.length, { error: "must not repeat a status" })
      .optional(),
    /** The beginning of the account's name, in the same case. */
    nameStartsWith: AccountName.optional(),
  })
  .refine(({ status, nameStartsWith }) => status !== undefined || nameStartsWith !== undefined, {
    error: "status, nameStartsWith or both must be given",
  });
export type RiskTemplateSelection = z.infer<typeof RiskTemplateSelection>;

/** Body of setRiskTemplate. */
export const SetRiskTemplateBody = z.object({
  rules: RiskRules,
  appliesTo: RiskTemplateSelection,
  /** Whether the template applies to accounts that are created, or begin to match, later. */
  newAccounts: z.boolean(),
  requestId: RequestId,
});
export type SetRiskTemplateBody = z.infer<typeof SetRiskTemplateBody>;

/** What happens to the rules that accounts have from a template that is deleted. */
export const TemplateAccountRules = z.enum(["keep", "remove"]);
export type TemplateAccountRules = z.infer<typeof TemplateAccountRules>;

/** Query of deleteRiskTemplate. */
export const DeleteRiskTemplateQuery = RequestBody.extend({ accountRules: TemplateAccountRules });
export type DeleteRiskTemplateQuery = z.infer<typeof DeleteRiskTemplateQuery>;

/** Whether a template is still being applied to accounts. */
export const RiskTemplateProgress = z.enum(["applying", "applied"]);

/** Numbers of accounts, by their progress. */
export const RiskTemplateAccounts = z.object({
  /** Accounts that have this version. */
  applied: z.int().min(0),
  /** Accounts that wait for this version. */
  waiting: z.int().min(0),
  /** Accounts whose last attempt failed. They are tried again. */
  failed: z.int().min(0),
});

/** A template as the API shows it. */
export const RiskTemplate = z.object({
  serverId: z.guid(),
  name: RiskTemplateName,
  /** Rises by one with each change. */
  version: z.int().min(1),
  rules: z.array(RiskRule),
  appliesTo: RiskTemplateSelection,
  newAccounts: z.boolean(),
  /** The command that made this version. */
  commandId: z.uuid(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  progress: RiskTemplateProgress,
  accounts: RiskTemplateAccounts,
});
export type RiskTemplate = z.infer<typeof RiskTemplate>;

/** Answer of getRiskTemplate. */
export const RiskTemplateAnswer = z.object({ riskTemplate: RiskTemplate });
/** Answer of listRiskTemplates, oldest first: the order in which templates take precedence. */
export const RiskTemplatesAnswer = z.object({ riskTemplates: z.array(RiskTemplate) });
