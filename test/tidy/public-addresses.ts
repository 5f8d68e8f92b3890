/**
 * Compares two lists of addresses: those that the chart's egress policy lets pods of webhooks
 * reach, and those that the webhooks service accepts as public.
 */

/** Networks, each with the smaller networks in it that are excluded. */
type Networks = ReadonlyMap<string, readonly string[]>;

const CHART_RULE = /eq \$outside "internet"[^]*?\n {6}ports:/;
const BLOCK = /cidr: "?([0-9a-f.:]+\/\d+)"?\s+except: \[([^\]]*)\]/g;
const LIST = /const (SPECIAL_IPV[46]) = \[([^\]]*)\]/g;
const GLOBAL_IPV6 = /const GLOBAL_IPV6 = "([^"]+)"/;

/**
 * The differences between the policy of the chart and the lists of the service, one sentence each.
 */
export function publicAddressFaults(chart: string, service: string): string[] {
  const [rule = ""] = CHART_RULE.exec(chart) ?? [];
  const allowed = new Map(Array.from(rule.matchAll(BLOCK), ([, cidr = "", except = ""]) => [cidr, networksIn(except)]));
  const expected = acceptedBy(service);
  return [...new Set([...allowed.keys(), ...expected.keys()])].flatMap((cidr) => differences(cidr, allowed, expected));
}

function acceptedBy(service: string): Networks {
  const lists = new Map(Array.from(service.matchAll(LIST), ([, name = "", list = ""]) => [name, networksIn(list)]));
  const [, global6 = ""] = GLOBAL_IPV6.exec(service) ?? [];
  return new Map([
    ["0.0.0.0/0", lists.get("SPECIAL_IPV4") ?? []],
    [global6, lists.get("SPECIAL_IPV6") ?? []],
  ]);
}

function differences(cidr: string, allowed: Networks, expected: Networks): string[] {
  const [inChart, inService] = [allowed.get(cidr), expected.get(cidr)];
  if (inChart === undefined) return [`the chart has no rule for ${cidr} with exceptions`];
  if (inService === undefined) return [`the chart allows ${cidr}, which the service does not accept`];
  return [
    ...inService.filter((one) => !inChart.includes(one)).map((one) => `the chart allows ${one}, which is not public`),
    ...inChart.filter((one) => !inService.includes(one)).map((one) => `the chart excludes ${one}, which is public`),
  ];
}

/** The networks of a list in YAML or TypeScript. */
function networksIn(list: string): string[] {
  return Array.from(list.matchAll(/[0-9a-f.:]+\/\d+/g), ([network]) => network);
}
