/**
 * Invalid and valid values of the fields of every {@link BodyKind} except "bulk", as JSON text. Not
 * included is the field `flatten` of the request that disables an account. The interface and the
 * decisions determine which values are valid.
 */
import { type BodyKind, LIMITS } from "./interface-tables.ts";

/** A value of one field. Without `json`, the field is missing. */
export interface FieldCase {
  readonly field: string;
  readonly what: string;
  readonly json: string | undefined;
}

const NESTING = 10_000;
const DEEP = "[".repeat(NESTING) + "]".repeat(NESTING);
const MAX_AMOUNT = 1_000_000_000;

type Values = readonly (readonly [what: string, json: string | undefined])[];

interface FieldRule {
  readonly wrong: Values;
  readonly right: Values;
}

const MISSING = ["missing", undefined] as const;
/** Values that are invalid for every field with a text, number, time or list. */
const NEVER: Values = [
  ["true", "true"],
  ["an object", "{}"],
  ["nested 10,000 deep", DEEP],
];
const quoted = (length: number): string => JSON.stringify("x".repeat(length));

function text(limits: { min?: number; max: number }, required: boolean): FieldRule {
  const { min = 0, max } = limits;
  const tooShort: Values = min === 0 ? [] : [[`${min - 1} characters`, quoted(min - 1)]];
  return {
    wrong: [
      ...(required ? [MISSING] : []),
      ...NEVER,
      ["null", "null"],
      ["a number", "5"],
      ...tooShort,
      [`${max + 1} characters`, quoted(max + 1)],
      ["with U+0000", String.raw`"xxxxxxxx\u0000"`],
      ["with half a surrogate pair", String.raw`"xxxxxxxx\ud800"`],
    ],
    right: [
      [`${min} characters`, quoted(min)],
      [`${max} characters`, quoted(max)],
    ],
  };
}

/**
 * Values that are invalid for a field with a number: other types, and too large numbers. Only
 * `defaultLeverage` may be null.
 */
const NO_NUMBERS: Values = [...NEVER, ["null", "null"], ["text", '"5"'], ["1e308", "1e308"], ["1e400", "1e400"]];

function integer(limits: { min: number; max: number }, required: boolean): FieldRule {
  const { min, max } = limits;
  return {
    wrong: [
      ...(required ? [MISSING] : []),
      ...NO_NUMBERS,
      [String(min - 1), String(min - 1)],
      [String(max + 1), String(max + 1)],
      ["0", "0"],
      ["-0", "-0"],
      ["0.001", "0.001"],
      ["1e9 + 0.01", "1000000000.01"],
      ["a fraction", "1.5"],
    ],
    right: [
      [String(min), String(min)],
      [String(max), String(max)],
    ],
  };
}

/** A required amount of money. Only an initial balance may be 0 (decisions, 6.1). */
function money(zeroIsRight: boolean): FieldRule {
  const zeros: Values = [
    ["0", "0"],
    ["-0", "-0"],
  ];
  return {
    wrong: [
      MISSING,
      ...NO_NUMBERS,
      ...(zeroIsRight ? [] : zeros),
      ["-0.01", "-0.01"],
      ["0.001", "0.001"],
      ["a third decimal", "10.005"],
      ["1e9 + 0.01", "1000000000.01"],
    ],
    right: [
      ...(zeroIsRight ? zeros : []),
      ["0.01", "0.01"],
      ["0.1 + 0.2", "0.30000000000000004"],
      ["1e9", String(MAX_AMOUNT)],
    ],
  };
}

const time: FieldRule = {
  wrong: [
    ...NEVER,
    ["null", "null"],
    ["a number", "1767225600000"],
    ["empty", '""'],
    ["a word", '"yesterday"'],
    ["a date without a time", '"2026-01-01"'],
    ["no such day", '"2026-02-30T00:00:00Z"'],
    ["without an offset", '"2026-01-01T00:00:00"'],
  ],
  right: [["with an offset", '"2026-01-01T02:00:00+02:00"']],
};

const requestId = text(LIMITS.requestId, true);
const accountName = text(LIMITS.accountName, true);
const password = text(LIMITS.password, false);
const leverage = integer(LIMITS.leverage, true);
const optional = ({ wrong, right }: FieldRule): FieldRule => ({
  wrong: wrong.filter((value) => value !== MISSING),
  right,
});

const DAILY = { type: "dailyLoss", basis: "equity" };
/** A list of rules as JSON. Each rule is a valid rule with one of the `changes` applied. */
const rules = (changes: readonly object[]): string =>
  JSON.stringify(
    changes.map((change) => ({ id: "a", type: "maxLoss", limit: { percent: 10 }, action: "notify", ...change })),
  );

const leverages = (count: number): string => JSON.stringify(Array.from({ length: count }, (_, index) => index + 1));

