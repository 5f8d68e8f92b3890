import {
  actorToText,
  type Command,
  CommandsAnswer,
  DealsAnswer,
  type ListCommandsQuery,
  OrdersAnswer,
  type Pagination,
  PositionsAnswer,
  TransactionsAnswer,
  type AccountRef,
} from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { text } from "node:stream/consumers";

import type { RecordList, RecordQuery } from "../domain/account-records.ts";
import type { CsvCell } from "../domain/csv.ts";
import type { Directory, Users } from "../domain/ports.ts";
import {
  COMMAND_COLUMNS,
  type CsvColumn,
  DEAL_COLUMNS,
  ORDER_COLUMNS,
  POSITION_COLUMNS,
  TRANSACTION_COLUMNS,
} from "../domain/record-columns.ts";
import { type CsvExport, type CsvPage, exportCsv } from "./csv-export.ts";
import { nameActors } from "./name-actors.ts";
import { type AccountRecordDependencies, listAccountCommands, readAccountRecords } from "./read-account-records.ts";

/** Records per page that is read from the service that owns the list. */
const PAGE = 100;
/** Maximum number of records of an export. */
export const MAX_EXPORTED_RECORDS = 100_000;

/**
 * An export reads the same pages as the lists of records. `directory.keys` and `users` give the
 * names of those who requested a record.
 */
export interface RecordExportDependencies extends AccountRecordDependencies {
  readonly directory: Pick<Directory, "server" | "keyNames" | "keys">;
  readonly users: Pick<Users, "names">;
}

type Requester = Command["createdBy"];

/**
 * The rows and pagination of one page. `requesters`: who requested each record, in the order of
 * the rows; null if the list does not name them.
 */
interface ParsedPage {
  readonly pagination: Pagination;
  readonly rows: readonly CsvCell[][];
  readonly requesters: readonly Requester[] | null;
}

interface Table {
  readonly columnNames: readonly string[];
  readonly parse: (body: unknown) => ParsedPage;
}

/** Names of the columns that show who requested a record. */
const REQUESTER_COLUMNS = ["requested by", "requested by (name)"];

const TABLES: Readonly<Record<RecordList | "commands", Table>> = {
  transactions: requestedTable(TRANSACTION_COLUMNS, (body) => {
    const { transactions, pagination } = TransactionsAnswer.parse(body);
    return { pagination, records: transactions };
  }),
  commands: requestedTable(COMMAND_COLUMNS, (body) => {
    const { commands, pagination } = CommandsAnswer.parse(body);
    return { pagination, records: commands };
  }),
  deals: table(DEAL_COLUMNS, (body) => {
    const { deals, pagination } = DealsAnswer.parse(body);
    return { pagination, records: deals };
  }),
  orders: table(ORDER_COLUMNS, (body) => {
    const { orders, pagination } = OrdersAnswer.parse(body);
    return { pagination, records: orders };
  }),
  positions: table(POSITION_COLUMNS, (body) => {
    const { positions, pagination } = PositionsAnswer.parse(body);
    return { pagination, records: positions };
  }),
};

type Parse<Row> = (body: unknown) => { readonly pagination: Pagination; readonly records: readonly Row[] };

function table<Row>(columns: readonly CsvColumn<Row>[], parse: Parse<Row>): Table {
  return {
    columnNames: columns.map(([name]) => name),
    parse: (body) => {
      const { pagination, records } = parse(body);
      return { pagination, rows: records.map((record) => cellsOf(columns, record)), requesters: null };
    },
  };
}

/** A table whose records name who requested them. */
function requestedTable<Row extends { readonly createdBy?: Requester }>(
  columns: readonly CsvColumn<Row>[],
  parse: Parse<Row>,
): Table {
  return {
    columnNames: [...columns.map(([name]) => name), ...REQUESTER_COLUMNS],
    parse: (body) => {
      const { pagination, records } = parse(body);
      const rows = records.map((record) => cellsOf(columns, record));
      return { pagination, rows, requesters: records.map(({ createdBy }) => createdBy) };
    },
  };
}

