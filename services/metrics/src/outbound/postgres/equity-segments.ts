/**
 * SQL on segments of the equity of an account: minutes, hours, and parts of a range. A segment has
 * `first_at`, `last_at` (minutes), `equity_minor` and `balance_minor` at its end, `lowest_minor`,
 * `highest_minor`, and its deepest drawdown: `drawdown_minor`, from `drawdown_from_minor`.
 */

/**
 * Stored minutes as segments. Within a minute only the last equity is known to follow the highest.
 * Rows of an earlier release have no extremes.
 */
export function minuteSegments(where: string): string {
  return `select measured_at as first_at, measured_at as last_at, equity_minor, balance_minor,
      coalesce(lowest_equity_minor, equity_minor) as lowest_minor,
      coalesce(highest_equity_minor, equity_minor) as highest_minor,
      coalesce(highest_equity_minor, equity_minor) - equity_minor as drawdown_minor,
      coalesce(highest_equity_minor, equity_minor) as drawdown_from_minor
    from account_metric_snapshots where ${where}`;
}

/** Stored hours as segments. */
export function hourSegments(where: string): string {
  return `select first_at, last_at, equity_minor, balance_minor, lowest_equity_minor as lowest_minor,
      highest_equity_minor as highest_minor, drawdown_minor, drawdown_from_minor
    from account_metric_hours where ${where}`;
}

interface Join {
  /** SQL of segments, each with `part`. */
  readonly segments: string;
  /**
   * Frame of the segments before a segment whose highest equity its drawdown may be from:
   * `partition by part` for those of its part only.
   */
  readonly partition: string;
  /** The highest equity before all segments; `null`: none. */
  readonly peak: string;
}

/**
 * Joins the segments of each part to one segment. `max(array[a, b])` has the b of the row with the
 * highest a.
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
