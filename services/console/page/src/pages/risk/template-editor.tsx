/** Creates or changes a risk template. */
import { useState } from "preact/hooks";

import type { Issue, RiskTemplate, RiskTemplateSelection } from "../../api/shapes.ts";
import { Field } from "../../parts/field.tsx";
import type { CurrentIntent } from "../account/actions/use-intent.ts";
import { RulesEditor } from "./rules-editor.tsx";
import { STATUS_NAMES } from "./template-words.ts";

const MAX_NAME_CHARACTERS = 64;

type Status = keyof typeof STATUS_NAMES;
const STATUSES = Object.keys(STATUS_NAMES) as Status[];

interface TemplateEditorProps {
  /** Null: a new template. */
  readonly template: RiskTemplate | null;
  readonly currency: string;
  readonly start: CurrentIntent["start"];
  readonly readAgain: () => void;
  readonly onClose: () => void;
}

/** The form of a new or existing template. */
export function TemplateEditor({ template, currency, start, readAgain, onClose }: TemplateEditorProps) {
  const [name, setName] = useState(template?.name ?? "");
  const [statuses, setStatuses] = useState<readonly Status[]>(template?.appliesTo.status ?? []);
  const [beginning, setBeginning] = useState(template?.appliesTo.nameStartsWith ?? "");
  const [newAccounts, setNewAccounts] = useState(template?.newAccounts ?? true);
  const appliesTo: RiskTemplateSelection = {
    ...(statuses.length === 0 ? {} : { status: [...statuses] }),
    ...(beginning === "" ? {} : { nameStartsWith: beginning }),
  };
  const toggle = (status: Status): void =>
    setStatuses(statuses.includes(status) ? statuses.filter((one) => one !== status) : [...statuses, status]);
  return (
    <RulesEditor
      rules={template?.rules ?? []}
      currency={currency}
      question={template === null ? `Create the template ${name}?` : `Change the template ${name}?`}
      confirm={template === null ? "Create template" : "Change template"}
      warning={<TemplateWarning isNew={template === null} />}
      save={(rules) =>
        start("set-template", { name, rules, appliesTo, newAccounts, expectedVersion: template?.version ?? 0 })
      }
      readAgain={readAgain}
      onClose={onClose}
    >
      {(issues) => (
        <>
          {template === null ? (
            <Field
              label="Name of the template"
              hint="Letters, digits, '.', '_' and '-'. It cannot be changed later."
              error={messageOf(issues, "name")}
            >
              {(tied) => (
                <input
                  {...tied}
                  type="text"
                  autoComplete="off"
                  maxLength={MAX_NAME_CHARACTERS}
                  value={name}
                  onInput={({ currentTarget }) => setName(currentTarget.value.trim())}
                />
              )}
            </Field>
          ) : null}
          <fieldset>
            <legend>Applies to accounts in these states</legend>
            <div class="group">
              {STATUSES.map((status) => (
                <label key={status} class="check">
                  <input type="checkbox" checked={statuses.includes(status)} onChange={() => toggle(status)} />
                  <span>{STATUS_NAMES[status]}</span>
                </label>
              ))}
            </div>
            <p class="hint">None chosen: in any state.</p>
          </fieldset>
          <Field
            label="Whose name begins with"
            hint="Upper and lower case differ. If empty, accounts with any name match, and a state must be chosen."
            error={messageOf(issues, "appliesTo")}
          >
            {(tied) => (
              <input
                {...tied}
                type="text"
                autoComplete="off"
                value={beginning}
                onInput={({ currentTarget }) => setBeginning(currentTarget.value)}
              />
            )}
          </Field>
          <label class="check">
            <input
              type="checkbox"
              checked={newAccounts}
              onChange={({ currentTarget }) => setNewAccounts(currentTarget.checked)}
            />
            <span>Also for accounts that are created, or begin to match, later</span>
          </label>
        </>
      )}
    </RulesEditor>
  );
}

function TemplateWarning({ isNew }: { readonly isNew: boolean }) {
  return (
    <p>
      {isNew
        ? "Every account that matches gets these rules."
        : "Every account that has rules of this template gets the new version, also if no template matches the account any more. Every other account that matches gets the new version too."}{" "}
      An account to which another template applies gets the rules of that template instead. An account whose rules were
      last set or deleted on the account itself does not change. If an account already exceeds the limit of a rule, the
      rule is breached at once, and its action is carried out.
    </p>
  );
}

function messageOf(issues: readonly Issue[], field: string): string | null {
  const issue = issues.find(({ path }) => path[0] === field);
  // An issue of the whole selection means that it has no condition.
  if (field === "appliesTo" && issue?.path.length === 1) return "Choose a state, or enter how the name begins.";
  const message = issue?.message ?? null;
  return message === null ? null : `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
}
