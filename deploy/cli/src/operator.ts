import { CommandLineError, EXIT_CODES } from "@kapi/client/cli";
import {
  type InternalRoute,
  type PageQuery,
  type PathParameters,
  pathOf,
  type RouteAddress,
  type RouteRequest,
} from "@kapi/contracts";
import { ConfigError, loadConfig } from "@kapi/runtime";
import { z } from "zod";

import { reasonOf, failureOf } from "./failure.ts";
import { type Environment, fromRunningKapi } from "./running-kapi.ts";

const REQUEST_TIMEOUT_MS = 10_000;
/** Number of items per request. */
const PAGE_LIMIT = 100;
/**
 * The settings of the operator's command line. If the settings that a command needs are
 * set, the command does not look for a running kapi. Each setting can also be in a file, for
 * example OPERATOR_TOKEN in the file that OPERATOR_TOKEN_FILE names.
 */
export const OperatorSettings = z.object({
  ORGANIZATION_URL: z.string().optional(),
  /** Only for users and the audit log. */
  CONSOLE_URL: z.string().optional(),
  OPERATOR_TOKEN: z.string().optional(),
});

/** The services with operator routes, and the setting with the address of each. */
const ADDRESSES = { organization: "ORGANIZATION_URL", console: "CONSOLE_URL" } as const;
/** A service with operator routes. */
export type OperatedService = keyof typeof ADDRESSES;

/** The address of a service, and the operator's token. */
export interface OperatorAddress {
  readonly url: string;
  readonly token: string;
}

/** A route that returns one page of a list. */
type ListRoute = InternalRoute & {
  readonly query: typeof PageQuery;
  readonly answer: z.ZodType<{ readonly pagination: { readonly totalPages: number } }>;
};

/**
 * The address of `service`, and the operator's token, from the environment (ORGANIZATION_URL or
 * CONSOLE_URL, and OPERATOR_TOKEN). A value that is not set is taken from the kapi that runs from
 * this checkout, whose state is in KAPI_STATE_DIR.
 * @throws CommandLineError if a setting is invalid, or if a value is not set and no such kapi runs.
 */
export async function operatorAddress(environment: Environment, service: OperatedService): Promise<OperatorAddress> {
  const variable = ADDRESSES[service];
  const { [variable]: url, OPERATOR_TOKEN: token } = given(environment);
  if (url !== undefined && token !== undefined) return { url, token };
  const missing = Object.entries({ [variable]: url, OPERATOR_TOKEN: token }).filter(([, value]) => value === undefined);
  const wanted = `set ${missing.map(([name]) => name).join(" and ")}`;
  const kept = await fromRunningKapi(environment, wanted, ({ keptProgramEnvironment }, folder) =>
    keptProgramEnvironment(folder, "cli"),
  );
  return { url: url ?? kept[variable] ?? "", token: token ?? kept["OPERATOR_TOKEN"] ?? "" };
}

function given(environment: Environment): z.output<typeof OperatorSettings> {
  try {
    return loadConfig(OperatorSettings, environment);
  } catch (error) {
    if (error instanceof ConfigError) throw new CommandLineError(error.problems.join("\n"), EXIT_CODES.usage);
    throw error;
  }
}

/** Calls the operator's routes of one service. */
export class Operator {
  readonly #service: OperatedService;
  readonly #address: () => Promise<OperatorAddress>;

  /** `address` is called for each request. Commands without a request need no address. */
  constructor(service: OperatedService, address: () => Promise<OperatorAddress>) {
    this.#service = service;
    this.#address = address;
  }

  /**
   * Calls a route and parses its response.
   * @throws CommandLineError for every status except 2xx, or if the service does not answer or its
   * address is unknown.
   */
  call<R extends InternalRoute>(route: R, request: RouteRequest<R>): Promise<z.output<R["answer"]>> {
    return this.#call(route, request, request.body);
  }

  /** All items of a list, page by page. */
  async list<R extends ListRoute, T>(
    route: R,
    params: PathParameters<R>,
    itemsOf: (page: z.output<R["answer"]>) => readonly T[],
  ): Promise<T[]> {
    const items: T[] = [];
    for (let page = 1; ; page += 1) {
      const answer = await this.#call(route, { params, query: { page, limit: PAGE_LIMIT } });
      items.push(...itemsOf(answer));
      if (page >= answer.pagination.totalPages) return items;
    }
  }

  async #call<R extends InternalRoute>(
    route: R,
    routeAddress: RouteAddress,
    body?: unknown,
  ): Promise<z.output<R["answer"]>> {
    const { url, token } = await this.#address();
    let response: Response;
    let text: string;
    try {
      response = await fetch(url + pathOf(route, routeAddress), {
        method: route.method,
        headers: {
          "x-service-token": token,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        body: body === undefined ? null : JSON.stringify(body),
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      });
      text = await response.text();
    } catch (error) {
      throw new CommandLineError(
        `The ${this.#service} service cannot be reached at ${url}: ${reasonOf(error)}`,
        EXIT_CODES.notFinal,
      );
    }
    if (!response.ok) throw failureOf(`The ${this.#service} service`, response.status, text);
    return (route.answer as z.ZodType<z.output<R["answer"]>>).parse(JSON.parse(text));
  }
}
