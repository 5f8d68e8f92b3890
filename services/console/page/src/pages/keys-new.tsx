import { useEffect, useRef } from "preact/hooks";

import { useSession } from "../api/context.ts";
import type { CreatedConsoleKeyAnswer, Scope } from "../api/shapes.ts";
import { Block, Copy } from "../parts/values.tsx";

interface NewKeyProps {
  readonly created: CreatedConsoleKeyAnswer;
  /** Called when the person confirms that the key is stored. */
  readonly onDone: () => void;
}

/** A new key. It is shown once, until the person confirms that it is stored or leaves the page. */
export function NewKey({ created, onDone }: NewKeyProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { apiUrl } = useSession();
  useEffect(() => heading.current?.focus(), []);
  const { key, managementKey } = created;
  const line = curlLine(apiUrl, managementKey, key.scopes);
  return (
    <section class="card new-key">
      <h2 ref={heading} tabIndex={-1}>
        Your new key “{key.name}”
      </h2>
      <p>
        <strong>You won't be able to see this key again.</strong> Store it in your backend's secrets before you leave
        this page.
      </p>
      <Block text={managementKey} label="The new key" wraps />
      <Copy text={managementKey} what="the key" />
      <p>{line.title}</p>
      <Block text={line.command} label="A request with the new key" wraps />
      <Copy text={line.command} what="the command" />
      <div class="buttons">
        <button type="button" class="primary" onClick={onDone}>
          I have stored the key
        </button>
      </div>
    </section>
  );
}

/** A `curl` command that needs only the key, and a text about it. */
function curlLine(
  apiUrl: string,
  managementKey: string,
  scopes: readonly Scope[],
): { readonly title: string; readonly command: string } {
  const call = `curl -s ${apiUrl}/api/v1/management/credits/balance -H 'Authorization: Management ${managementKey}'`;
  const title = scopes.includes("credits:read")
    ? "Try it in a terminal. This request reads the credit balance, and is billed as one read."
    : "Try it in a terminal. The key works if the response names the missing scope credits:read.";
  return { title, command: call };
}
