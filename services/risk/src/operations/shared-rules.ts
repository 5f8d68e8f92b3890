/** Keeps equal rules of many accounts, such as those of a template, in memory only once. */
import type { RuleVersion, StoredRule } from "../domain/ports.ts";
import { type RuleSet, toRule } from "../domain/rule.ts";

/**
 * Maximum number of different lists of rules that are shared. Above it the oldest list is
 * forgotten: later versions do not share it.
 */
const MAX_SHARED_RULES = 1_000;

/** One for each partition. Objects that it returns belong to many accounts: never change them. */
export class SharedRules {
  readonly #byText = new Map<string, readonly StoredRule[]>();
  readonly #sets = new WeakMap<readonly StoredRule[], RuleSet>();
  /**
   * The version of the last call: when a partition is acquired, its versions come sorted by server,
   * so one remembered version is enough to share the ids.
   */
  #last: RuleVersion | null = null;

  /**
   * Returns an equal version. If an earlier call had the same version number and equal rules, the
   * result has the same object of rules. If the last call had the same server and organization, the
   * result has the same strings for both ids.
   */
  share(version: RuleVersion): RuleVersion {
    const last = this.#last;
    const rules = this.#shareRules(version);
    const isSameServer = last?.serverId === version.serverId && last.organizationId === version.organizationId;
    const { serverId, organizationId } = isSameServer ? last : version;
    this.#last = { ...version, rules, serverId, organizationId };
    return this.#last;
  }

  #shareRules(version: RuleVersion): readonly StoredRule[] {
    const text = `${version.version} ${JSON.stringify(version.rules)}`;
    const rules = this.#byText.get(text);
    if (rules !== undefined) return rules;
    this.#byText.set(text, version.rules);
    if (this.#byText.size > MAX_SHARED_RULES) {
      const [oldest = text] = this.#byText.keys();
      this.#byText.delete(oldest);
    }
    return version.rules;
  }

  /** The rules of a version in the form that the evaluation uses: one object for equal rules. */
  ruleSetOf({ version, rules }: RuleVersion): RuleSet {
    const known = this.#sets.get(rules);
    if (known !== undefined) return known;
    const set = { version, rules: rules.map(({ rule, since }) => toRule(rule, since)) };
    this.#sets.set(rules, set);
    return set;
  }
}
