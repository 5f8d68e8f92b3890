import type { QueuedCommand } from "../commands/queued-command.ts";
import type {
  RiskRule,
  RiskTemplate,
  RiskTemplateAnswer,
  RiskTemplatesAnswer,
  RiskTemplateSelection,
  TemplateAccountRules,
} from "../generated/api.ts";
import { pathOf, type Transport } from "../http/transport.ts";
import type { CommandsResource, QueueOptions } from "./commands.ts";

/** The rules of a template, and the accounts that get them. */
export interface NewRiskTemplate {
  /** 1 to 10 rules. */
  readonly rules: readonly RiskRule[];
  /** At least one of `status` and `nameStartsWith`. */
  readonly appliesTo: RiskTemplateSelection;
  /**
   * Whether the template also applies to accounts that match later: after they are created or
   * renamed, or their status changes.
   */
  readonly newAccounts: boolean;
}

/** The risk templates of one server: `kapi.server(id).riskTemplates`. */
export class RiskTemplatesResource {
  readonly #transport: Transport;
  readonly #commands: CommandsResource;
  readonly #serverId: string;

  constructor(transport: Transport, commands: CommandsResource, serverId: string) {
    this.#transport = transport;
    this.#commands = commands;
    this.#serverId = serverId;
  }

  /** All templates, oldest first. If several templates match an account, the oldest applies. */
  async list(): Promise<readonly RiskTemplate[]> {
    const { body } = await this.#transport.request<RiskTemplatesAnswer>({ method: "GET", path: this.#path() });
    return body.riskTemplates;
  }

  /** A template, and how far it is applied to accounts. */
  async get(name: string): Promise<RiskTemplate> {
    const { body } = await this.#transport.request<RiskTemplateAnswer>({ method: "GET", path: this.#path(name) });
    return body.riskTemplate;
  }

  /**
   * Queues a new template, or a new version of a template. After the command has succeeded, kapi
   * applies this version to the accounts that match, and to accounts with rules from an earlier
   * version. Rules that were set on an account itself are not replaced.
   */
  set(name: string, template: NewRiskTemplate, options: QueueOptions): Promise<QueuedCommand<"risk.set_template">> {
    const { rules, appliesTo, newAccounts } = template;
    const request = { method: "PUT", path: this.#path(name), body: { rules, appliesTo, newAccounts } } as const;
    return this.#commands.queue(request, options);
  }

  /**
   * Queues the deletion of a template.
   * @param accountRules what happens to the rules that accounts have from the template.
   */
  delete(
    name: string,
    accountRules: TemplateAccountRules,
    options: QueueOptions,
  ): Promise<QueuedCommand<"risk.delete_template">> {
    return this.#commands.queue({ method: "DELETE", path: this.#path(name), body: { accountRules } }, options);
  }

  #path(...segments: readonly string[]): string {
    return pathOf("servers", this.#serverId, "risk-templates", ...segments);
  }
}
