import { assert, assertDefined } from "@kapi/kernel";
import { z } from "zod";

import { RiskTemplateName } from "../http/risk-templates.ts";
import { AccountNumber, Guid } from "../values.ts";

/**
 * The callers of internal routes. A service token begins with the name of its caller. `operator` is
 * the operator's command line.
 */
export const CALLERS = [
  "gateway",
  "account",
  "export",
  "metrics",
  "organization",
  "console",
  "risk",
  "operator",
] as const;
export type Caller = (typeof CALLERS)[number];
/** Callers on behalf of a customer: the management API, and the console. */
export const CUSTOMER_CALLERS = ["gateway", "console"] as const satisfies readonly Caller[];

/** One route between services: what its owner serves, and what its callers send and read. */
export interface InternalRoute {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Fastify form: `:name` for a parameter, one of {@link PATH_PARAMETERS}. */
  readonly path: `/internal/${string}`;
  /**
   * Who may call the route; every other caller gets 401. Callers of release 0.1.0 may call almost
   * every route: see `INTERNAL_TOKEN` in `libs/http`.
   */
  readonly callers: readonly Caller[];
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  /** Status of a success; default 200. */
  readonly success?: 200 | 201 | 202;
  /**
   * Body of a success. During an upgrade the previous release answers too: a field that the
   * previous release does not send is optional. Callers ignore unknown fields.
   */
  readonly answer: z.ZodType;
}

/** The routes of one service, by the names of their operations. */
export type InternalRoutes = Readonly<Record<string, InternalRoute>>;

/** The schema of each path parameter, the same for every owner. */
const PATH_PARAMETERS = {
  serverId: Guid,
  accountNumber: AccountNumber,
  templateName: RiskTemplateName,
  organizationId: Guid,
  userId: Guid,
  keyId: z.string(),
  // Malformed ids of endpoints, deliveries and events return 404, which the handler decides.
  endpointId: z.string(),
  deliveryId: z.string(),
  eventId: z.string(),
  breachId: Guid,
} as const;
/** One parameter in a path. */
const PARAMETER = /:(\w+)/g;

type ParameterOf<Path extends string> = Path extends `${string}/:${infer Name}/${infer Rest}`
  ? Name | ParameterOf<`/${Rest}`>
  : Path extends `${string}/:${infer Name}`
    ? Name
    : never;
/** The parameters of a route's path. */
export type PathParameters<R extends InternalRoute> = Readonly<Record<ParameterOf<R["path"]>, string>>;

/** `T` with every array and field read-only. */
export type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Name in keyof T]: DeepReadonly<T[Name]> }
    : T;
/** Fields of a query string: text or numbers. Undefined fields are left out. */
type QueryFields<T> = {
  readonly [Name in keyof T]: string | number | (undefined extends T[Name] ? undefined : never);
};

/** The parts of a request that are in its address. */
export interface RouteAddress {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
}

/** What a caller sends: path parameters, query and body, each required where the route has it. */
export type RouteRequest<R extends InternalRoute> = RouteAddress & { readonly body?: unknown } & ([
    ParameterOf<R["path"]>,
  ] extends [never]
    ? object
    : { readonly params: PathParameters<R> }) &
  (R extends { readonly query: infer Query extends z.ZodType }
    ? { readonly query: QueryFields<z.input<Query>> }
    : object) &
  (R extends { readonly body: infer Body extends z.ZodType } ? { readonly body: DeepReadonly<z.input<Body>> } : object);

/** What the owner of a route gets: path parameters, query and body, parsed. */
export interface RouteInput<R extends InternalRoute> {
  readonly params: PathParameters<R>;
  readonly query: R extends { readonly query: infer Query extends z.ZodType } ? z.output<Query> : undefined;
  readonly body: R extends { readonly body: infer Body extends z.ZodType } ? z.output<Body> : undefined;
}

/**
 * The path to call, with encoded parameters and the query. Also for operations of the management
 * API.
 */
export function pathOf(route: { readonly path: string }, { params = {}, query }: RouteAddress): string {
  const path = route.path.replaceAll(PARAMETER, (_written, name: string) =>
    encodeURIComponent(assertDefined(params[name], `${name} of ${route.path}`)),
  );
  if (query === undefined) return path;
  const fields = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) fields.set(name, String(value));
  return `${path}?${fields.toString()}`;
}

/**
 * The schema of a route's path parameters; null if the path has no parameters. Throws for a
 * parameter without a schema.
 */
export function pathSchema({ path }: { readonly path: string }): z.ZodType<Readonly<Record<string, string>>> | null {
  const schemas: Readonly<Record<string, z.ZodType<string>>> = PATH_PARAMETERS;
  const parameters: Record<string, z.ZodType<string>> = {};
  for (const [, name = ""] of path.matchAll(PARAMETER)) {
    assert(Object.hasOwn(schemas, name), `the parameter ${name} of ${path} has no schema`);
    parameters[name] = assertDefined(schemas[name], name);
  }
  return Object.keys(parameters).length === 0 ? null : z.object(parameters);
}
