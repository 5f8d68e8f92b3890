/**
 * Decides which addresses belong to the public internet. All other addresses are rejected: this
 * machine, private networks, link-local, documentation, multicast, translated IPv4. Spelling does
 * not matter: the URL parser has normalized the address.
 */
import { BlockList, isIP, isIPv4, isIPv6 } from "node:net";

/**
 * IPv4 ranges without public hosts (IANA special-purpose registry). The chart's egress policy has
 * the same ranges.
 */
const SPECIAL_IPV4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3",
] as const;
/**
 * The range of all public IPv6 addresses. Mapped IPv4, NAT64, private, link-local and multicast
 * addresses are outside of it.
 */
const GLOBAL_IPV6 = "2000::/3";
/**
 * Exceptions within that range: IETF protocol assignments (which include Teredo), documentation,
 * 6to4.
 */
const SPECIAL_IPV6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"] as const;

const special = blockList([...SPECIAL_IPV4, ...SPECIAL_IPV6]);
const global6 = blockList([GLOBAL_IPV6]);

/** Names of this machine or its network, and the suffixes of such names. */
const PRIVATE_NAMES = [
  "localhost",
  "local",
  "internal",
  "intranet",
  "lan",
  "home",
  "corp",
  "private",
  "home.arpa",
] as const;

/** Whether a text is a public IP address. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !special.check(address, "ipv4");
  if (!isIPv6(address)) return false;
  const plain = address.replace(/%.*$/, "");
  return plain === address && global6.check(address, "ipv6") && !special.check(address, "ipv6");
}

/** Which URLs endpoints may have. */
export interface AddressRules {
  readonly allowedPorts: readonly number[];
  /** Also allows http, private addresses and any port. */
  readonly allowInsecure: boolean;
}

/** Why a URL is rejected, without resolving its host; null if it is allowed. */
export function rejectionOf(text: string, { allowedPorts, allowInsecure }: AddressRules): string | null {
  if (!URL.canParse(text)) return "it is not a URL";
  const url = new URL(text);
  if (url.protocol !== "https:" && !(allowInsecure && url.protocol === "http:")) return "it is not https";
  if (url.username !== "" || url.password !== "") return "it has user information";
  if (url.hash !== "" || text.includes("#")) return "it has a fragment";
  if (allowInsecure) return null;
  const port = url.port === "" ? 443 : Number(url.port);
  if (!allowedPorts.includes(port)) return `port ${port} is not allowed`;
  return hostRejection(hostOf(url));
}

/**
 * The host of a URL: a lower-case name without its final dot, or an IP address without brackets.
 */
export function hostOf(url: URL): string {
  return url.hostname
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "")
    .toLowerCase();
}

function hostRejection(host: string): string | null {
  if (isIP(host) !== 0) return isPublicAddress(host) ? null : `${host} is not a public address`;
  const isPrivate = PRIVATE_NAMES.some((name) => host === name || host.endsWith(`.${name}`));
  return isPrivate || !host.includes(".") ? `${host} is not a public name` : null;
}

function blockList(subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [address = "", prefix] = subnet.split("/");
    list.addSubnet(address, Number(prefix), isIPv4(address) ? "ipv4" : "ipv6");
  }
  return list;
}
