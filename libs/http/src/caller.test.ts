import { expect, it } from "vitest";

import { addressOf, type Caller, callerHeaders, callerOf } from "./caller.ts";

const actor = { type: "key", id: "mfrggzdfmztwq2lk" } as const;

it.each<Caller>([
  { actor, address: "203.0.113.7" },
  { actor: { type: "user", id: "0197a3c2-5b1e-7c44-9f0e-2a8d4be61f01" }, address: "2001:db8::7" },
  { actor, address: null },
])("callerOf reads what callerHeaders wrote: %j", (caller) => {
  expect(callerOf(callerHeaders(caller))).toEqual(caller);
});

it("callerOf returns null without a valid actor, and a null address if the address is malformed", () => {
  expect(callerOf({})).toBeNull();
  expect(callerOf({ "x-kapi-actor": "robot/1" })).toBeNull();
  expect(callerOf({ "x-kapi-actor": "key/a", "x-kapi-address": "<script>" })).toEqual({
    actor: { type: "key", id: "a" },
    address: null,
  });
});

it("an IPv6 address is returned without its zone, which may have any length", () => {
  const zone = `%${"a".repeat(100)}`;
  expect(callerOf({ "x-kapi-actor": "key/a", "x-kapi-address": `fe80::1${zone}` })?.address).toBe("fe80::1");
  expect(addressOf({ ip: `fe80::1${zone}` })).toBe("fe80::1");
  expect(addressOf({ ip: `::ffff:203.0.113.7${zone}` })).toBe("203.0.113.7");
});

it.each([
  ["::ffff:203.0.113.7", "203.0.113.7"],
  ["203.0.113.7", "203.0.113.7"],
  ["2001:db8::7", "2001:db8::7"],
  ["unknown", null],
])("addressOf a request from %s is %s", (ip, address) => {
  expect(addressOf({ ip })).toBe(address);
});
