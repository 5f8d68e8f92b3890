/** What generators of clients need of the OpenAPI document. */
import { describe, expect, it } from "vitest";

import { openApiDocument } from "../openapi.ts";
import { EVIDENCE_FIELD_TEXTS } from "./evidence-field-texts.ts";
import { FIELD_TEXTS, MONEY_FIELDS } from "./field-texts.ts";
import { SCHEMA_TEXTS } from "./schema-texts.ts";

interface Node {
  readonly [key: string]: unknown;
}

interface Place {
  readonly path: string;
  readonly node: Node;
}

const document = openApiDocument() as unknown as Node & {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Node>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: Node }>>;
  readonly components: { readonly schemas: Readonly<Record<string, Node>> };
};
const { schemas } = document.components;
const places = [...everyPlace(document, "#")];

function* everyPlace(node: unknown, path: string): Generator<Place> {
  if (typeof node !== "object" || node === null) return;
  yield { path, node: node as Node };
  for (const [key, child] of Object.entries(node)) {
    // An example is data, not a schema.
    if (!/^(examples?|x-codeSamples)$/.test(key)) yield* everyPlace(child, `${path}/${key}`);
  }
}

const withProperties = places.filter(({ node, path }) => "properties" in node && !path.endsWith("/properties"));
const fields = withProperties.flatMap(({ path, node }) =>
  Object.entries(node["properties"] as Readonly<Record<string, Node>>).map(([name, field]) => ({ path, name, field })),
);

/** Numbers that are not money: lots, prices of instruments, percent. */
const OTHER_NUMBERS =
  "closedVolume volume openPrice price dailyDrawdown marginLevel percent totalDrawdown warnAt".split(" ");

describe("the OpenAPI document, for generators", () => {
  it("describes every schema, field, parameter and header", () => {
    const parameters = places.filter(({ node }) => typeof node["in"] === "string");
    const headers = places.filter(({ path }) => /\/headers\/[^/]+$/.test(path));
    const described = [
      ...Object.entries(schemas).map(([name, node]) => ({ path: name, node })),
      ...fields.map(({ path, name, field }) => ({ path: `${path} ${name}`, node: field })),
      ...parameters,
      ...headers.filter(({ node }) => !("$ref" in node)),
    ];
    expect(described.filter(({ node }) => !isText(node["description"])).map(({ path }) => path)).toEqual([]);
    for (const { length } of [fields, parameters, headers]) expect(length).toBeGreaterThan(0);
  });

  it("says of each field whether it can be null", () => {
    const wrong = fields.filter(({ field }) => /\bnull\b/.test(String(field["description"])) !== canBeNull(field));
    expect(wrong.map(({ path, name, field }) => `${path} ${name}: ${String(field["description"])}`)).toEqual([]);
  });

  it("uses every text of FIELD_TEXTS for a field, and every text of SCHEMA_TEXTS for a schema", () => {
    const used = new Set(fields.map(({ field }) => field["description"]));
    expect(Object.entries(FIELD_TEXTS).filter(([, text]) => !used.has(text))).toEqual([]);
    expect(Object.keys(SCHEMA_TEXTS).filter((name) => !(name in schemas))).toEqual([]);
  });

  it("keeps every text of EVIDENCE_FIELD_TEXTS: no other text of FIELD_TEXTS replaces it", () => {
    const lost = Object.entries(EVIDENCE_FIELD_TEXTS).filter(([name, text]) => FIELD_TEXTS[name] !== text);
    expect(lost).toEqual([]);
  });

  it("marks every amount of money, and a field name is an amount of money either everywhere or nowhere", () => {
    const numbers = fields.filter(({ field }) => [field["type"]].flat().includes("number"));
    for (const { path, name, field } of numbers) {
      expect(field["x-kapi-unit"], `${path} ${name}`).toBe(MONEY_FIELDS.has(name) ? "money" : undefined);
      expect(MONEY_FIELDS.has(name), `${path} ${name}`).toBe(!OTHER_NUMBERS.includes(name));
    }
    const marked = fields.filter(({ field }) => field["x-kapi-unit"] === "money");
    expect(marked.every(({ name }) => MONEY_FIELDS.has(name))).toBe(true);
    expect(marked.length).toBeGreaterThan(40);
  });

  it("gives every operation and every webhook its own operationId", () => {
    const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
    const webhooks = Object.values(document.webhooks).map(({ post }) => post);
    const ids = [...operations, ...webhooks].map((operation) => operation["operationId"]);
    expect(ids).not.toContain(undefined);
    expect(new Set(ids).size).toBe(ids.length);
    expect(document.webhooks["position.closed"]?.post["operationId"]).toBe("onPositionClosed");
  });

  it("names every enum, so that a value has one type in generated code", () => {
    const unnamed = places.filter(
      ({ path, node }) => Array.isArray(node["enum"]) && node["enum"].length > 1 && isUnnamed(path),
    );
    expect(unnamed.map(({ path }) => path)).toEqual([]);
  });

  it("maps each value of a union's discriminator to the schema that has the value", () => {
    const unions = Object.entries(schemas).filter(([, schema]) => "discriminator" in schema);
    expect(unions.map(([name]) => name).toSorted()).toEqual([
      "Command",
      "ExportRecord",
      "FeedEvent",
      "RiskRule",
      "WebhookEvent",
    ]);
    for (const [name, union] of unions) {
      const { propertyName, mapping } = union["discriminator"] as {
        propertyName: string;
        mapping: Record<string, string>;
      };
      const variants = (union["oneOf"] as { $ref: string }[]).map(({ $ref }) => $ref);
      expect(new Set(Object.values(mapping)), name).toEqual(new Set(variants));
      for (const [value, reference] of Object.entries(mapping)) {
        const variant = schemas[reference.replace("#/components/schemas/", "")];
        const { [propertyName]: field } = (variant?.["properties"] ?? {}) as Record<string, Node>;
        expect([field?.["const"] ?? field?.["enum"]].flat(), `${name} ${value}`).toContain(value);
        expect(variant?.["required"]).toContain(propertyName);
      }
    }
  });

  it("has no schema with both fields and alternatives (anyOf, oneOf, allOf)", () => {
    const mixed = withProperties.filter(({ node }) => "anyOf" in node || "oneOf" in node || "allOf" in node);
    expect(mixed.map(({ path }) => path)).toEqual([]);
  });
});

/**
 * Whether an enum needs a name and has none. The `type` of a webhook event and the codes of an
 * error response need none.
 */
function isUnnamed(path: string): boolean {
  const isNamed = /^#\/components\/schemas\/\w+$/.test(path);
  const isDiscriminator = /^#\/components\/schemas\/\w+Event\/properties\/type$/.test(path);
  return !isNamed && !isDiscriminator && !path.includes("/X-Error-Code/");
}

function isText(description: unknown): boolean {
  return typeof description === "string" && description !== "";
}

function canBeNull({ type, anyOf }: Node): boolean {
  const variants = Array.isArray(anyOf) ? (anyOf as Node[]) : [];
  return [type].flat().includes("null") || variants.some((variant) => variant["type"] === "null");
}
