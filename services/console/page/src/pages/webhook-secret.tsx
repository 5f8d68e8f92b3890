import { useEffect, useRef } from "preact/hooks";

import type { WebhookSecret } from "../api/shapes.ts";
import { Block, Copy } from "../parts/values.tsx";

const VERIFY = `import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.env.WEBHOOK_SECRET);

// rawBody: the received bytes of the request, before any parsing
const event = webhook.verify(rawBody, request.headers);`;

interface NewSecretProps {
  readonly given: WebhookSecret;
  /** Whether the secret replaces an earlier one, which also signs for 24 hours. */
  readonly rotated: boolean;
  /** Called when the person confirms that the secret is stored. */
  readonly onDone: () => void;
}

/**
 * A new secret. It is shown once, until the person confirms that it is stored or leaves the page.
 */
export function NewSecret({ given, rotated, onDone }: NewSecretProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <section class="card new-key">
      <h2 ref={heading} tabIndex={-1}>
        {rotated ? "The new secret of" : "The secret of"} <code>{given.endpoint.url}</code>
      </h2>
      <p>
        <strong>You won't be able to see this secret again.</strong> Store it with your receiver before you leave this
        page.
        {rotated ? " For 24 hours each event is signed with both the previous secret and this one." : ""}
      </p>
      <Block text={given.secret} label="The secret" wraps />
      <Copy text={given.secret} what="the secret" />
      <p>
        Events are signed according to Standard Webhooks. Verify each event with a library for your language, and reject
        invalid ones. In Node.js:
      </p>
      <Block text={VERIFY} label="How to verify an event" wraps />
      <Copy text={VERIFY} what="the code" />
      <div class="buttons">
        <button type="button" class="primary" onClick={onDone}>
          I have stored the secret
        </button>
      </div>
    </section>
  );
}
