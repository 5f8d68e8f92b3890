/** Adds to the schemas of the document what generators and readers need: descriptions and units. */
import { FIELD_TEXTS, MONEY_FIELDS } from "./field-texts.ts";
import { SCHEMA_TEXTS } from "./schema-texts.ts";
import { UNIONS } from "./unions.ts";

type JsonSchema = Record<string, unknown>;

/** The vendor extension that marks amounts of money. */
export const UNIT = "x-kapi-unit";

/**
 * Describes every schema and field, and marks amounts of money.
 * @throws Error for a schema or a field without a text.
 */
export function describeSchemas(schemas: Record<string, JsonSchema>): Record<string, JsonSchema> {
  for (const [name, schema] of Object.entries(schemas)) {
    schema["description"] = schemaText(name);
    const union = unionOf(name);
    const outer = union === null ? [name] : [name, union, ...recordsOf(name)];
    const inner = union?.endsWith("Event") === true ? [...recordsOf(name), "EventData"] : recordsOf(name);
    describeFields({ outer, inner }, schema);
  }
  return schemas;
}

/** The schemas whose texts apply, the most specific first. */
interface Owners {
  /** For the fields of a schema itself. */
  readonly outer: readonly string[];
  /** For the fields of the objects in it, such as `data` of an event. */
  readonly inner: readonly string[];
}

/** Describes the fields of a schema, and of the objects in it. */
function describeFields({ outer, inner }: Owners, node: unknown): void {
  if (typeof node !== "object" || node === null) return;
  const { properties } = node as { properties?: Record<string, JsonSchema> };
  for (const [name, field] of Object.entries(properties ?? {})) {
    field["description"] ??= fieldText(outer, name);
    if (MONEY_FIELDS.has(name) && isNumber(field)) field[UNIT] = "money";
    describeFields({ outer: inner, inner }, field);
  }
  for (const [key, child] of Object.entries(node)) {
    if (key !== "properties") describeFields({ outer, inner }, child);
  }
}

/** The union that the schema is a variant of, or null. */
function unionOf(schema: string): string | null {
  const found = Object.entries(UNIONS).find(([, { variants }]) => schema in variants);
  return found?.[0] ?? null;
}

/**
 * The schemas whose fields an event or a record of an export has. FeedOrderEvent has the fields of
 * OrderEvent, and its `data` has the fields of Order.
 */
function recordsOf(schema: string): readonly string[] {
  const event = schema.replace(/^Feed/, "");
  return [event, event.replace(/(Record|Event)$/, "")];
}

function fieldText(owners: readonly string[], name: string): string {
  const texts = [...owners.map((owner) => FIELD_TEXTS[`${owner}.${name}`]), FIELD_TEXTS[name]];
  const text = texts.find((candidate) => candidate !== undefined);
  if (text === undefined) throw new Error(`the field ${owners[0]}.${name} has no text in field-texts.ts`);
  return text;
}

function schemaText(name: string): string {
  const text = SCHEMA_TEXTS[name];
  if (text === undefined) throw new Error(`the schema ${name} has no text in schema-texts.ts`);
  return text;
}

function isNumber({ type }: JsonSchema): boolean {
  return type === "number" || (Array.isArray(type) && type.includes("number"));
}
