/** Small elements of pages: times, money, links to accounts, states, identifiers to copy. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";

import { exactMomentInUtc, moment, momentInUtc, money, moneyChange, relativeTime, zonedMoment } from "../format.ts";
import { Link, part } from "../router.tsx";

const COPIED_SHOWN_MS = 2_500;
/** Interval at which the texts of relative times are updated. */
const AGE_INTERVAL_MS = 1_000;

/**
 * A time in the chosen time zone, with the name of the zone; UTC in the tooltip. A dash if missing.
 */
export function Moment({ at }: { readonly at: string | null | undefined }) {
  if (at === null || at === undefined) return <Nothing />;
  return (
    <time dateTime={at} title={momentInUtc(at)}>
      {moment(at)}
    </time>
  );
}

/**
 * How long ago a time is; a dash if missing. The exact time is in the tooltip, and visible while
 * the pointer or the focus is on the element.
 */
export function Ago({ at }: { readonly at: string | null | undefined }) {
  if (at === null || at === undefined) return <Nothing />;
  return <RelativeTime at={at} />;
}

function RelativeTime({ at }: { readonly at: string }) {
  const [shown, setShown] = useState(() => relativeTime(Date.parse(at), Date.now()));
  useEffect(() => {
    const compare = (): void => setShown(relativeTime(Date.parse(at), Date.now()));
    compare();
    const timer = setInterval(compare, AGE_INTERVAL_MS);
    return () => clearInterval(timer);
  }, [at]);
  const exact = moment(at);
  return (
    <span class="ago" tabIndex={0} title={`${exact} · ${momentInUtc(at)}`}>
      <time dateTime={at}>{shown}</time>
      <span class="exact">{exact}</span>
    </span>
  );
}

interface MoneyProps {
  readonly amount: number | null | undefined;
  /** An ISO 4217 code; null: unknown. */
  readonly currency: string | null;
  /** Whether the amount is a change: an amount other than 0 gets a sign and a colour. */
  readonly change?: boolean;
}

/** An amount of money with its currency, in digits of equal width; a dash if missing. */
export function Money({ amount, currency, change = false }: MoneyProps) {
  if (amount === null || amount === undefined) return <Nothing />;
  if (!change) return <span class="number">{money(amount, currency)}</span>;
  const tone = amount > 0 ? "gain" : amount < 0 ? "loss" : "";
  return <span class={`number ${tone}`}>{moneyChange(amount, currency)}</span>;
}

interface AccountLinkProps {
  readonly serverId: string;
  /** Shown as a dash if missing. */
  readonly accountNumber: string | null | undefined;
}

/** The number of an account, as a link to its page. */
export function AccountLink({ serverId, accountNumber }: AccountLinkProps) {
  if (accountNumber === null || accountNumber === undefined) return <Nothing />;
  return <Link to={`/accounts/${part(serverId)}/${part(accountNumber)}`}>{accountNumber}</Link>;
}

interface CommandLinkProps {
  readonly serverId: string;
  readonly commandId: string;
  /** Text of the link; absent: the id of the command. */
  readonly children?: ComponentChildren;
}

/** A link to the page of a command. */
export function CommandLink({ serverId, commandId, children }: CommandLinkProps) {
  return (
    <Link to={`/commands/${part(serverId)}/${part(commandId)}`}>
      {children ?? <code class="whole">{commandId}</code>}
    </Link>
  );
}

/** A time with milliseconds, in the chosen time zone and in UTC, with the names of both zones. */
export function ExactMoment({ at }: { readonly at: string }) {
  return (
    <time dateTime={at}>
      {zonedMoment(at)} <span class="under">{exactMomentInUtc(at)}</span>
    </time>
  );
}

/** A dash in place of a missing value. */
export function Nothing() {
  return <span class="quiet nothing">–</span>;
}

const TONES: Readonly<Record<string, string>> = {
  active: "good",
  enabled: "good",
  stored: "good",
  applied: "good",
  succeeded: "good",
  delivering: "waiting",
  pending: "waiting",
  waiting: "waiting",
  queued: "waiting",
  leased: "waiting",
  deleting: "waiting",
  failed: "bad",
  expired: "bad",
};

/** The state of something, such as a key, an account or a command, in the colour of the state. */
export function State({ of: state }: { readonly of: string }) {
  return <span class={`state ${TONES[state] ?? "neutral"}`}>{state}</span>;
}

interface CopyProps {
  readonly text: string;
  /** Name of the copied text: "the key". */
  readonly what: string;
}

/** A button that copies a text to the clipboard, and says whether that succeeded. */
export function Copy({ text, what }: CopyProps) {
  const [message, setMessage] = useState("");
  useEffect(() => {
    if (message === "") return undefined;
    const timer = setTimeout(() => setMessage(""), COPIED_SHOWN_MS);
    return () => clearTimeout(timer);
  }, [message]);
  const copy = (): void => {
    // `clipboard` is undefined except over https and on localhost. Its type omits undefined.
    const clipboard = navigator.clipboard as Clipboard | undefined;
    const done = clipboard?.writeText(text) ?? Promise.reject(new Error("no clipboard"));
    done.then(
      () => setMessage("Copied"),
      () => setMessage("Copying failed. Select the text and copy it."),
    );
  };
  return (
    <span class="copy">
      <button type="button" onClick={copy}>
        Copy {what}
      </button>
      <span role="status" class="quiet">
        {message}
      </span>
    </span>
  );
}

/** Names and values of one thing, each a {@link Detail}. */
export function DetailList({ children }: { readonly children: ComponentChildren }) {
  return <dl class="details">{children}</dl>;
}

interface DetailProps {
  readonly name: string;
  /** Whether the value gets the space of two values. */
  readonly wide?: boolean;
  readonly children: ComponentChildren;
}

/** One name and value of a {@link DetailList}. */
export function Detail({ name, wide = false, children }: DetailProps) {
  return (
    <div class={wide ? "double" : undefined}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

interface BlockProps {
  readonly text: string;
  readonly label: string;
  /**
   * Whether long lines are wrapped. Otherwise they scroll in a region of their own, which the
   * keyboard can reach.
   */
  readonly wraps?: boolean;
}

/** Preformatted text to read or copy. */
export function Block({ text, label, wraps = false }: BlockProps) {
  return (
    <pre class={wraps ? "block wraps" : "block"} tabIndex={0} role="region" aria-label={label}>
      {text}
    </pre>
  );
}
