import { readFileSync } from "node:fs";
import path from "node:path";

import { expect, it } from "vitest";

import { publicAddressFaults } from "./public-addresses.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const CHART = readFileSync(path.join(ROOT, "deploy/helm/kapi/templates/egress-policies.yaml"), "utf8");
const SERVICE = readFileSync(path.join(ROOT, "services/webhooks/src/outbound/http/public-address.ts"), "utf8");

it("the chart lets webhooks reach exactly the addresses that the service accepts", () => {
  expect(publicAddressFaults(CHART, SERVICE)).toEqual([]);
});

it.each([
  ["the chart allows 198.18.0.0/15, which is not public", CHART.replace("198.18.0.0/15, ", ""), SERVICE],
  ["the chart allows 2001:db8::/32, which is not public", CHART.replace('"2001:db8::/32", ', ""), SERVICE],
  ["the chart excludes 10.0.0.0/8, which is public", CHART, SERVICE.replace('  "10.0.0.0/8",\n', "")],
  ["the chart has no rule for 0.0.0.0/0 with exceptions", CHART.replace("cidr: 0.0.0.0/0", "cidr: 0.0.0.0/1"), SERVICE],
  ["the chart has no rule for 2000::/3 with exceptions", CHART.replace(/except: \["2001[^\]]*\]/, ""), SERVICE],
])("a difference is reported: %s", (fault, chart, service) => {
  expect(publicAddressFaults(chart, service)).toContain(fault);
});
