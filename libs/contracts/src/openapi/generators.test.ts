/** What generators of clients need of the OpenAPI document. */
import { describe, expect, it } from "vitest";

import { openApiDocument } from "../openapi.ts";
import { MONEY_FIELDS } from "./field-texts.ts";

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

describe("the OpenAPI document, for generators", () => {
  it("describes every field, parameter and header", () => {
    const parameters = places.filter(({ node }) => typeof node["in"] === "string");
    const headers = Object.entries(document.components["headers" as never] as Readonly<Record<string, Node>>);
    const missing = [
      ...fields.filter(({ field }) => typeof field["description"] !== "string").map((at) => `${at.path} ${at.name}`),
      ...parameters.filter(({ node }) => typeof node["description"] !== "string").map(({ path }) => path),
      ...headers.filter(([, header]) => typeof header["description"] !== "string").map(([name]) => name),
    ];
    expect(missing).toEqual([]);
    expect(fields.length).toBeGreaterThan(300);
  });

  it("marks every amount of money, and a name is money everywhere or nowhere", () => {
    const numbers = fields.filter(({ field }) => [field["type"]].flat().includes("number"));
    for (const { path, name, field } of numbers) {
      expect(field["x-kapi-unit"], `${path} ${name}`).toBe(MONEY_FIELDS.has(name) ? "money" : undefined);
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

  it("has unions whose field maps each value to the schema that has the value", () => {
    const unions = Object.entries(schemas).filter(([, schema]) => "discriminator" in schema);
    expect(unions.map(([name]) => name).toSorted()).toEqual(["Command", "ExportRecord", "FeedEvent", "WebhookEvent"]);
    for (const [name, union] of unions) {
      const { propertyName, mapping } = union["discriminator"] as {
        propertyName: string;
        mapping: Record<string, string>;
      };
      const variants = (union["oneOf"] as { $ref: string }[]).map(({ $ref }) => $ref);
      expect(new Set(Object.values(mapping)), name).toEqual(new Set(variants));
      for (const [value, reference] of Object.entries(mapping)) {
        const variant = schemas[reference.replace("#/components/schemas/", "")];
        const field = (variant?.["properties"] as Record<string, Node>)[propertyName];
        expect(field?.["const"] === value || (field?.["enum"] as string[]).includes(value), `${name} ${value}`).toBe(
          true,
        );
        expect(variant?.["required"]).toContain(propertyName);
      }
    }
  });

  it("keeps the fields of every body beside its rules: no alternatives beside fields", () => {
    const mixed = withProperties.filter(({ node }) => "anyOf" in node || "oneOf" in node || "allOf" in node);
    expect(mixed.map(({ path }) => path)).toEqual([]);
  });
});

/** Enums of one schema's discriminator, and the codes of an error response, belong to one place. */
function isUnnamed(path: string): boolean {
  const isNamed = /^#\/components\/schemas\/\w+$/.test(path);
  const isDiscriminator = /^#\/components\/schemas\/\w+Event\/properties\/type$/.test(path);
  return !isNamed && !isDiscriminator && !path.includes("/X-Error-Code/");
}
