import { useEffect, useRef } from "preact/hooks";

import type { WebhookSecret } from "../api/shapes.ts";
import { Block, Copy } from "../parts/values.tsx";

const VERIFY = `import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.env.WEBHOOK_SECRET);

// rawBody: the bytes of the request as they came, before any parsing
const event = webhook.verify(rawBody, request.headers);`;

interface NewSecretProps {
  readonly given: WebhookSecret;
  /** It takes the place of another one, which signs along for a day. */
  readonly rotated: boolean;
  /** The person has kept it. */
  readonly onDone: () => void;
}

/** A new secret: it is shown only once, until it is confirmed or the page is left. */
export function NewSecret({ given, rotated, onDone }: NewSecretProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <section class="card new-key">
      <h2 ref={heading} tabIndex={-1}>
        {rotated ? "The new secret of" : "The secret of"} <code>{given.endpoint.url}</code>
      </h2>
      <p>
        <strong>It is shown only now.</strong> Keep it where your receiver finds it, before you leave this page.
        {rotated ? " For 24 hours each event is signed with the former secret too; then only with this one." : ""}
      </p>
      <Block text={given.secret} label="The secret" wraps />
      <Copy text={given.secret} what="the secret" />
      <p>
        Each event is signed as Standard Webhooks says. Refuse what does not verify, with a library for it in your
        language; in Node.js:
      </p>
      <Block text={VERIFY} label="How to verify an event" wraps />
      <Copy text={VERIFY} what="the lines" />
      <div class="buttons">
        <button type="button" class="primary" onClick={onDone}>
          I have kept the secret
        </button>
      </div>
    </section>
  );
}
