/**
 * Where the details of a command are. `command_ids` has the month of each command, and its rows are
 * never deleted. The details are in the partition of that month until the partition is dropped.
 */

/** The month of the old table: the table of release 0.1.0, which is now a partition. */
export const OLD_MONTH = "date '0001-01-01'";

/**
 * A table expression that joins ids with their commands. `given` is a table expression with the
 * column `command_id`. The result has `known`, the rows of `command_ids`, and `commands`, the
 * details (null after the retention). A command without a row of `command_ids` can only be in the
 * old table, whose ids are backfilled in pieces.
 *
 * `offset 0` keeps id and month in one condition. Without it, a plan that is made while a partition
 * is empty searches by month alone, and still reads the whole partition when it has millions of
 * rows.
 */
export const detailsOf = (given: string): string => `(
    select given.command_id as asked_id, coalesce(known.month, ${OLD_MONTH}) as asked_month,
      known.command_id, known.organization_id, known.server_id, known.created_at, known.month, known.operation,
      known.idempotency_key, known.fingerprint, known.derivation_key_id, known.status, known.attempts,
      known.error_code, known.created_by
    from ${given} left join command_ids as known on known.command_id = given.command_id
    offset 0
  ) as known
  left join commands_by_month as commands
    on commands.month = known.asked_month and commands.command_id = known.asked_id`;

/** {@link detailsOf} for the ids in `$1`. */
export const REQUESTED_COMMANDS = detailsOf("unnest($1::uuid[]) as given (command_id)");

/**
 * A CTE with the month of new commands at the time of the statement. Until `monthly_from`,
 * processes of release 0.1.0 may run. They know only the old table, so all new commands go there.
 * `may_be_old`: the old table may have a command without a row of `command_ids`.
 */
export const PLACEMENT = `placement as materialized (
  select case when now() < monthly_from then ${OLD_MONTH} else current_command_month() end as month,
    now() >= monthly_from and not is_filled as may_be_old
  from command_placement
)`;

/** SQL for the month of the new command `given`. Requires the CTE {@link PLACEMENT}. */
export const MONTH_OF_NEW = `case when placement.may_be_old and exists (
    select from commands_by_month as old where old.month = ${OLD_MONTH} and old.command_id = given.command_id
  ) then ${OLD_MONTH} else placement.month end`;
