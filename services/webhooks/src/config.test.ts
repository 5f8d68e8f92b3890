import { expect, it } from "vitest";

import { ConfigSchema } from "./config.ts";

const { WEBHOOK_ALLOWED_PORTS: ports, WEBHOOK_NAME_SERVERS: nameServers } = ConfigSchema.shape;

it("name servers are IP addresses, each alone or with a port from 1 to 65535", () => {
  const valid = ["1.2.3.4", "::1", "1.2.3.4:1", "1.2.3.4:65535", "[::1]:5353"];
  expect(nameServers.parse(valid.join(" , "))).toEqual(valid);
  for (const text of ["", "dns.test", "1.2.3.4:0", "1.2.3.4:99999", "1.2.3.4:", "[::1]:65536", "[::1]", "1.2.3.4,"]) {
    expect(nameServers.safeParse(text), text).toMatchObject({ success: false });
  }
});

it("allowed ports are from 1 to 65535", () => {
  expect(ports.parse("443, 8443,65535")).toEqual([443, 8443, 65_535]);
  expect(ports.parse(undefined)).toEqual([443]);
  for (const text of ["", "0", "65536", "https", "443,"]) {
    expect(ports.safeParse(text), text).toMatchObject({ success: false });
  }
});
