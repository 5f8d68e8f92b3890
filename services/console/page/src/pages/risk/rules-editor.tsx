/** Changes the risk rules of one account, or those of a template. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import { asFailure, type Failure } from "../../api/failure.ts";
import type { Issue, RiskRule } from "../../api/shapes.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { Notice } from "../../parts/notice.tsx";
import { draftOf, type RuleDraft, rulesOf } from "./rule-drafts.ts";
import { RuleFields } from "./rule-fields.tsx";
import { RuleChangeList } from "./rule-list.tsx";

const CHANGED_MEANWHILE = "VERSION_CHANGED";

interface RulesEditorProps {
  /** The rules before the change. */
  readonly rules: readonly RiskRule[];
  readonly currency: string;
  /** Title of the dialog that asks before the change: "Change the risk rules of account 1001?" */
  readonly question: string;
  /** Label of the buttons that open the dialog and send the change: "Change rules". */
  readonly confirm: string;
  /** What the change means, in sentences. */
  readonly warning: ComponentChildren;
  /** Other fields of the form, with their issues. */
  readonly children?: (issues: readonly Issue[]) => ComponentChildren;
  /** Rejects with a Failure if the change was certainly not accepted. */
  readonly save: (rules: readonly RiskRule[]) => Promise<void>;
  /** Reads the newest version. What the person has entered is lost. */
  readonly readAgain: () => void;
  readonly onClose: () => void;
}

/** The form of the rules, and the dialog that asks before the change is sent. */
export function RulesEditor(props: RulesEditorProps) {
  const { rules: before, currency, question, confirm, warning, children, save, readAgain, onClose } = props;
  const [drafts, setDrafts] = useState<readonly RuleDraft[]>(() => before.map((rule) => draftOf(rule)));
  const [issues, setIssues] = useState<readonly Issue[]>([]);
  const [asked, setAsked] = useState<readonly RiskRule[] | null>(null);
  const [conflict, setConflict] = useState<Failure | null>(null);
  const change = (changed: readonly RuleDraft[]): void => {
    // A change of one rule removes the issues of this rule. Adding or removing a rule removes the
    // issues of all rules. Both remove issues of the list as a whole.
    const isSame = (index: unknown): boolean =>
      changed.length === drafts.length && typeof index === "number" && changed[index] === drafts[index];
    setIssues(issues.filter(({ path: [list, index] }) => list !== "rules" || isSame(index)));
    setDrafts(changed);
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const entered = rulesOf(drafts);
    setIssues("issues" in entered ? entered.issues : []);
    if ("rules" in entered) setAsked(entered.rules);
  };
  const work = async (rules: readonly RiskRule[]): Promise<void> => {
    setConflict(null);
    try {
      await save(rules);
    } catch (error) {
      const failure = asFailure(error);
      if (failure.code === CHANGED_MEANWHILE) return setConflict(failure);
      if (failure.issues.length === 0) throw failure;
      return setIssues(failure.issues);
    }
    onClose();
  };
  return (
    <form class="rules-form" onSubmit={submit} noValidate aria-label={confirm}>
      {children?.(issues)}
      <RuleFields drafts={drafts} change={change} issues={issues} currency={currency} />
      {conflict === null ? null : (
        <Notice kind="problem">
          <strong>{conflict.message}</strong> Your change was not made. Read the newest version, and make your change
          again if it is still wanted.{" "}
          <button type="button" onClick={readAgain}>
            Read the newest version
          </button>
        </Notice>
      )}
      {issues.length === 0 ? null : (
        <Notice kind="problem">Nothing was changed: correct the marked fields, and try again.</Notice>
      )}
      <div class="buttons">
        <button type="submit" class="primary" disabled={drafts.length === 0}>
          {confirm}…
        </button>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </div>
      {asked === null ? null : (
        <ConfirmDialog
          title={question}
          confirm={confirm}
          dangerous
          work={() => work(asked)}
          onClose={() => setAsked(null)}
        >
          <RuleChangeList before={before} after={asked} currency={currency} />
          {warning}
        </ConfirmDialog>
      )}
    </form>
  );
}
