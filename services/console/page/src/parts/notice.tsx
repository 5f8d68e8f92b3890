import type { ComponentChildren } from "preact";

import type { Failure } from "../api/failure.ts";
import type { Data } from "./use-data.ts";

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
  const { message, issues } = failure;
  const others = issues.filter(({ path }) => !fields.includes(String(path[0])));
  if (issues.length > 0 && others.length === 0) return null;
  return (
    <Notice kind="problem">
      {message}
      {others.map((issue) => ` ${issue.path.join(".")}: ${issue.message}.`)}
    </Notice>
  );
}

interface LoadedProps<T> {
  readonly data: Data<T>;
  /** What is being loaded, within a sentence: "the servers". */
  readonly what: string;
  readonly children: (value: T) => ComponentChildren;
}

/** Shows loaded data, or that the data is loading, or why loading failed. */
export function Loaded<T>({ data, what, children }: LoadedProps<T>) {
  const { value, failure, loading, reload } = data;
  return (
    <>
      {failure === null ? null : (
        <Notice kind="problem">
          {failure.message}{" "}
          <button type="button" class="plain" onClick={reload}>
            Try again
          </button>
        </Notice>
      )}
      {value === null && loading ? (
        <p class="quiet" role="status">
          Loading {what}…
        </p>
      ) : null}
      {value === null ? null : <div aria-busy={loading}>{children(value)}</div>}
    </>
  );
}
