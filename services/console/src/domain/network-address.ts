/** Number of groups of an IPv6 address. */
const ADDRESS_GROUPS = 8;
/** Number of groups of a /64 network. An attacker with one address has the whole network. */
const NETWORK_GROUPS = 4;
const IPV4_IN_IPV6 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
/** The network interface of a link-local address, after `%`. */
const ZONE = /%.*$/;

/**
 * The network under which attempts from an address are counted. IPv4: the address, also if it is
 * written as `::ffff:198.51.100.7`. IPv6: the /64, normalized. Any other text is returned
 * unchanged.
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
