/** Adds to the schemas of the document what generators and readers need: descriptions and units. */
import { FIELD_TEXTS, MONEY_FIELDS, SCHEMA_TEXTS } from "./field-texts.ts";

type JsonSchema = Record<string, unknown>;

/** The vendor extension that marks amounts of money. */
const UNIT = "x-kapi-unit";

/**
 * Describes every schema and field, and marks amounts of money.
 * @throws Error for a field without a text.
 */
export function describeSchemas(schemas: Record<string, JsonSchema>): Record<string, JsonSchema> {
  for (const [name, schema] of Object.entries(schemas)) {
    const text = SCHEMA_TEXTS[name];
    if (text !== undefined) schema["description"] = text;
    describeFields(name, schema);
  }
  return schemas;
}

function describeFields(owner: string, node: unknown): void {
  if (typeof node !== "object" || node === null) return;
  const { properties } = node as { properties?: Record<string, JsonSchema> };
  for (const [name, field] of Object.entries(properties ?? {})) {
    field["description"] ??= textOf(owner, name);
    if (MONEY_FIELDS.has(name) && isNumber(field)) field[UNIT] = "money";
  }
  for (const [key, child] of Object.entries(node)) {
    if (key === "properties") for (const field of Object.values(child as object)) describeFields(owner, field);
    else describeFields(owner, child);
  }
}

/** An event or a record of an export has the texts of the record that it contains. */
function textOf(owner: string, name: string): string {
  const record = owner.replace(/^Feed/, "").replace(/(Record|Event)$/, "");
  const text = FIELD_TEXTS[`${owner}.${name}`] ?? FIELD_TEXTS[`${record}.${name}`] ?? FIELD_TEXTS[name];
  if (text === undefined) throw new Error(`the field ${owner}.${name} has no text in field-texts.ts`);
  return text;
}

function isNumber({ type }: JsonSchema): boolean {
  return type === "number" || (Array.isArray(type) && type.includes("number"));
}