/** The rules of an account, or of a template. */
const riskRules: FieldRule = {
  wrong: [
    MISSING,
    ...NEVER,
    ["null", "null"],
    ["empty", "[]"],
    ["11 rules", rules(Array.from({ length: 11 }, (_, index) => ({ id: String(index) })))],
    ["the same id twice", rules([{}, {}])],
    ["a percent of 0", rules([{ limit: { percent: 0 } }])],
    ["a percent above 100", rules([{ limit: { percent: 100.01 } }])],
    ["a percent with five decimals", rules([{ limit: { percent: 1.000_01 } }])],
    ["percent and amount", rules([{ limit: { percent: 1, amount: 1 } }])],
    ["neither percent nor amount", rules([{ limit: {} }])],
    ["an unknown type", rules([{ type: "weeklyLoss" }])],
    ["an unknown action", rules([{ action: "explode" }])],
    ["an unknown time zone", rules([{ ...DAILY, timeZone: "Europe/Atlantis" }])],
    ["a day that starts at 24:00", rules([{ ...DAILY, dayStart: "24:00" }])],
    ["lockAt without trailing", rules([{ lockAt: 100 }])],
    ["lockAt below the start value minus the limit", rules([{ trailing: "equity", startValue: 100, lockAt: 50 }])],
    ["a daily limit above the maximum loss", rules([{}, { ...DAILY, id: "b", limit: { percent: 11 } }])],
  ],
  right: [["all fields", rules([{ trailing: "equity", startValue: 100, lockAt: 100, warnAt: 99 }])]],
};

const RULES: Readonly<Record<Exclude<BodyKind, "bulk">, Readonly<Record<string, FieldRule>>>> = {
  create: { accountName, password, initialBalance: money(true), leverage, requestId },
  update: { accountName: optional(accountName), leverage: optional(leverage), requestId },
  request: { requestId },
  password: { password, requestId },
  export: { from: time, to: time, limit: integer(LIMITS.exportLimit, false), requestId },
  funds: { amount: money(false), description: text(LIMITS.description, false), requestId },
  rules: { rules: riskRules, requestId },
  template: {
    rules: riskRules,
    appliesTo: {
      wrong: [
        MISSING,
        ["true", "true"],
        ["null", "null"],
        ["text", '"active"'],
        ["no condition", "{}"],
        ["no status", '{"status":[]}'],
        ["an unknown status", '{"status":["open"]}'],
        ["a status that no template may select", '{"status":["pending"]}'],
        ["a status twice", '{"status":["active","active"]}'],
        ["a status as text", '{"status":"active"}'],
        ["an empty name", '{"nameStartsWith":""}'],
        ["101 characters", JSON.stringify({ nameStartsWith: "x".repeat(101) })],
        ["with U+0000", String.raw`{"nameStartsWith":"x\u0000"}`],
      ],
      right: [
        [
          "every status",
          '{"status":["active","close_only","disabled","archived"],"nameStartsWith":"No account has this name"}',
        ],
        ["100 characters", JSON.stringify({ nameStartsWith: "x".repeat(100) })],
      ],
    },
    newAccounts: {
      wrong: [MISSING, ["null", "null"], ["text", '"true"'], ["a number", "1"]],
      right: [["true", "true"]],
    },
    requestId,
  },
  configuration: {
    supportedLeverage: {
      wrong: [
        ...NEVER,
        ["null", "null"],
        ["text", '"100"'],
        ["empty", "[]"],
        ["101 items", leverages(101)],
        ["an item of 0", "[0]"],
        ["an item of 10,001", "[10001]"],
        ["a fraction", "[1.5]"],
        ["text in the list", '["100"]'],
        ["a value twice", "[100,100]"],
      ],
      right: [["100 items", leverages(100)]],
    },
    defaultLeverage: {
      wrong: [
        ...integer(LIMITS.leverage, false).wrong.filter(([what]) => what !== "null"),
        ["a value that is not supported", "99"],
      ],
      right: [["null", "null"]],
    },
    currency: {
      wrong: [...NEVER, ["null", "null"], ["another currency", '"EUR"'], ["in lower case", '"usd"'], ["a number", "5"]],
      right: [
        ["NGN", '"NGN"'],
        ["USD", '"USD"'],
      ],
    },
  },
};

function casesOf(kind: Exclude<BodyKind, "bulk">, which: keyof FieldRule): FieldCase[] {
  return Object.entries(RULES[kind]).flatMap(([field, rule]) =>
    rule[which].map(([what, json]) => ({ field, what, json })),
  );
}

/** Returns all invalid values of the fields of a kind of body. */
export function wrongFields(kind: Exclude<BodyKind, "bulk">): FieldCase[] {
  return casesOf(kind, "wrong");
}

/** Returns all valid values of the fields of a kind of body. */
export function rightFields(kind: Exclude<BodyKind, "bulk">): FieldCase[] {
  return casesOf(kind, "right");
}

const HERE = "the value goes here";

/** Returns the body with one field changed, as JSON text. */
export function withField(body: Readonly<Record<string, unknown>>, { field, json }: FieldCase): string {
  if (json === undefined) return JSON.stringify({ ...body, [field]: undefined });
  return JSON.stringify({ ...body, [field]: HERE }).replace(JSON.stringify(HERE), json);
}

/** Bodies that are invalid as a whole. The error names no field. */
export const WRONG_WHOLES: readonly (readonly [what: string, raw: string, contentType: string])[] = [
  ["no JSON", "{no json", "application/json"],
  ["cut off", '{"requestId":', "application/json"],
  ["empty", "", "application/json"],
  ["null", "null", "application/json"],
  ["a number", "5", "application/json"],
  ["text", '"requestId"', "application/json"],
  ["an array", "[]", "application/json"],
  ["nested 10,000 deep", DEEP, "application/json"],
  ["of 2 MB", `{"requestId":"${"x".repeat(2_000_000)}"}`, "application/json"],
  ["of another content type", "requestId=1", "application/x-www-form-urlencoded"],
];
