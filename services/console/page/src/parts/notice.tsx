import type { ComponentChildren } from "preact";

import { useOptionalSession } from "../api/context.ts";
import { type Failure, FORBIDDEN } from "../api/failure.ts";
import { rolesInWords } from "./roles.ts";
import type { Data } from "./use-data.ts";
import { Copy } from "./values.tsx";

const SKELETON_LINES = 4;
const MISSING_PERMISSION = "MISSING_PERMISSION";
/** The API's error text if a person's role lacks a permission; the group is the permission. */
const ROLE_LACKS = /^Your role does not allow this: (\S+?)\.?$/;

interface NoticeProps {
  readonly kind: "problem" | "warning" | "good";
  readonly children: ComponentChildren;
}

/** A short important text; screen readers announce a problem at once. */
export function Notice({ kind, children }: NoticeProps) {
  return (
    <div class={`notice ${kind}`} role={kind === "problem" ? "alert" : "status"}>
      {children}
    </div>
  );
}

const NO_FIELDS: readonly string[] = [];

interface ProblemProps {
  readonly failure: Failure | null;
  /** Fields that show their own issues. */
  readonly fields?: readonly string[];
}

/** The error of an action. Shows nothing without an error, or if fields show all its issues. */
export function Problem({ failure, fields = NO_FIELDS }: ProblemProps) {
  if (failure === null) return null;
  const { issues } = failure;
  const others = issues.filter(({ path }) => !fields.includes(String(path[0])));
  if (issues.length > 0 && others.length === 0) return null;
  return (
    <Notice kind="problem">
      <FailureText failure={failure} />
      {others.map((issue) => ` ${issue.path.join(".")}: ${issue.message}.`)}
    </Notice>
  );
}

/** What failed, with the id of the request if the fault is kapi's. */
function FailureText({ failure }: { readonly failure: Failure }) {
  const { message, requestId, status } = failure;
  if (isForbidden(failure)) return <Forbidden message={message} />;
  const isOurs = status !== null && status >= 500;
  return (
    <>
      {message}
      {requestId === null || !isOurs ? null : (
        <span class="request-id">
          Request <code>{requestId}</code> <Copy text={requestId} what="the request id" />
        </span>
      )}
    </>
  );
}

function isForbidden({ status, code }: Failure): boolean {
  return status === FORBIDDEN && code === MISSING_PERMISSION;
}

/**
 * Shows which role is needed, and whom to ask. If `message` names no permission, shows `message`.
 * Such a message says that a second factor must be set up first, or that the person is no longer an
 * owner.
 */
function Forbidden({ message }: { readonly message: string }) {
  const session = useOptionalSession();
  const permission = ROLE_LACKS.exec(message)?.[1];
  if (permission === undefined) return <>{message}</>;
  const roles = rolesInWords(permission);
  return (
    <>
      Your role does not allow this.{roles === null ? "" : ` This needs the role ${roles}.`} Ask an owner of{" "}
      {session?.organization.name ?? "your organization"} to change your role.
    </>
  );
}

interface EmptyProps {
  /** What is missing: "This server has no accounts yet." */
  readonly children: ComponentChildren;
  /** What to do next: a link or a button. */
  readonly next?: ComponentChildren;
}

/** An empty list: what is missing, and what to do next. */
export function Empty({ children, next }: EmptyProps) {
  return (
    <div class="empty">
      <p class="quiet">{children}</p>
      {next === undefined ? null : <p>{next}</p>}
    </div>
  );
}

interface LoadedProps<T> {
  readonly data: Data<T>;
  /** What is being loaded, within a sentence: "the servers". */
  readonly what: string;
  /** Height of the placeholder while the content is loading, in lines of text. */
  readonly lines?: number;
  readonly children: (value: T) => ComponentChildren;
}

/**
 * Shows loaded data, or that the data is loading. If loading failed, it shows why and what to do,
 * above data that was loaded before.
 */
export function Loaded<T>({ data, what, lines = SKELETON_LINES, children }: LoadedProps<T>) {
  const { value, failure, loading, reload } = data;
  return (
    <>
      {failure === null ? null : (
        <Notice kind="problem">
          {isForbidden(failure) ? null : <strong>Could not load {what}. </strong>}
          <FailureText failure={failure} />{" "}
          {isForbidden(failure) ? null : (
            <button type="button" class="plain" onClick={reload}>
              Try again
            </button>
          )}
        </Notice>
      )}
      {value === null && loading ? <Skeleton what={what} lines={lines} /> : null}
      {value === null ? null : <div aria-busy={loading}>{children(value)}</div>}
    </>
  );
}

/** Takes the place of content that is loading. It is visible only after 200 ms. */
function Skeleton({ what, lines }: { readonly what: string; readonly lines: number }) {
  return (
    <div class="skeleton" role="status" aria-busy="true">
      <span class="hidden">Loading {what}…</span>
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} class="skeleton-line" />
      ))}
    </div>
  );
}
