/** What risk needs to apply templates: storage, and the accounts of a server. */
import type { WorkTransaction } from "@kapi/commands";
import type {
  Currency,
  RiskRule,
  RiskTemplate,
  RiskTemplateSelection,
  TemplateAccountsAnswer,
  AccountRef,
} from "@kapi/contracts";

import type { AccountValues } from "./evaluation.ts";
import type { SelectableAccount, Template } from "./template.ts";

/** A template of a server. */
export interface TemplateName {
  readonly serverId: string;
  readonly name: string;
}

/** A new version of a template, or its deletion. */
export type TemplateChange = TemplateName & {
  readonly organizationId: string;
  readonly commandId: string;
} & (
    | {
        readonly kind: "set";
        readonly rules: readonly RiskRule[];
        readonly appliesTo: RiskTemplateSelection;
        readonly newAccounts: boolean;
      }
    | { readonly kind: "delete"; readonly accountRules: "keep" | "remove" }
  );

/** The templates of a server, as a change of a template sees them. */
export interface TemplateState {
  /** Number of templates that are not deleted. */
  readonly count: number;
  /** Whether the template exists. */
  readonly exists: boolean;
  /** Whether this template was deleted, and its rules are still being removed from accounts. */
  readonly isRemoving: boolean;
}

/** A template whose accounts are being looked for. */
export interface SearchingTemplate extends TemplateName {
  readonly version: number;
  readonly appliesTo: RiskTemplateSelection;
  /**
   * The last account found of those whose rules came from the template; empty at the start. Null:
   * all of them were found.
   */
  readonly fromTemplateAfter: string | null;
  /**
   * The last account found of those that the template selects; empty at the start. Null: all of
   * them were found.
   */
  readonly selectedAfter: string | null;
}

/** An account, and its partition in `trading.valuations`. */
export interface LocatedAccount extends AccountRef {
  readonly partition: number;
}

/** An account that waits to be compared with the templates of its server. */
export interface WaitingAccount extends AccountRef {
  /** The template that is being applied; null: the account was created or changed. */
  readonly templateName: string | null;
  readonly partition: number;
  /** Raised whenever the account is added again while it waits. */
  readonly revision: number;
  /** Number of failed attempts. */
  readonly attempts: number;
  /**
   * Where the account's newest rules come from. `own`: a command set or removed them on the
   * account. `uncertain`: as `own`, but their version is not active yet and may still be discarded.
   * Null: the account never had rules, or its rules come from a template.
   */
  readonly rules: "own" | "uncertain" | null;
}

/** Templates, and the accounts that wait for them, in PostgreSQL. */
export interface TemplateRepository {
  /**
   * The templates of a server as the API shows them, in the order of their creation; with a name
   * only this one, if it exists.
   */
  list(serverId: string, name: string | null): Promise<readonly RiskTemplate[]>;
  /** All templates of a server, with deleted ones, in the order of their creation. */
  all(serverId: string): Promise<readonly Template[]>;
  stateOf(template: TemplateName): Promise<TemplateState>;
  /** Stores a change, and begins to apply it. Returns the version. */
  changeTemplate(transaction: WorkTransaction, change: TemplateChange, partition: number): Promise<number>;
  /** The templates of these partitions whose accounts are being looked for, at most `limit`. */
  searching(partitions: readonly number[], limit: number): Promise<readonly SearchingTemplate[]>;
  /** Adds to the waiting accounts the next `limit` accounts whose rules came from the template. */
  addFromTemplate(template: SearchingTemplate, limit: number): Promise<void>;
  /** Adds the next selected accounts; `isLast`: no account follows them in the selection. */
  addSelected(template: SearchingTemplate, accounts: readonly LocatedAccount[], isLast: boolean): Promise<void>;
  /** Adds created or changed accounts, if an active template of their server has `newAccounts`. */
  addChanged(accounts: readonly LocatedAccount[]): Promise<void>;
  /**
   * The waiting accounts of these partitions that are due, at most `limit` of each server: created
   * and changed accounts first.
   */
  due(partitions: readonly number[], limit: number): Promise<readonly WaitingAccount[]>;
  /** Number of versions of rules of these partitions that are not active yet. */
  waitingVersions(partitions: readonly number[]): Promise<number>;
  /** Removes accounts that need no comparison, unless they were added again meanwhile. */
  remove(accounts: readonly WaitingAccount[]): Promise<void>;
  /** Postpones accounts by `pauseMs`. With `hasFailed`, counts a failed attempt. */
  postpone(accounts: readonly WaitingAccount[], pauseMs: number, hasFailed: boolean): Promise<void>;
  /**
   * Compares an account with the templates of its server, and stores the version of the rules that
   * the account gets, in one transaction. Stores nothing if the account keeps its rules, was
   * deleted or compared meanwhile, or must be compared again later. Returns whether a version was
   * stored.
   */
  apply(waiting: WaitingAccount, account: OpenAccount): Promise<boolean>;
}

/** An account that is open on its trading server, with its values now. */
export interface OpenAccount extends SelectableAccount {
  readonly accountId: string;
  readonly initialBalanceMinor: number;
  readonly currency: Currency;
  readonly seed: AccountValues;
}

/** The accounts of a server that a template selects. */
export interface SelectedAccounts {
  count(serverId: string, selection: RiskTemplateSelection): Promise<number>;
  /** The numbers of the first `limit` accounts above `after`, in order. */
  list(serverId: string, selection: RiskTemplateSelection, after: string, limit: number): Promise<readonly string[]>;
}

/**
 * The accounts above `after` that have rules of a template or wait for them, in the order of their
 * numbers as text. A page may have fewer than `limit` accounts. It is the last if `next` is null.
 */
export type ListTemplateAccounts = (
  template: TemplateName,
  after: string,
  limit: number,
) => Promise<TemplateAccountsAnswer>;
