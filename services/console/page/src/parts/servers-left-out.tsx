import type { ConsoleServersAnswer } from "../api/shapes.ts";
import { counted, credits as whole } from "../format.ts";

interface ServersLeftOutProps {
  /** Null: the servers are not loaded. */
  readonly answer: ConsoleServersAnswer | null;
  /** Where the servers are missing. */
  readonly of: "this list" | "the choice of servers";
}

/** Says how many servers are missing where only the first ones are shown; nothing if none is. */
export function ServersLeftOut({ answer, of }: ServersLeftOutProps) {
  // A console service of the previous release does not send this field.
  if (!answer?.serversLeftOut) return null;
  return (
    <p class="quiet">
      {counted(answer.serversLeftOut, "more server is", "more servers are")} left out of {of}: kapi reads the{" "}
      {whole(answer.servers.length)} oldest servers.
    </p>
  );
}
