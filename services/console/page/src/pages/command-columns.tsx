/** Commands in lists: their columns, states and operations. */
import type { Command, CommandOperation, CommandStatus } from "../api/shapes.ts";
import { ActorName, type ActorNames } from "../parts/actor.tsx";
import type { Column } from "../parts/table.tsx";
import { AccountLink, CommandLink, Moment, Money, State } from "../parts/values.tsx";

/** Every state, with its name in the filter. */
export const STATES: Readonly<Record<CommandStatus, string>> = {
  queued: "Queued",
  leased: "Leased (in progress)",
  succeeded: "Succeeded",
  failed: "Failed",
  expired: "Expired",
};
/** The type ensures that no operation is missing. */
const EVERY_OPERATION: Readonly<Record<CommandOperation, true>> = {
  "account.create": true,
  "account.update": true,
  "account.enable": true,
  "account.disable": true,
  "account.archive": true,
  "account.delete": true,
  "account.flatten": true,
  "account.close_only": true,
  "account.password_reset": true,
  "account.investor_password_reset": true,
  "account.history_export": true,
  "finance.deposit": true,
  "finance.withdraw": true,
  "risk.set_rules": true,
  "risk.delete_rules": true,
  "risk.set_template": true,
  "risk.delete_template": true,
};
/** The operations of commands, in the order of the filter. */
export const OPERATIONS = Object.keys(EVERY_OPERATION);

/** Columns of a list of commands. The column of accounts is left out if `withAccount` is false. */
export function commandColumns(
  names: ActorNames,
  currency: string,
  { withAccount = true }: { readonly withAccount?: boolean } = {},
): readonly Column<Command>[] {
  const account: Column<Command> = {
    head: "Account",
    cell: ({ serverId, accountNumber }) => <AccountLink serverId={serverId} accountNumber={accountNumber} />,
  };
  return [
    {
      head: "Operation",
      cell: ({ id, serverId, operation }) => (
        <CommandLink serverId={serverId} commandId={id}>
          {operation}
        </CommandLink>
      ),
    },
    {
      head: "State",
      cell: ({ status, errorCode }) => (
        <>
          <State of={status} /> {errorCode === null ? null : <code>{errorCode}</code>}
        </>
      ),
    },
    ...(withAccount ? [account] : []),
    {
      head: "Amount",
      numeric: true,
      cell: ({ payload }) => {
        const amount = payload?.["amount"];
        return <Money amount={typeof amount === "number" ? amount : null} currency={currency} />;
      },
    },
    { head: "By", cell: ({ createdBy }) => <ActorName of={createdBy} names={names} /> },
    { head: "Request id", cell: ({ requestId }) => <code>{requestId}</code> },
    { head: "Accepted", cell: ({ createdAt }) => <Moment at={createdAt} /> },
  ];
}
