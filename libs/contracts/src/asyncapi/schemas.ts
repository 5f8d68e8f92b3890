import { assertDefined } from "@kapi/kernel";
import { z } from "zod";

import { UNIT } from "../openapi/descriptions.ts";
import { MONEY_FIELDS } from "../openapi/field-texts.ts";
import { type JsonSchema, simplify } from "../openapi/schemas.ts";
import { AccountNumber } from "../values.ts";
import { FIELD_TEXTS } from "./texts.ts";

/** The pattern of account numbers from clients. The server checks it outside of the schema. */
const ACCOUNT_NUMBER_PATTERN = assertDefined(z.toJSONSchema(AccountNumber).pattern, "a pattern");

/**
 * A message of the live stream as a JSON Schema of draft 7, which is AsyncAPI's own dialect, with a
 * text for every field. Amounts of money are marked.
 */
export function messageSchema(schema: z.ZodType, from: "client" | "server"): JsonSchema {
  const io = from === "client" ? "input" : "output";
  const { $schema: _dialect, ...converted } = z.toJSONSchema(schema, {
    io,
    target: "draft-07",
    override: ({ jsonSchema }) => simplify(jsonSchema as JsonSchema, io),
  });
  for (const [name, field] of Object.entries(converted.properties ?? {})) {
    if (typeof field === "boolean") continue;
    const description = (FIELD_TEXTS as Readonly<Record<string, string>>)[name];
    if (description !== undefined) field.description = description;
    if (field.type === "number" && MONEY_FIELDS.has(name)) field[UNIT] = "money";
    if (io === "input" && name === "accountNumber") field.pattern = ACCOUNT_NUMBER_PATTERN;
  }
  return converted;
}
