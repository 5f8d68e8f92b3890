import { BlockList, isIP } from "node:net";

const IPV6 = 6;

/** Whether the set has an address, by itself or in one of the set's networks. */
export type NetworkSet = (address: string) => boolean;

/** The set of `networks`: valid addresses, and networks in CIDR notation. */
export function createNetworkSet(networks: readonly string[]): NetworkSet {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", prefix] = network.split("/");
    if (prefix === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(prefix), familyOf(address));
  }
  return (address) => list.check(address, familyOf(address));
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === IPV6 ? "ipv6" : "ipv4";
}
