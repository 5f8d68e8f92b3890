import { expect, it } from "vitest";

import { originOf } from "./audit.ts";

it.each([
  ["https://user:secret@hooks.example.com:8443/a/token?key=secret#x", "https://hooks.example.com:8443"],
  ["http://trading-simulator:8080/", "http://trading-simulator:8080"],
  ["no address", ""],
])("the audit log has only the origin of the address %s", (url, origin) => {
  expect(originOf(url)).toBe(origin);
});
