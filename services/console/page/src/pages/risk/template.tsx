import { useState } from "preact/hooks";

import { useApi } from "../../api/context.ts";
import type { RiskTemplate, TemplateAccount } from "../../api/shapes.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { CursorPager } from "../../parts/cursor-pager.tsx";
import { Empty, Loaded } from "../../parts/notice.tsx";
import { Page } from "../../parts/page.tsx";
import { Permitted } from "../../parts/permitted.tsx";
import { WithServer } from "../../parts/server-choice.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { useUrlState } from "../../parts/url-state.ts";
import { useData } from "../../parts/use-data.ts";
import { AccountLink, CommandLink, Detail, DetailList, Moment, Nothing, State } from "../../parts/values.tsx";
import { go, Link, part } from "../../router.tsx";
import { Progress } from "../account/actions/progress.tsx";
import { type CurrentIntent, isFinal } from "../account/actions/use-intent.ts";
import { RuleList } from "./rule-list.tsx";
import { TemplateEditor } from "./template-editor.tsx";
import { templateIntentText, templateResultText, useTemplateIntent } from "./template-intent.ts";
import { progressInWords, selectionInWords } from "./template-words.ts";

interface TemplateProps {
  readonly serverId: string;
  readonly name: string;
}

/** One risk template: its rules and accounts, with buttons that change and delete it. */
export function RiskTemplatePage({ serverId, name }: TemplateProps) {
  const list = `/risk-templates?server=${part(serverId)}`;
  return (
    <Page title={`Risk template ${name}`}>
      <p>
        <Link to={list}>All templates of the server</Link>
      </p>
      <WithServer serverId={serverId} choose={(chosen) => go(`/risk-templates?server=${part(chosen)}`)}>
        {({ configuration }) => <Template serverId={serverId} name={name} currency={configuration.currency} />}
      </WithServer>
    </Page>
  );
}

function Template({ serverId, name, currency }: TemplateProps & { readonly currency: string }) {
  const api = useApi();
  const [round, setRound] = useState(0);
  const templates = useData(`template ${round}`, (signal) => api.risk.templates(serverId, signal));
  const refresh = (): void => setRound(round + 1);
  const current = useTemplateIntent(serverId, refresh);
  return (
    <>
      <Progress
        serverId={serverId}
        current={current}
        what={templateIntentText}
        result={(command) => templateResultText(command, current.intent)}
      />
      <Loaded data={templates} what="the risk template">
        {(list) => {
          const template = list.find((one) => one.name === name);
          if (template === undefined) return <Empty>This server has no template of this name.</Empty>;
          return (
            <>
              <Parts template={template} currency={currency} current={current} refresh={refresh} />
              <section class="card">
                <h2>Accounts</h2>
                <Accounts serverId={serverId} name={name} round={round} />
              </section>
            </>
          );
        }}
      </Loaded>
    </>
  );
}

interface PartsProps {
  readonly template: RiskTemplate;
  readonly currency: string;
  readonly current: CurrentIntent;
  readonly refresh: () => void;
}

function Parts({ template, currency, current, refresh }: PartsProps) {
  /** The version that is being changed. It stays, also if a newer version is loaded. */
  const [edited, setEdited] = useState<RiskTemplate | null>(null);
  const [isDeleting, setDeleting] = useState(false);
  const isBusy = current.intent !== null && !isFinal(current.command);
  if (edited !== null) {
    return (
      <section class="card">
        <h2>Change</h2>
        <TemplateEditor
          template={edited}
          currency={currency}
          start={current.start}
          readAgain={() => {
            setEdited(null);
            refresh();
          }}
          onClose={() => setEdited(null)}
        />
      </section>
    );
  }
  return (
    <section class="card">
      <h2>Rules</h2>
      <RuleList rules={template.rules} currency={currency} />
      <TemplateDetails template={template} />
      <div class="buttons">
        <Permitted to="accounts:manage">
          <button type="button" disabled={isBusy} onClick={() => setEdited(template)}>
            Change template
          </button>
          <button type="button" disabled={isBusy} onClick={() => setDeleting(true)}>
            Delete template
          </button>
        </Permitted>
        <button type="button" onClick={refresh}>
          Refresh
        </button>
      </div>
      {isDeleting ? (
        <DeleteDialog template={template} start={current.start} onClose={() => setDeleting(false)} />
      ) : null}
    </section>
  );
}

