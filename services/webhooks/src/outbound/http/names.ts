/**
 * How names become addresses: by the hosts file, then by the name servers, over sockets of this
 * process.
 *
 * `dns.lookup` is not used: it keeps one of libuv's four threads for as long as a name server is
 * silent, so four silent names stop every other lookup of the process, also those of PostgreSQL and
 * Kafka. Search domains and other sources of the system (mDNS, LDAP) are therefore not asked.
 */
import { type LookupAddress, promises as dns } from "node:dns";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";

import { LRUCache } from "lru-cache";

/** The addresses of a name, at least one. Rejects without any, also with {@link NotResolvedNow}. */
export type Resolve = (name: string) => Promise<readonly LookupAddress[]>;

/** A name's addresses are known within this time, in milliseconds, or the look-up has failed. */
export const RESOLVE_TIMEOUT_MS = 5_000;
/**
 * The next name server is asked after this, in milliseconds, or after twice it: c-ares looks at the
 * time so often. A save waits 2 s, and so gets past one that is silent. An answer that comes later
 * still counts.
 */
const QUERY_TIMEOUT_MS = 400;
/**
 * Each round waits longer than the last one; all rounds together wait longer than a look-up has.
 */
const QUERY_TRIES = 5;
/** How long IPv6 addresses are waited for once the IPv4 addresses are known, in milliseconds. */
const IPV6_WAIT_MS = 500;
/**
 * How long a failure holds, in milliseconds: shorter than the first rest of a delivery, so that
 * each attempt asks anew.
 */
export const FAILURE_TTL_MS = 3_000;
/**
 * Names in memory that are being looked up or have failed; above it the one asked for longest ago
 * is forgotten.
 */
const MAX_KNOWN = 10_000;
const HOSTS_FILE = "/etc/hosts";
/** This machine (RFC 6761), unless the hosts file says otherwise. */
const LOCALHOST = "localhost";
const LOOPBACK: readonly LookupAddress[] = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];
/** The codes of a query that was answered: there is no address. Any other means a failure. */
const NO_ADDRESS: ReadonlySet<string> = new Set(["ENOTFOUND", "ENODATA", "EBADNAME"]);

/** No name server answered in time, or those that did have failed. */
export class NotResolvedNow extends Error {
  override readonly name = "NotResolvedNow";

  constructor(host: string) {
    super(`${host} cannot be resolved now`);
  }
}

/**
 * Looks names up in the hosts file, as it is when this is called, then at the name servers. An IP
 * address is its own answer.
 * @param nameServers addresses with ports; by default those that /etc/resolv.conf names at the
 * moment of a look-up.
 */
export async function openNames(nameServers?: readonly string[]): Promise<Resolve> {
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
 * Look-ups of one name at the same time are one, and a failure holds for {@link FAILURE_TTL_MS}.
 * Addresses are not kept.
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
 * One resolver a look-up: it can be cancelled alone, and other names' silent servers do not change
 * how it asks.
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
    // Some name servers never answer a question for IPv6. Without IPv4 many machines reach nobody.
    if (family === 4) cancelIn(IPV6_WAIT_MS);
    return found.map((address) => ({ address, family }));
  };
  cancelIn(RESOLVE_TIMEOUT_MS);
  const answers = await Promise.allSettled([ask(4), ask(6)]);
  for (const timer of timers) clearTimeout(timer);
  const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  if (addresses.length > 0) return addresses;
  const codes = answers.map((answer) => (answer.status === "rejected" ? codeOf(answer.reason) : "ENODATA"));
  if (codes.some((code) => !NO_ADDRESS.has(code))) throw new NotResolvedNow(name);
  throw new Error(`${name} cannot be resolved: ${codes.join(", ")}`);
}

/** Names in lower case with their addresses, as hosts(5) has it. */
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
