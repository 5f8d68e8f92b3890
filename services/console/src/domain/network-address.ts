/**
 * Groups of an IPv6 address, and of its network part: an attacker with one address has the whole
 * network.
 */
const ADDRESS_GROUPS = 8;
const NETWORK_GROUPS = 4;
const IPV4_IN_IPV6 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
/** After `%`: network interface of a link-local address. */
const ZONE = /%.*$/;

/**
 * Network of an address for counting: IPv4 as it is, also if mapped to IPv6; for IPv6 the /64,
 * normalized.
 */
export function networkOf(address: string): string {
  const ipv4 = IPV4_IN_IPV6.exec(address)?.[1];
  if (ipv4 !== undefined) return ipv4;
  const url = `http://[${address.replace(ZONE, "")}]`;
  if (!URL.canParse(url)) return address;
  // The URL parser normalizes addresses and omits the longest row of zeros.
  const [left = [], right = []] = new URL(url).hostname
    .slice(1, -1)
    .split("::")
    .map((part) => part.split(":").filter((group) => group !== ""));
  const zeros = Array.from({ length: ADDRESS_GROUPS - left.length - right.length }, () => "0");
  return `${[...left, ...zeros, ...right].slice(0, NETWORK_GROUPS).join(":")}::/64`;
}
