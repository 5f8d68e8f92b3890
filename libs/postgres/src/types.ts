import pg from "pg";

const INT8: number = 20;
const INT8_ARRAY: number = 1016;

/**
 * How column values become JavaScript values: int8 becomes a number, asserted to be a safe one; numeric stays a string;
 * timestamptz becomes a Date; json and jsonb are parsed; bytea becomes a Buffer.
 */
export const TYPES: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: "text" | "binary") => {
    if (format === "binary") return pg.types.getTypeParser(oid, "binary");
    if (oid === INT8) return safeInteger;
    if (oid === INT8_ARRAY) return (text: string) => safeIntegers(pg.types.getTypeParser(INT8_ARRAY, "text")(text));
    return pg.types.getTypeParser(oid, "text");
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
