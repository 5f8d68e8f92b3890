/** Risk templates in the console: the accounts that a template applies to. */
import { z } from "zod";

import { AccountNumber } from "../values.ts";

/** Maximum, and default, number of accounts on a page. */
const MAX_TEMPLATE_ACCOUNTS = 100;

/** Query of a page of accounts; `after` is the last account number of the page before. */
export const TemplateAccountsQuery = z.object({
  after: AccountNumber.optional(),
  limit: z.coerce.number().int().min(1).max(MAX_TEMPLATE_ACCOUNTS).default(MAX_TEMPLATE_ACCOUNTS),
});
export type TemplateAccountsQuery = z.infer<typeof TemplateAccountsQuery>;

/**
 * - `applied`: the account has the rules of the template's newest version
 * - `waiting`: the account will get these rules, or has them and they are not active yet
 * - `failed`: the last attempt to give the account these rules failed, and will be repeated
 */
export const TemplateAccountState = z.enum(["applied", "waiting", "failed"]);

export const TemplateAccount = z.object({
  accountNumber: AccountNumber,
  state: TemplateAccountState,
  /** The version of the template that the account has; null: none of this template. */
  templateVersion: z.int().min(1).nullable(),
});
export type TemplateAccount = z.infer<typeof TemplateAccount>;

/** `next`: `after` of the next page; null: this page is the last. */
export const TemplateAccountsAnswer = z.object({
  accounts: z.array(TemplateAccount),
  next: AccountNumber.nullable(),
});
export type TemplateAccountsAnswer = z.infer<typeof TemplateAccountsAnswer>;
