/** The form of risk rules. Every field has a label in words, and shows its own issue. */
import type { Issue, RiskAction, RiskRule } from "../../api/shapes.ts";
import { Field } from "../../parts/field.tsx";
import { SelectField } from "../../parts/select-field.tsx";
import { Notice } from "../../parts/notice.tsx";
import { allZones } from "../../time-zone.ts";
import { actionInWords } from "../risk-words.ts";
import { issueOf, createDraft, type RuleDraft } from "./rule-drafts.ts";
import "./risk.css";

const MAX_RULES = 10;
const TYPES: readonly (readonly [RiskRule["type"], string])[] = [
  ["dailyLoss", "Daily loss"],
  ["maxLoss", "Maximum loss"],
  ["profitTarget", "Profit target"],
];
const ACTIONS: readonly RiskAction[] = ["notify", "close_only", "disable", "flatten_and_disable"];
const TYPE_TEXTS: Readonly<Record<RiskRule["type"], string>> = {
  dailyLoss: "The loss of equity since the start of the day.",
  maxLoss: "The loss of equity from the start value, or from the highest equity or balance.",
  profitTarget: "The profit from the start value. Reaching the target is reported as a breach.",
};
const ZONES_ID = "risk-time-zones";

interface RuleFieldsProps {
  readonly drafts: readonly RuleDraft[];
  readonly change: (drafts: readonly RuleDraft[]) => void;
  readonly issues: readonly Issue[];
  /** Currency of amounts. */
  readonly currency: string;
}

/** The fields of the edited rules, and buttons that add a rule. */
export function RuleFields({ drafts, change, issues, currency }: RuleFieldsProps) {
  const general = issues.filter(({ path }) => path[0] === "rules" && path.length === 1);
  return (
    <>
      {drafts.map((draft, index) => (
        <Rule
          key={draft.key}
          {...{ draft, index, issues, currency }}
          change={(fields) => change(drafts.map((one) => (one === draft ? { ...draft, ...fields } : one)))}
          remove={() => change(drafts.filter((one) => one !== draft))}
        />
      ))}
      <datalist id={ZONES_ID}>
        {allZones().map((zone) => (
          <option key={zone}>{zone}</option>
        ))}
      </datalist>
      {general.length === 0 ? null : <Notice kind="problem">{general.map(({ message }) => message).join(" ")}</Notice>}
      <div class="buttons">
        {TYPES.map(([type, name]) => (
          <button
            key={type}
            type="button"
            disabled={drafts.length >= MAX_RULES}
            onClick={() => change([...drafts, createDraft(type, drafts)])}
          >
            Add {name.toLowerCase()}
          </button>
        ))}
      </div>
    </>
  );
}

interface RuleProps {
  readonly draft: RuleDraft;
  readonly index: number;
  readonly issues: readonly Issue[];
  readonly currency: string;
  readonly change: (fields: Partial<RuleDraft>) => void;
  readonly remove: () => void;
}

function Rule({ draft, index, issues, currency, change, remove }: RuleProps) {
  const [, name] = TYPES.find(([type]) => type === draft.type) ?? TYPES[0] ?? ["", ""];
  const error = (...fields: readonly string[]): string | null =>
    fields.map((field) => issueOf(issues, index, field)).find((issue) => issue !== null) ?? null;
  const common = { draft, change, error, currency };
  return (
    <fieldset class="rule-fields">
      <legend>
        {name} <span class="hint">{TYPE_TEXTS[draft.type]}</span>
      </legend>
      <div class="rule-grid">
        <Text {...common} label="Name of the rule" field="id" errors={["id"]} />
        <Text
          {...common}
          label={draft.type === "profitTarget" ? "Profit" : "Loss"}
          field="limit"
          errors={["limit", "target"]}
          isNumber
        />
        <Choice
          {...common}
          label="In"
          field="limitIn"
          options={[
            ["percent", "percent"],
            ["amount", currency],
          ]}
        />
        {draft.type === "dailyLoss" ? <DailyFields {...common} /> : <LifetimeFields {...common} />}
        <Choice
          {...common}
          label="When the limit is reached, kapi"
          field="action"
          options={ACTIONS.map((action) => [action, lowerFirst(actionInWords(action))])}
        />
        <Text
          {...common}
          label="Warn at percent of the limit"
          field="warnAt"
          errors={["warnAt"]}
          isNumber
          hint="Empty: no warning"
        />
      </div>
      <p>
        <button type="button" class="plain" onClick={remove}>
          Remove {draft.id === "" ? "this rule" : draft.id}
        </button>
      </p>
    </fieldset>
  );
}