function cellsOf<Row>(columns: readonly CsvColumn<Row>[], record: Row): CsvCell[] {
  return columns.map(([, cell]) => cell(record));
}

/** Which records are exported: the filters of the list, without a page. */
type ExportedRecords =
  | { readonly list: RecordList; readonly query: RecordQuery }
  | { readonly list: "commands"; readonly query: Omit<ListCommandsQuery, "limit" | "cursor" | "page"> };

/**
 * The records of an account that match, as CSV, newest first. Pages are read by cursor, so no
 * record comes twice. Records that are added during the export are left out.
 * @throws ApiError VALIDATION_FAILED if more than {@link MAX_EXPORTED_RECORDS} records match, and
 * as {@link exportCsv}
 */
export async function exportAccountRecords(
  dependencies: RecordExportDependencies,
  organizationId: string,
  account: AccountRef,
  exported: ExportedRecords,
): Promise<CsvExport> {
  // An unknown server must not take the slot of another export.
  await dependencies.directory.server(organizationId, account.serverId);
  const read = async (cursor: string | undefined): Promise<Buffer | string> => {
    const page = { limit: PAGE, cursor };
    if (exported.list !== "commands") {
      const { list, query } = exported;
      return readAccountRecords(dependencies, organizationId, account, { list, query: { ...query, ...page } });
    }
    const body = await listAccountCommands(dependencies, organizationId, account, { ...exported.query, ...page });
    return Buffer.isBuffer(body) ? body : text(body);
  };
  const { columnNames, parse } = TABLES[exported.list];
  const names = new RequesterNames((texts) => nameActors(dependencies, organizationId, texts));
  return exportCsv({ organizationId, columnNames, pages: pagesOf(read, parse, names), check: checkLength });
}

async function* pagesOf(
  read: (cursor: string | undefined) => Promise<Buffer | string>,
  parse: Table["parse"],
  names: RequesterNames,
): AsyncGenerator<CsvPage> {
  let cursor: string | undefined;
  do {
    const { rows, requesters, pagination } = parse(JSON.parse((await read(cursor)).toString()));
    if (requesters !== null) {
      const cells = await names.cells(requesters);
      for (const [index, row] of rows.entries()) row.push(...(cells[index] ?? []));
    }
    yield { total: pagination.total, rows };
    cursor = pagination.nextCursor ?? undefined;
  } while (cursor !== undefined);
}

/** Looks up the name of each key and person once in an export. */
class RequesterNames {
  readonly #names = new Map<string, string | null>();
  readonly #look: (texts: readonly string[]) => Promise<Readonly<Record<string, string>>>;

  constructor(look: (texts: readonly string[]) => Promise<Readonly<Record<string, string>>>) {
    this.#look = look;
  }

  /** The cells below {@link REQUESTER_COLUMNS}, for each requester. */
  async cells(requesters: readonly Requester[]): Promise<(readonly CsvCell[])[]> {
    const texts = requesters.map((requester) => actorToText(requester));
    const unknown = [...new Set(texts)].filter((one) => one !== null && !this.#names.has(one)) as string[];
    if (unknown.length > 0) {
      const found = await this.#look(unknown);
      for (const one of unknown) this.#names.set(one, found[one] ?? null);
    }
    return texts.map((one) => [one, one === null ? null : (this.#names.get(one) ?? null)]);
  }
}

function checkLength(total: number): void {
  if (total <= MAX_EXPORTED_RECORDS) return;
  const [found, most] = [total.toLocaleString("en"), MAX_EXPORTED_RECORDS.toLocaleString("en")];
  const message = `must select fewer records: ${found} records match, and an export has at most ${most}. Choose a shorter time range`;
  throw new ApiError("VALIDATION_FAILED", { issues: [{ path: ["from"], code: "custom", message }] });
}
