/** Requests about risk templates. `ConsoleApi` has those about the risk rules of an account. */
import { type Client, queryOf } from "./client.ts";
import type { CommandEnvelope, RiskTemplate, TemplateAccountsAnswer, TemplateAction } from "./shapes.ts";

const templates = (serverId: string): string => `/servers/${encodeURIComponent(serverId)}/risk-templates`;

/** Requests about risk templates. All throw a `Failure` on error. */
export class RiskApi {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** The templates of a server, in the order of their precedence. */
  async templates(serverId: string, signal: AbortSignal): Promise<RiskTemplate[]> {
    const { riskTemplates } = await this.#client.request<{ riskTemplates: RiskTemplate[] }>(templates(serverId), {
      signal,
    });
    return riskTemplates;
  }

  templateAccounts(
    serverId: string,
    name: string,
    after: string,
    signal: AbortSignal,
  ): Promise<TemplateAccountsAnswer> {
    return this.#client.request(`${templates(serverId)}/${encodeURIComponent(name)}/accounts${queryOf({ after })}`, {
      signal,
    });
  }

  /**
   * Requests a change of a template. The caller passes the same key for every attempt, so that the
   * change is made once.
   */
  changeTemplate(
    serverId: string,
    name: string,
    action: TemplateAction,
    body: Readonly<Record<string, unknown>> & { readonly idempotencyKey: string },
  ): Promise<CommandEnvelope> {
    const path = `${templates(serverId)}/${encodeURIComponent(name)}/actions/${action}`;
    return this.#client.request(path, { method: "POST", body });
  }
}
