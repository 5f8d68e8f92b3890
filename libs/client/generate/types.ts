/**
 * Generates `src/generated/api.ts`, the types of the API, and `src/generated/money-fields.ts`, from
 * the OpenAPI document. Amounts of money are numbers on the wire and decimal strings in the client,
 * so that no program adds them as floating-point numbers.
 */
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

/** The parts of an OpenAPI document that the client's types are made of. */
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
  readonly [field: string]: unknown;
}

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
}

interface Parameter {
  readonly in?: string;
  readonly name?: string;
  readonly description?: string;
  readonly schema?: object;
}

/** Fields of a schema that the generator reads: two of OpenAPI, and the mark of money amounts. */
interface MarkedSchema {
  readonly type?: unknown;
  readonly properties?: Readonly<Record<string, MarkedSchema>>;
  readonly "x-kapi-unit"?: unknown;
}

const HEADER = `/**
 * Generated from the OpenAPI document of the API by \`npm run openapi\`. Do not edit.
 */
`;

/** Returns the text of `api.ts` for the document. */
export async function generateTypes(document: object): Promise<string> {
  const nodes = await openapiTS(JSON.stringify(schemasOnly(document as Document)), {
    inject: "export type Money = string;\n",
    rootTypes: true,
    rootTypesNoSchemaPrefix: true,
    defaultNonNullable: false,
    emptyObjectsUnknown: true,
    transform: (schema) => moneyType(schema as MarkedSchema),
  });
  return `${HEADER}\n${withComments(astToString(nodes))}`;
}

/** Adds the comments that `openapi-typescript` does not write. */
function withComments(types: string): string {
  return types
    .replace("export type Money", '/** An amount of money: a decimal number as text, such as "250.55". */\n$&')
    .replace(
      "export interface components",
      "/** All schemas of the API. Each is also exported below, by its own name. */\n$&",
    );
}

/** Returns the text of `money-fields.ts`: the names of all fields that are amounts of money. */
export function generateMoneyFields(document: object): string {
  const names = new Set<string>();
  collectMoneyFields(document, names);
  const lines = [...names].sort().map((name) => `  ${JSON.stringify(name)},\n`);
  return `${HEADER}\n/** Names of fields that are amounts of money wherever they occur. */\nexport const MONEY_FIELDS: ReadonlySet<string> = new Set([\n${lines.join("")}]);\n`;
}

/**
 * The document without its paths. It has all schemas, and a schema `<OperationId>Query` for each
 * operation with query parameters.
 */
function schemasOnly({ paths, components, ...document }: Document): object {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  const queries = operations.flatMap(({ operationId, parameters = [] }) => {
    const query = parameters.filter((parameter) => parameter.in === "query");
    const name = `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}Query`;
    return query.length === 0 ? [] : [[name, { type: "object", properties: queryProperties(query) }] as const];
  });
  const schemas = { ...components.schemas, ...Object.fromEntries(queries) };
  return { openapi: document["openapi"], info: document["info"], paths: {}, components: { schemas } };
}

function queryProperties(parameters: readonly Parameter[]): object {
  return Object.fromEntries(parameters.map(({ name = "", description, schema }) => [name, { description, ...schema }]));
}

function moneyType(schema: MarkedSchema): ts.TypeNode | undefined {
  if (!isMoney(schema)) return undefined;
  const money = ts.factory.createTypeReferenceNode("Money");
  const nullable = Array.isArray(schema.type) && schema.type.includes("null");
  return nullable
    ? ts.factory.createUnionTypeNode([money, ts.factory.createLiteralTypeNode(ts.factory.createNull())])
    : money;
}

function isMoney(schema: MarkedSchema): boolean {
  return schema["x-kapi-unit"] === "money";
}

function collectMoneyFields(node: unknown, names: Set<string>): void {
  if (typeof node !== "object" || node === null) return;
  const { properties } = node as MarkedSchema;
  for (const [name, schema] of Object.entries(properties ?? {})) if (isMoney(schema)) names.add(name);
  for (const child of Object.values(node)) collectMoneyFields(child, names);
}
