import type { RiskBreach } from "../../api/shapes.ts";
import { Link, part } from "../../router.tsx";
import { actionInWords } from "../risk-words.ts";

/** What kapi does at a breach, with a link to the command if there is one. */
export function BreachAction({ breach }: { readonly breach: RiskBreach }) {
  const { action, commandId, serverId } = breach;
  const words = actionInWords(action);
  if (commandId === null) return <>{words}</>;
  return <Link to={`/commands/${part(serverId)}/${part(commandId)}`}>{words}</Link>;
}
