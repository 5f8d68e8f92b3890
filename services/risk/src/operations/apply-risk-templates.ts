/**
 * Applies templates to accounts: looks for the accounts of a changed template, and compares waiting
 * accounts with the templates of their server. Every process does so for the partitions of
 * `trading.valuations` that it owns. Each step is stored, so the next owner continues from there.
 *
 * Invariant: an account waits until one transaction has compared it and stored its new version of
 * rules, if it gets one, or until it needs no comparison. The transaction locks the newest rules of
 * the account. So two processes that compare the same account at the same time store one version.
 */
import { backOffMs, type Clock } from "@kapi/kernel";
import { counter, type Logger } from "@kapi/runtime";

import type { ReadAccount } from "../domain/ports.ts";
import type {
  SearchingTemplate,
  SelectedAccounts,
  TemplateRepository,
  WaitingAccount,
} from "../domain/template-ports.ts";
import { valuesOf } from "./change-risk-rules.ts";

/** Maximum number of templates whose next accounts are looked for in one round. */
const MAX_SEARCH_BATCH = 8;
/** Maximum number of accounts that one search adds. */
const MAX_FOUND_BATCH = 1_000;
/** Maximum number of waiting accounts of one server in one round. */
const MAX_WAITING_BATCH = 64;
/** Maximum number of accounts of one server that are compared at the same time. */
const MAX_CONCURRENT_ACCOUNTS = 4;
/** Maximum number of servers whose accounts are compared at the same time. */
const MAX_CONCURRENT_SERVERS = 4;
/**
 * With this many versions of rules that are not active yet, only created and changed accounts are
 * compared, no accounts that wait because a template is applied. Versions from commands and from
 * templates become active in one order, so templates must not delay commands for long.
 */
const MAX_INACTIVE_VERSIONS = 100;
/** Pauses after failed attempts of an account, a server, all searches, or a template's search. */
const BACK_OFF = { firstMs: 1_000, maxMs: 60_000 };
/** Pause of an account while its rules from a command are not active, and may be discarded. */
const UNCERTAIN_PAUSE_MS = 1_000;

const applied = counter("risk.templates.applied", "Versions of rules that accounts got from templates", "{version}");
const failed = counter("risk.templates.failures", "Failed attempts to apply a template to an account", "{attempt}");

interface TemplateApplierOptions {
  readonly templates: TemplateRepository;
  readonly selected: Pick<SelectedAccounts, "list">;
  readonly readAccount: ReadAccount;
  /** The partitions that this process owns now. */
  readonly assigned: () => readonly number[];
  readonly partitionOf: (serverId: string, accountNumber: string) => number;
  /** Whether the account service, or the trading server behind it, gave no clear answer. */
  readonly isUnavailable: (error: unknown) => boolean;
  /** Whether the database is unavailable, or another process has changed the same account. */
  readonly isConflict: (error: unknown) => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Consecutive failures, and the end of the pause. */
interface Pause {
  readonly failures: number;
  readonly untilMs: number;
}

/** The key of the pause of all searches. */
const SEARCHES = "searches";

/**
 * One for each process. Call {@link TemplateApplier.round} again and again, one round at a time. If
 * accounts of a server are unavailable, only this server is paused, for up to a minute. If a search
 * finds the account service unavailable, all searches are paused. After an unexpected error of a
 * search, only the search of its template is paused.
 */
export class TemplateApplier {
  readonly #options: TemplateApplierOptions;
  /** By id of a server, {@link SEARCHES}, or {@link searchOf} a template. */
  readonly #pauses = new Map<string, Pause>();

  constructor(options: TemplateApplierOptions) {
    this.#options = options;
  }

  /**
   * One round: the next accounts of changed templates, then the waiting accounts. Returns whether a
   * server possibly has more accounts that are due.
   * @throws the database's error while it is unavailable.
   */
  async round(): Promise<boolean> {
    const { templates, assigned } = this.#options;
    const partitions = assigned();
    if (partitions.length === 0) return false;
    this.#forgetOldPauses();
    const [searching, due] = await Promise.all([
      templates.searching(partitions, MAX_SEARCH_BATCH),
      templates.due(partitions, MAX_WAITING_BATCH),
    ]);
    for (const template of searching) await this.#search(template);
    const changed = due.filter(({ templateName }) => templateName === null);
    const isFull =
      changed.length < due.length && (await templates.waitingVersions(partitions)) >= MAX_INACTIVE_VERSIONS;
    const byServer = Map.groupBy(isFull ? changed : due, ({ serverId }) => serverId);
    const open = [...byServer].filter(([serverId]) => !this.#isPaused(serverId));
    await eachOf(open, MAX_CONCURRENT_SERVERS, ([serverId, accounts]) => this.#compareAll(serverId, accounts));
    return open.some(([, accounts]) => accounts.length === MAX_WAITING_BATCH);
  }

  async #search(template: SearchingTemplate): Promise<void> {
    const { templates, selected, partitionOf } = this.#options;
    const { serverId, appliesTo, fromTemplateAfter, selectedAfter } = template;
    if (fromTemplateAfter !== null) return templates.addFromTemplate(template, MAX_FOUND_BATCH);
    if (selectedAfter === null || this.#isPaused(SEARCHES) || this.#isPaused(searchOf(template))) return;
    await this.#attempt(SEARCHES, searchOf(template), async () => {
      const numbers = await selected.list(serverId, appliesTo, selectedAfter, MAX_FOUND_BATCH);
      const accounts = numbers.map((accountNumber) => ({
        serverId,
        accountNumber,
        partition: partitionOf(serverId, accountNumber),
      }));
      await templates.addSelected(template, accounts, numbers.length < MAX_FOUND_BATCH);
    });
  }

