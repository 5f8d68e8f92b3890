/** The risk rules of an account in words, with buttons that change and delete them. */
import { useState } from "preact/hooks";

import { useApi } from "../../api/context.ts";
import type { AccountRiskRules } from "../../api/shapes.ts";
import { zonedMoment } from "../../format.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { Empty, Loaded } from "../../parts/notice.tsx";
import { Permitted } from "../../parts/permitted.tsx";
import { useData } from "../../parts/use-data.ts";
import { Link, part } from "../../router.tsx";
import { RuleList } from "../risk/rule-list.tsx";
import { RulesEditor } from "../risk/rules-editor.tsx";
import { replacedText } from "../risk/replaced.ts";
import { Progress } from "./actions/progress.tsx";
import { type CurrentIntent, type IntentTarget, isFinal, useIntent } from "./actions/use-intent.ts";

interface RiskRulesProps {
  readonly serverId: string;
  readonly accountNumber: string;
  readonly currency: string;
  /** The data is loaded again when this number changes. */
  readonly round: number;
}

/**
 * The rules that kapi compares the account with. A person with the permission `accounts:manage` can
 * change them.
 */
export function RiskRules({ serverId, accountNumber, currency, round }: RiskRulesProps) {
  const api = useApi();
  const data = useData(`rules ${round}`, (signal) => api.riskRules(serverId, accountNumber, signal));
  const target: IntentTarget = {
    serverId,
    subject: `${accountNumber} rules`,
    send: ({ action, key, fields }) => {
      if (action !== "set-risk-rules" && action !== "delete-risk-rules")
        throw new TypeError(`${action} is not an action on risk rules`);
      return api.act(serverId, accountNumber, action, { ...fields, idempotencyKey: key });
    },
  };
  const current = useIntent(target, data.reload);
  return (
    <>
      <Progress
        serverId={serverId}
        current={current}
        what={({ action }) =>
          action === "delete-risk-rules" ? "Deletion of the risk rules" : "Change of the risk rules"
        }
        result={(command) => replacedText(command, current.intent)}
      />
      <Loaded data={data} what="the risk rules">
        {(value) => <Rules rules={value} currency={currency} current={current} reload={data.reload} />}
      </Loaded>
    </>
  );
}

interface RulesProps {
  readonly rules: AccountRiskRules;
  readonly currency: string;
  readonly current: CurrentIntent;
  readonly reload: () => void;
}

function Rules({ rules: value, currency, current, reload }: RulesProps) {
  /** The version that the person edits. A newer loaded version does not replace it. */
  const [edited, setEdited] = useState<AccountRiskRules | null>(null);
  const [isDeleting, setDeleting] = useState(false);
  const isBusy = current.intent !== null && !isFinal(current.command);
  if (edited !== null) {
    const { accountNumber, rules, version } = edited;
    return (
      <RulesEditor
        rules={rules}
        currency={currency}
        question={`Change the risk rules of account ${accountNumber}?`}
        confirm={rules.length === 0 ? "Set rules" : "Change rules"}
        warning={<ChangeWarning rules={edited} />}
        save={(changed) => current.start("set-risk-rules", { rules: changed, expectedVersion: version })}
        readAgain={() => {
          setEdited(null);
          reload();
        }}
        onClose={() => setEdited(null)}
      />
    );
  }
  const { rules, version, activeFrom } = value;
  return (
    <>
      {rules.length === 0 ? (
        <Empty>This account has no risk rules.</Empty>
      ) : (
        <>
          <RuleList rules={rules} currency={currency} />
          <p class="quiet">
            Version {version}
            {activeFrom === null ? "" : `, active since ${zonedMoment(activeFrom)}`}
            <FromTemplate rules={value} />
          </p>
        </>
      )}
      <Permitted to="accounts:manage">
        <div class="buttons">
          <button type="button" disabled={isBusy} onClick={() => setEdited(value)}>
            {rules.length === 0 ? "Set rules" : "Change rules"}
          </button>
          {rules.length === 0 ? null : (
            <button type="button" disabled={isBusy} onClick={() => setDeleting(true)}>
              Delete rules
            </button>
          )}
        </div>
      </Permitted>
      {isDeleting ? <DeleteDialog rules={value} start={current.start} onClose={() => setDeleting(false)} /> : null}
    </>
  );
}

function FromTemplate({ rules: { template, serverId } }: { readonly rules: AccountRiskRules }) {
  if (template === null) return null;
  return (
    <>
      , from version {template.version} of the template{" "}
      <Link to={`/risk-templates/${part(serverId)}/${part(template.name)}`}>{template.name}</Link>
    </>
  );
}

function ChangeWarning({ rules: { template } }: { readonly rules: AccountRiskRules }) {
  return (
    <>
      <p>
        All rules of the account are replaced together. A rule that keeps its name and type keeps its breach. The rule
        also keeps the value from which it counts, unless you choose another value. Any other rule is a new rule without
        a breach. If the account already exceeds the limit of a rule, the rule is breached at once, and its action is
        carried out.
      </p>
      {template === null ? null : (
        <p>
          <strong>The rules come from the template {template.name}.</strong> After your change no template applies to
          this account any more.
        </p>
      )}
    </>
  );
}

interface DeleteProps {
  readonly rules: AccountRiskRules;
  readonly start: CurrentIntent["start"];
  readonly onClose: () => void;
}

function DeleteDialog({ rules: { accountNumber, version }, start, onClose }: DeleteProps) {
  const [useTemplate, setUseTemplate] = useState(false);
  const fields = { expectedVersion: version, ...(useTemplate ? { useTemplate: "true" } : {}) };
  return (
    <ConfirmDialog
      title={`Delete the risk rules of account ${accountNumber}?`}
      confirm={useTemplate ? "Replace with the template" : "Delete rules"}
      dangerous
      work={() => start("delete-risk-rules", fields)}
      onClose={onClose}
    >
      <p>
        {useTemplate
          ? "The account gets the rules of the oldest template that matches it, and follows new versions of the " +
            "template. If no template matches, the account keeps its rules."
          : "kapi stops limiting the account: no rule warns, notifies or acts on it. No template applies to it either."}
      </p>
      <label class="check">
        <input
          type="checkbox"
          checked={useTemplate}
          onChange={({ currentTarget }) => setUseTemplate(currentTarget.checked)}
        />
        <span>Replace these rules with the oldest template that matches the account</span>
      </label>
    </ConfirmDialog>
  );
}
