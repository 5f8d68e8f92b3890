import { credits as whole } from "../format.ts";

interface ProgressProps {
  /** What is in progress: "Exporting accounts". */
  readonly label: string;
  readonly done: number;
  /** Null: unknown. */
  readonly total: number | null;
  /** What is counted: "rows". */
  readonly unit: string;
}

/** A progress bar with its numbers. Without a total, the bar shows activity only. */
export function Progress({ label, done, total, unit }: ProgressProps) {
  const shown = total === null ? null : Math.min(done, total);
  const count = shown === null || total === null ? whole(done) : `${whole(shown)} of ${whole(total)}`;
  return (
    <span class="progress">
      {shown === null || total === null ? (
        <progress aria-label={label} />
      ) : (
        <progress aria-label={label} value={shown} max={Math.max(total, 1)} />
      )}
      <span class="quiet number">
        {count} {unit}
      </span>
    </span>
  );
}
