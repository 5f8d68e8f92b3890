import { ApiError } from "@kapi/http";
import { describe, expect, it } from "vitest";

import { requireAllowedNetwork } from "./allowed-networks.ts";

function isAllowed(allowedNetworks: string[] | null | undefined, address: string | null): boolean {
  try {
    requireAllowedNetwork(allowedNetworks === undefined ? {} : { allowedNetworks }, address);
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ code: "AUTHENTICATION_REQUIRED", status: 401 });
    return false;
  }
}

describe("a key", () => {
  it("without a list of networks may be used from any address, also from an unknown one", () => {
    expect(isAllowed(null, "192.0.2.1")).toBe(true);
    expect(isAllowed(undefined, "2001:db8::1")).toBe(true);
    expect(isAllowed(null, null)).toBe(true);
  });

  it.each([
    ["203.0.113.7", true],
    ["203.0.113.8", false],
    ["198.51.100.255", true],
    ["198.51.101.0", false],
    ["2001:db8:1::9", true],
    ["2001:db8:2::9", false],
    [null, false],
  ])("with a list of networks may be used from %s: %s", (address, allowed) => {
    expect(isAllowed(["203.0.113.7", "198.51.100.0/24", "2001:db8:1::/48"], address)).toBe(allowed);
  });
});
