import { type CustomTypesConfig, types } from "pg";

const INT8 = 20;
const INT8_ARRAY = 1016;

/**
 * How column values become JavaScript values: int8 becomes a number, and an unsafe integer throws
 * RangeError; numeric stays a string; timestamptz becomes a Date; json and jsonb are parsed; bytea
 * becomes a Buffer.
 */
export const TYPES: CustomTypesConfig = {
  getTypeParser: (oid, format) => {
    const parse = types.getTypeParser(oid, format);
    if (format === "binary") return parse;
    const type: number = oid;
    if (type === INT8) return safeInteger;
    if (type === INT8_ARRAY) return (text: string) => safeIntegers(parse(text));
    return parse;
  },
};

function safeInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`int8 value ${text} is not a safe integer`);
  return value;
}

function safeIntegers(values: unknown): unknown {
  if (Array.isArray(values)) return values.map(safeIntegers);
  return typeof values === "string" ? safeInteger(values) : values;
}
