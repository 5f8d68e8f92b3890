/** Calls of tests to internal operations, with the token of a caller that the owner accepts. */
import { type Caller, CALLERS, callersOf, INTERNAL_CALLS, type InternalOwner } from "@kapi/contracts";
import { startInternalClient, type InternalClient, SERVICE_TOKEN_HEADER, serviceCredentials } from "@kapi/http";
import type { Secrets } from "@kapi/servers";
import type { Started } from "@kapi/runtime";

type Tokens = Pick<Secrets, "serviceTokens">;

/**
 * The headers of a call to `owner`, with the token of a caller that may make the call. `path` has
 * no scheme and no host.
 */
export function callerHeaders(
  { serviceTokens }: Tokens,
  owner: InternalOwner,
  method: string,
  path: string,
): Record<string, string> {
  return { [SERVICE_TOKEN_HEADER]: serviceTokens[callerFor(owner, method, path)] };
}

/** A client for all internal operations of `owner`. */
export function startOwnerClient(options: {
  readonly secrets: Tokens;
  readonly owner: InternalOwner;
  readonly baseUrl: string;
  readonly timeoutMs: number;
}): Started<InternalClient> {
  const { secrets, owner, ...rest } = options;
  const clients = new Map(
    CALLERS.map((caller) => {
      const credentials = serviceCredentials({ SERVICE_TOKEN: secrets.serviceTokens[caller] });
      return [caller, startInternalClient({ ...rest, credentials })] as const;
    }),
  );
  const clientFor = (method: string, path: string): InternalClient => {
    const client = clients.get(callerFor(owner, method, path));
    if (client === undefined) throw new Error(`${method} ${path} has no caller`);
    return client.value;
  };
  return {
    value: {
      request: (method, path, ...more) => clientFor(method, path).request(method, path, ...more),
      json: (method, path, ...more) => clientFor(method, path).json(method, path, ...more),
      stream: (method, path, ...more) => clientFor(method, path).stream(method, path, ...more),
    },
    stop: async () => {
      await Promise.all([...clients.values()].map((client) => client.stop()));
    },
  };
}

/** For an unknown path any caller will do: every caller gets 404. */
function callerFor(owner: InternalOwner, method: string, path: string): Caller {
  const [written = ""] = path.split("?");
  const operation = Object.keys(INTERNAL_CALLS[owner]).find((known) => {
    const [knownMethod = "", route = ""] = known.split(" ");
    const pattern = route.replaceAll(/:[A-Za-z]+/g, "[^/]+");
    return knownMethod === method && new RegExp(`^${pattern}$`).test(written);
  });
  return (operation === undefined ? undefined : callersOf(owner, operation)?.[0]) ?? "operator";
}