interface CommonProps {
  readonly draft: RuleDraft;
  readonly change: (fields: Partial<RuleDraft>) => void;
  readonly error: (...fields: readonly string[]) => string | null;
  readonly currency: string;
}

function DailyFields(common: CommonProps) {
  return (
    <>
      <Choice
        {...common}
        label="Counted from"
        field="basis"
        options={[
          ["equity", "equity at the start of the day"],
          ["balance", "balance at the start of the day"],
          ["higher", "the higher of both"],
        ]}
      />
      <Text
        {...common}
        label="A day starts at"
        field="dayStart"
        errors={["dayStart"]}
        hint="Local time, such as 17:00"
      />
      <Text
        {...common}
        label="In the time zone"
        field="timeZone"
        errors={["timeZone"]}
        hint="Such as Europe/London"
        list={ZONES_ID}
      />
    </>
  );
}

function LifetimeFields(common: CommonProps) {
  const { draft, currency } = common;
  return (
    <>
      {draft.type === "maxLoss" ? (
        <Choice
          {...common}
          label="Counted from"
          field="trailing"
          options={[
            ["", "the start value"],
            ["equity", "the highest equity"],
            ["balance", "the highest balance"],
          ]}
        />
      ) : (
        <Choice
          {...common}
          label="Reached by"
          field="basis"
          options={[
            ["equity", "equity"],
            ["balance", "balance"],
          ]}
        />
      )}
      <Text
        {...common}
        label={`Start value (${currency})`}
        field="startValue"
        errors={["startValue"]}
        isNumber
        hint="Empty: the initial balance"
      />
      {draft.type === "maxLoss" && draft.trailing !== "" ? (
        <Text
          {...common}
          label={`The threshold never rises above (${currency})`}
          field="lockAt"
          errors={["lockAt"]}
          isNumber
          hint="Empty: no maximum"
        />
      ) : null}
    </>
  );
}

type TextField = "id" | "limit" | "dayStart" | "timeZone" | "startValue" | "lockAt" | "warnAt";

interface TextProps extends CommonProps {
  readonly label: string;
  readonly field: TextField;
  /** Fields of the API whose issues are shown here. */
  readonly errors: readonly string[];
  readonly isNumber?: boolean;
  readonly hint?: string;
  readonly list?: string;
}

function Text({ draft, change, error, label, field, errors, isNumber = false, hint, list }: TextProps) {
  return (
    <Field label={label} error={error(...errors)} {...(hint === undefined ? {} : { hint })}>
      {(tied) => (
        <input
          {...tied}
          type="text"
          autoComplete="off"
          inputMode={isNumber ? "decimal" : "text"}
          {...(list === undefined ? {} : { list })}
          value={draft[field]}
          onInput={({ currentTarget }) => change({ [field]: currentTarget.value })}
        />
      )}
    </Field>
  );
}

interface ChoiceProps extends CommonProps {
  readonly label: string;
  readonly field: "limitIn" | "basis" | "trailing" | "action";
  readonly options: readonly (readonly [value: string, name: string])[];
}

function Choice({ draft, change, error, label, field, options }: ChoiceProps) {
  return (
    <SelectField
      label={label}
      error={error(field)}
      value={draft[field]}
      options={options}
      choose={(value) => change({ [field]: value })}
    />
  );
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
