import { useState } from "preact/hooks";

import { useApi } from "../../api/context.ts";
import type { ConsoleServer, RiskTemplate } from "../../api/shapes.ts";
import { Empty, Loaded } from "../../parts/notice.tsx";
import { Page } from "../../parts/page.tsx";
import { Permitted } from "../../parts/permitted.tsx";
import { WithServer } from "../../parts/server-choice.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { useUrlState } from "../../parts/url-state.ts";
import { useData } from "../../parts/use-data.ts";
import { Moment } from "../../parts/values.tsx";
import { Link, part } from "../../router.tsx";
import { Progress } from "../account/actions/progress.tsx";
import { isFinal } from "../account/actions/use-intent.ts";
import { ruleInShort } from "../risk-words.ts";
import { TemplateEditor } from "./template-editor.tsx";
import { templateIntentText, templateResultText, useTemplateIntent } from "./template-intent.ts";
import { progressInWords, selectionInWords } from "./template-words.ts";

/** The risk templates of a server, in the order of their precedence. */
export function RiskTemplatesPage() {
  const state = useUrlState();
  const chosen = state.get("server");
  return (
    <Page title="Risk templates">
      <p class="quiet">
        A template gives its rules to the accounts that match it. If several templates match an account, the oldest
        template applies. No template applies to an account whose rules were last set or deleted on the account itself.
      </p>
      <WithServer serverId={chosen === "" ? null : chosen} choose={(server) => state.set({ server })}>
        {(server) => <Templates key={server.serverId} server={server} />}
      </WithServer>
    </Page>
  );
}

function Templates({ server }: { readonly server: ConsoleServer }) {
  const { serverId } = server;
  const { currency } = server.configuration;
  const api = useApi();
  const templates = useData(`templates ${serverId}`, (signal) => api.risk.templates(serverId, signal));
  const current = useTemplateIntent(serverId, templates.reload);
  const [isCreating, setCreating] = useState(false);
  const isBusy = current.intent !== null && !isFinal(current.command);
  return (
    <>
      <Progress
        serverId={serverId}
        current={current}
        what={templateIntentText}
        result={(command) => templateResultText(command, current.intent)}
      />
      <section class="card">
        {isCreating ? (
          <>
            <h2>New template</h2>
            <TemplateEditor
              template={null}
              currency={currency}
              start={current.start}
              readAgain={() => {
                setCreating(false);
                templates.reload();
              }}
              onClose={() => setCreating(false)}
            />
          </>
        ) : (
          <>
            <Loaded data={templates} what="the risk templates">
              {(list) =>
                list.length === 0 ? (
                  <Empty>This server has no risk templates.</Empty>
                ) : (
                  <Table
                    caption="Risk templates, the oldest first"
                    columns={columnsOf(currency)}
                    rows={list}
                    keyOf={({ name }) => name}
                  />
                )
              }
            </Loaded>
            <Permitted to="accounts:manage">
              <div class="buttons">
                <button type="button" class="primary" disabled={isBusy} onClick={() => setCreating(true)}>
                  New template
                </button>
                <button type="button" onClick={templates.reload}>
                  Refresh
                </button>
              </div>
            </Permitted>
          </>
        )}
      </section>
    </>
  );
}

function columnsOf(currency: string): readonly Column<RiskTemplate>[] {
  return [
    {
      head: "Template",
      cell: ({ serverId, name }) => <Link to={`/risk-templates/${part(serverId)}/${part(name)}`}>{name}</Link>,
    },
    {
      head: "Rules",
      cell: ({ rules }) => rules.map((rule) => <div key={rule.id}>{ruleInShort(rule, currency)}</div>),
    },
    {
      head: "For",
      cell: ({ appliesTo, newAccounts }) => (
        <>
          {selectionInWords(appliesTo)}
          <span class="under">{newAccounts ? "and later ones" : "not for later ones"}</span>
        </>
      ),
    },
    { head: "Applied", cell: (template) => progressInWords(template) },
    { head: "Version", numeric: true, cell: ({ version }) => version },
    { head: "Changed", cell: ({ updatedAt }) => <Moment at={updatedAt} /> },
  ];
}
