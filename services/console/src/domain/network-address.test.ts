import { expect, it } from "vitest";

import { networkOf } from "./network-address.ts";

it("the network of an IPv4 address is the address, also after the prefix ::ffff: of IPv6", () => {
  expect(networkOf("198.51.100.7")).toBe("198.51.100.7");
  expect(networkOf("::ffff:198.51.100.7")).toBe("198.51.100.7");
});

it("the network of an IPv6 address is its /64, in every notation", () => {
  const network = "2001:db8:0:1::/64";
  const same = ["2001:db8:0:1::1", "2001:0DB8:0000:0001:ffff::9", "2001:db8:0:1:a:b:c:d", "2001:db8::1:0:0:0:5"];
  expect(same.map(networkOf)).toEqual(same.map(() => network));
  expect(networkOf("2001:db8:0:2::1")).not.toBe(network);
  expect(networkOf("::1")).toBe("0:0:0:0::/64");
  expect(networkOf("fe80::1%eth0")).toBe("fe80:0:0:0::/64");
});

it("a text that is not an address is returned unchanged", () => {
  expect(networkOf("unknown")).toBe("unknown");
});
