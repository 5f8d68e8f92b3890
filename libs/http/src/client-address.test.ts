import type { IncomingMessage } from "node:http";

import { describe, expect, it } from "vitest";

import { createClientAddress } from "./client-address.ts";

const addressIn = createClientAddress(["10.0.0.0/8", "192.0.2.1"]);

function requestFrom(remoteAddress: string, forwardedFor?: string): Pick<IncomingMessage, "headers" | "socket"> {
  const headers = forwardedFor === undefined ? {} : { "x-forwarded-for": forwardedFor };
  return { headers, socket: { remoteAddress } as IncomingMessage["socket"] };
}

describe("the network address of a client", () => {
  it.each([
    ["the address of the socket without a proxy", requestFrom("203.0.113.9"), "203.0.113.9"],
    [
      "the address of the socket, whatever an untrusted caller sends",
      requestFrom("203.0.113.9", "198.51.100.1"),
      "203.0.113.9",
    ],
    ["the forwarded address behind one proxy", requestFrom("10.1.2.3", "198.51.100.1"), "198.51.100.1"],
    [
      "the first forwarded address behind two proxies",
      requestFrom("10.1.2.3", "198.51.100.1, 192.0.2.1"),
      "198.51.100.1",
    ],
    [
      "not the address that the caller itself put into the header",
      requestFrom("10.1.2.3", "127.0.0.1, 198.51.100.1"),
      "198.51.100.1",
    ],
    ["the address of the proxy without the header", requestFrom("::ffff:10.1.2.3"), "10.1.2.3"],
    ["unknown if the proxy sends no address", requestFrom("10.1.2.3", "unknown"), null],
  ])("is %s", (_case, request, address) => {
    expect(addressIn(request)).toBe(address);
  });
});
