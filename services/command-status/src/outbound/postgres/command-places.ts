/**
 * Where a command's details are. `command_ids` tells the month of each command for good; the
 * details are in the partition of that month until it is dropped.
 */

/**
 * The partition of the commands of the releases before months. Nothing else is ever written there
 * by its month.
 */
export const OLD_PLACE = "date '0001-01-01'";

/**
 * The commands whose ids `given`, a table expression, has as `command_id`: `known`, their rows of
 * `command_ids`, and `commands`, their details (null after the retention). A command without a row
 * of `command_ids` can only be in the old table, whose ids are filled in a piece at a time.
 *
 * `offset 0` keeps id and month together. Without it a plan that is made while a partition is empty
 * finds rows by the month alone, and goes on to read all of the partition when it has millions.
 */
export const detailsOf = (given: string): string => `(
    select given.command_id as asked_id, coalesce(known.month, ${OLD_PLACE}) as asked_month,
      known.command_id, known.organization_id, known.server_id, known.created_at, known.month, known.operation,
      known.idempotency_key, known.fingerprint, known.derivation_key_id, known.status, known.attempts,
      known.error_code, known.created_by
    from ${given} left join command_ids as known on known.command_id = given.command_id
    offset 0
  ) as known
  left join commands_by_month as commands
    on commands.month = known.asked_month and commands.command_id = known.asked_id`;

/** {@link detailsOf} the ids `$1`. */
export const ASKED_COMMANDS = detailsOf("unnest($1::uuid[]) as given (command_id)");

/**
 * Where a new command goes, as of the statement. `may_be_old`: it may be in the old table without a
 * row of `command_ids`. Until `monthly_from`, processes of the release before may write to the old
 * table, so all new commands go there.
 */
export const PLACEMENT = `placement as materialized (
  select case when now() < monthly_from then ${OLD_PLACE} else current_command_month() end as month,
    now() >= monthly_from and not is_filled as may_be_old
  from command_placement
)`;

/** The month of the new command `given`. Needs {@link PLACEMENT}. */
export const MONTH_OF_NEW = `case when placement.may_be_old and exists (
    select from commands_by_month as old where old.month = ${OLD_PLACE} and old.command_id = given.command_id
  ) then ${OLD_PLACE} else placement.month end`;