function TemplateDetails({ template }: { readonly template: RiskTemplate }) {
  const { appliesTo, newAccounts, version, createdAt, updatedAt, serverId, commandId } = template;
  return (
    <DetailList>
      <Detail name="For" wide>
        {selectionInWords(appliesTo)}, {newAccounts ? "also for later ones" : "not for later ones"}
      </Detail>
      <Detail name="Applied" wide>
        {progressInWords(template)}
      </Detail>
      <Detail name="Version">
        {version}{" "}
        <CommandLink serverId={serverId} commandId={commandId}>
          (its command)
        </CommandLink>
      </Detail>
      <Detail name="Changed">
        <Moment at={updatedAt} />
      </Detail>
      <Detail name="Created">
        <Moment at={createdAt} />
      </Detail>
    </DetailList>
  );
}

function Accounts({ serverId, name, round }: TemplateProps & { readonly round: number }) {
  const api = useApi();
  const state = useUrlState();
  const after = state.cursor ?? "";
  const accounts = useData(`accounts ${round} ${after}`, (signal) =>
    api.risk.templateAccounts(serverId, name, after, signal),
  );
  return (
    <Loaded data={accounts} what="the accounts of the template">
      {({ accounts: list, next }) => (
        <>
          {list.length === 0 ? (
            <Empty>{next === null ? "No account has rules of this template." : "None on this page."}</Empty>
          ) : (
            <Table
              caption="Accounts of this template"
              columns={columnsOf(serverId)}
              rows={list}
              keyOf={({ accountNumber }) => accountNumber}
            />
          )}
          <CursorPager state={state} next={next} what="accounts" labels={["Back", "More"]} />
        </>
      )}
    </Loaded>
  );
}

function columnsOf(serverId: string): readonly Column<TemplateAccount>[] {
  return [
    {
      head: "Account",
      cell: ({ accountNumber }) => <AccountLink serverId={serverId} accountNumber={accountNumber} />,
    },
    { head: "State", cell: ({ state }) => <State of={state} /> },
    { head: "Version", numeric: true, cell: ({ templateVersion }) => templateVersion ?? <Nothing /> },
  ];
}

const CHOICES = [
  [
    "remove",
    "Remove the rules from these accounts. An account gets the rules of another template, if that template matches the account and is also for accounts that are created, or begin to match, later. Without such a template, nothing limits the account any more.",
  ],
  ["keep", "Keep the rules on these accounts, without the template."],
] as const;

interface DeleteProps {
  readonly template: RiskTemplate;
  readonly start: CurrentIntent["start"];
  readonly onClose: () => void;
}

/** A wrong choice can be expensive, so neither is chosen at first. */
function DeleteDialog({ template: { name, version }, start, onClose }: DeleteProps) {
  const [accountRules, setAccountRules] = useState<"remove" | "keep" | null>(null);
  return (
    <ConfirmDialog
      title={`Delete the template ${name}?`}
      confirm="Delete template"
      dangerous
      canConfirm={accountRules !== null}
      work={() => start("delete-template", { name, accountRules, expectedVersion: version })}
      onClose={onClose}
    >
      <fieldset>
        <legend>Accounts that have rules of this template</legend>
        {CHOICES.map(([value, text]) => (
          <label key={value} class="check">
            <input
              type="radio"
              name="account-rules"
              checked={accountRules === value}
              onChange={() => setAccountRules(value)}
            />
            <span>{text}</span>
          </label>
        ))}
      </fieldset>
    </ConfirmDialog>
  );
}