  async #compareAll(serverId: string, waiting: readonly WaitingAccount[]): Promise<void> {
    const { templates } = this.#options;
    await templates.remove(waiting.filter(({ rules }) => rules === "own"));
    const uncertain = waiting.filter(({ rules }) => rules === "uncertain");
    await templates.postpone(uncertain, UNCERTAIN_PAUSE_MS, false);
    const open = waiting.filter(({ rules }) => rules === null);
    await eachOf(open, MAX_CONCURRENT_ACCOUNTS, async (account) => {
      if (this.#isPaused(serverId)) return;
      if (await this.#attempt(serverId, null, () => this.#compare(account))) return;
      failed.add(1);
      await templates.postpone([account], backOffMs(account.attempts + 1, Math.random, BACK_OFF), true);
    });
  }

  async #compare(waiting: WaitingAccount): Promise<void> {
    const { templates, readAccount } = this.#options;
    const account = await readAccount(waiting);
    // An account without values is not open yet. Its opening publishes an event, which adds it
    // again.
    if (account === null || account.valuation === null) return templates.remove([waiting]);
    const { valuation, ...fields } = account;
    if (await templates.apply(waiting, { ...fields, seed: valuesOf(valuation) })) applied.add(1);
  }

  /**
   * Runs `work`. If accounts are unavailable, `dependency` is paused. After an unexpected error,
   * `cause` is paused, unless it is null. Returns false in both cases. After a conflict, nothing is
   * paused, and the result is true: the next round repeats the work.
   */
  async #attempt(dependency: string, cause: string | null, work: () => Promise<void>): Promise<boolean> {
    const { isUnavailable, isConflict, logger } = this.#options;
    try {
      await work();
      this.#pauses.delete(dependency);
      if (cause !== null) this.#pauses.delete(cause);
      return true;
    } catch (error) {
      if (isConflict(error)) return true;
      if (!isUnavailable(error)) {
        logger.error({ err: error, what: cause ?? dependency }, "a template cannot be applied");
        if (cause !== null) this.#pause(cause);
        return false;
      }
      const pauseMs = this.#pause(dependency);
      logger.warn({ err: error, what: dependency, pauseMs }, "templates cannot be applied: accounts are unavailable");
      return false;
    }
  }

  /** Returns the length of the pause, which grows with consecutive failures. */
  #pause(what: string): number {
    const failures = (this.#pauses.get(what)?.failures ?? 0) + 1;
    const pauseMs = backOffMs(failures, Math.random, BACK_OFF);
    this.#pauses.set(what, { failures, untilMs: this.#options.clock.nowMs() + pauseMs });
    return pauseMs;
  }

  /** Bounds the map: deleted servers and templates have no further attempt. */
  #forgetOldPauses(): void {
    const beforeMs = this.#options.clock.nowMs() - BACK_OFF.maxMs;
    for (const [what, { untilMs }] of this.#pauses) if (untilMs < beforeMs) this.#pauses.delete(what);
  }

  #isPaused(what: string): boolean {
    const pause = this.#pauses.get(what);
    return pause !== undefined && pause.untilMs > this.#options.clock.nowMs();
  }
}

/** The key of the pause of a template's search. Ids of servers have no space. */
function searchOf({ serverId, name }: SearchingTemplate): string {
  return `search ${serverId} ${name}`;
}

/** Runs `work` for every item, at most `limit` at the same time. */
async function eachOf<T>(items: readonly T[], limit: number, work: (item: T) => Promise<void>): Promise<void> {
  const waiting = items.values();
  const worker = async (): Promise<void> => {
    for (const item of waiting) await work(item);
  };
  const ended = await Promise.allSettled(Array.from({ length: Math.min(limit, items.length) }, worker));
  for (const result of ended) if (result.status === "rejected") throw result.reason;
}
