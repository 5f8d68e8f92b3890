/**
 * SQL on segments of the equity of an account: minutes, hours, and parts of a range. A segment is a
 * row with `first_at` and `last_at` (its first and last minute), `equity_minor` and `balance_minor`
 * at its end, `lowest_minor`, `highest_minor`, and its deepest drawdown: `drawdown_minor`, from the
 * equity `drawdown_from_minor`.
 */

/**
 * SQL for stored minutes as segments; `where` selects them. The drawdown of a minute is the highest
 * equity minus the last one, because the lowest equity was perhaps before the highest. Rows of an
 * earlier release have no lowest and highest equity.
 */
export function minuteSegments(where: string): string {
  return `select measured_at as first_at, measured_at as last_at, equity_minor, balance_minor,
      coalesce(lowest_equity_minor, equity_minor) as lowest_minor,
      coalesce(highest_equity_minor, equity_minor) as highest_minor,
      coalesce(highest_equity_minor, equity_minor) - equity_minor as drawdown_minor,
      coalesce(highest_equity_minor, equity_minor) as drawdown_from_minor
    from account_metric_snapshots where ${where}`;
}

/** SQL for stored hours as segments; `where` selects them. */
export function hourSegments(where: string): string {
  return `select first_at, last_at, equity_minor, balance_minor, lowest_equity_minor as lowest_minor,
      highest_equity_minor as highest_minor, drawdown_minor, drawdown_from_minor
    from account_metric_hours where ${where}`;
}

interface Join {
  /** SQL for the segments. Each also has `part`: the hour or part of a range that it is in. */
  readonly segments: string;
  /**
   * The `partition by` of the SQL window. A drawdown may start from the highest equity of earlier
   * segments in the same window. `partition by part`: a window is one part. Empty: all segments
   * are one window.
   */
  readonly partition: string;
  /** SQL for an equity before all segments, from which a drawdown may start; SQL's `null`: none. */
  readonly peak: string;
}

/**
 * SQL that joins the segments of each part to one segment. `max(array[a, b])` is the array of the
 * row with the highest a. If several rows have this a, the one with the highest b is used.
 */
export function joinedSegments({ segments, partition, peak }: Join): string {
  return `select part, min(first_at) as first_at, max(last_at) as last_at,
      (max(array[at_s, equity_minor]))[2] as equity_minor, (max(array[at_s, balance_minor]))[2] as balance_minor,
      min(lowest_minor) as lowest_minor, max(highest_minor) as highest_minor,
      max(drawdown_minor) as drawdown_minor, (max(array[drawdown_minor, drawdown_from_minor]))[2] as drawdown_from_minor
    from (
      select part, first_at, last_at, extract(epoch from last_at)::bigint as at_s, equity_minor, balance_minor,
        lowest_minor, highest_minor, greatest(drawdown_minor, peak_minor - lowest_minor) as drawdown_minor,
        case when peak_minor - lowest_minor > drawdown_minor then peak_minor else drawdown_from_minor end
          as drawdown_from_minor
      from (
        select segments.*, greatest(${peak}, max(highest_minor) over (
          ${partition} order by first_at rows between unbounded preceding and 1 preceding)) as peak_minor
        from (${segments}) as segments
      ) as after_peak
    ) as compared
    group by part`;
}
