/**
 * Resolves names: first the hosts file, then the name servers, over sockets of this process.
 *
 * `dns.lookup` is not used: a call blocks one of libuv's four threads while a name server is
 * silent. Four unanswered look-ups would stop every look-up of the process, including those of
 * PostgreSQL and Kafka. Without `dns.lookup`, search domains and other system sources (mDNS, LDAP)
 * are not used.
 */
import { type LookupAddress, promises as dns } from "node:dns";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";

import { LRUCache } from "lru-cache";

/**
 * Resolves to at least one address. Rejects if the name has no address; with {@link
 * DnsUnavailableError} if it is unknown whether the name has one.
 */
export type Resolve = (name: string) => Promise<readonly LookupAddress[]>;

/** A look-up fails after this time, in milliseconds. */
export const RESOLVE_TIMEOUT_MS = 5_000;
/**
 * The next name server is asked after this time in milliseconds, or up to twice this time, because
 * of the timer resolution of c-ares. Saving an endpoint waits 2 s for its name, which is long
 * enough to get past one silent server. A later response of that server still counts.
 */
const QUERY_TIMEOUT_MS = 400;
/**
 * How many times each name server is asked. Each round of all servers waits longer than the round
 * before. All rounds together last longer than {@link RESOLVE_TIMEOUT_MS}.
 */
const QUERY_TRIES = 5;
/** How long to wait for IPv6 addresses after the IPv4 addresses arrive, in milliseconds. */
const IPV6_WAIT_MS = 500;
/**
 * How long a failure is cached, in milliseconds: less than the first retry delay, so that each
 * attempt resolves again.
 */
export const FAILURE_TTL_MS = 3_000;
/**
 * Maximum number of names in memory (running or failed look-ups); above it the least recently used
 * name is dropped.
 */
const MAX_KNOWN = 10_000;
const HOSTS_FILE = "/etc/hosts";
/** The name of this machine (RFC 6761), unless the hosts file overrides it. */
const LOCALHOST = "localhost";
const LOOPBACK: readonly LookupAddress[] = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];
/** Error codes that mean: the name has no address. Any other code is a failure. */
const NO_ADDRESS: ReadonlySet<string> = new Set(["ENOTFOUND", "ENODATA", "EBADNAME"]);

/**
 * It is unknown whether the name has an address: the question for IPv4 or for IPv6 addresses failed
 * or was not answered in time.
 */
export class DnsUnavailableError extends Error {
  override readonly name = "DnsUnavailableError";

  constructor(host: string) {
    super(`${host} cannot be resolved now`);
  }
}

/**
 * Looks names up in the hosts file, as read at this call, then at the name servers. An IP address
 * resolves to itself.
 * @param nameServers addresses with ports; by default those of /etc/resolv.conf at the time of each
 * look-up.
 */
export async function createDnsResolver(nameServers?: readonly string[]): Promise<Resolve> {
  const hosts = parseHosts(await readFile(HOSTS_FILE, "utf8").catch(() => ""));
  return (name) => {
    const host = name.toLowerCase().replace(/\.$/, "");
    const family = isIP(host);
    if (family !== 0) return Promise.resolve([{ address: host, family }]);
    const known = hosts.get(host) ?? (host.endsWith(`.${LOCALHOST}`) ? LOOPBACK : undefined);
    return known === undefined ? askNameServers(host, nameServers) : Promise.resolve(known);
  };
}

/**
 * Concurrent look-ups of a name are shared. A failure is cached for {@link FAILURE_TTL_MS};
 * addresses are not cached.
 */
export function shareLookups(resolve: Resolve): Resolve {
  const known = new LRUCache<string, ReturnType<Resolve>>({ max: MAX_KNOWN });
  return (name) => {
    const earlier = known.get(name);
    if (earlier !== undefined) return earlier;
    const found = resolve(name);
    known.set(name, found);
    const isKnown = (): boolean => known.peek(name) === found;
    found.then(
      () => isKnown() && known.delete(name),
      () => isKnown() && known.set(name, found, { ttl: FAILURE_TTL_MS }),
    );
    return found;
  };
}

/**
 * One resolver per look-up, so that a look-up can be cancelled alone. A resolver first asks
 * the servers with the fewest failures; failures of other look-ups must not change this order.
 */
async function askNameServers(name: string, nameServers?: readonly string[]): Promise<readonly LookupAddress[]> {
  const resolver = new dns.Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES });
  if (nameServers !== undefined) resolver.setServers(nameServers);
  const timers: NodeJS.Timeout[] = [];
  const cancelIn = (ms: number): void => {
    timers.push(setTimeout(() => resolver.cancel(), ms));
  };
  const ask = async (family: 4 | 6): Promise<LookupAddress[]> => {
    const found = await (family === 4 ? resolver.resolve4(name) : resolver.resolve6(name));
    // Some name servers never answer IPv6 questions. So once there are IPv4 addresses, the look-up
    // waits only briefly for IPv6 addresses.
    if (family === 4) cancelIn(IPV6_WAIT_MS);
    return found.map((address) => ({ address, family }));
  };
  cancelIn(RESOLVE_TIMEOUT_MS);
  const answers = await Promise.allSettled([ask(4), ask(6)]);
  for (const timer of timers) clearTimeout(timer);
  const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  if (addresses.length > 0) return addresses;
  const codes = answers.map((answer) => (answer.status === "rejected" ? codeOf(answer.reason) : "ENODATA"));
  if (codes.some((code) => !NO_ADDRESS.has(code))) throw new DnsUnavailableError(name);
  throw new Error(`${name} cannot be resolved: ${codes.join(", ")}`);
}

/** Parses the format of hosts(5). The keys are lower-case names; `localhost` is always a key. */
export function parseHosts(text: string): ReadonlyMap<string, readonly LookupAddress[]> {
  const hosts = new Map<string, LookupAddress[]>();
  for (const line of text.split("\n")) {
    const [address = "", ...names] = line.replace(/#.*/, "").trim().split(/\s+/);
    const family = isIP(address);
    if (family === 0) continue;
    for (const name of names) {
      const key = name.toLowerCase();
      hosts.set(key, [...(hosts.get(key) ?? []), { address, family }]);
    }
  }
  return new Map<string, readonly LookupAddress[]>([[LOCALHOST, LOOPBACK], ...hosts]);
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
