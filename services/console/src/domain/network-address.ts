/**
 * Groups of an IPv6 address, and those of them that name the network: whoever has one address there
 * has all of them.
 */
const ADDRESS_GROUPS = 8;
const NETWORK_GROUPS = 4;
const IPV4_IN_IPV6 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
/** After `%`: the interface of this machine that a link-local address was met on. */
const ZONE = /%.*$/;

/**
 * What an address is counted by: IPv4 as it is, also where it is written as IPv6; of IPv6 the
 * network, written in one way.
 */
export function networkOf(address: string): string {
  const ipv4 = IPV4_IN_IPV6.exec(address)?.[1];
  if (ipv4 !== undefined) return ipv4;
  const url = `http://[${address.replace(ZONE, "")}]`;
  if (!URL.canParse(url)) return address;
  // The URL parser writes every address in one way, with its longest row of zeros left out.
  const [left = [], right = []] = new URL(url).hostname
    .slice(1, -1)
    .split("::")
    .map((part) => part.split(":").filter((group) => group !== ""));
  const zeros = Array.from({ length: ADDRESS_GROUPS - left.length - right.length }, () => "0");
  return `${[...left, ...zeros, ...right].slice(0, NETWORK_GROUPS).join(":")}::/64`;
}
