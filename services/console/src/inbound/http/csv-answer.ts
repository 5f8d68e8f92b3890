import { Readable } from "node:stream";

import { CSV_TOTAL_HEADER } from "@kapi/contracts";
import { type FastifyReply, sendStream } from "@kapi/http";

/** A file to send as CSV. */
export interface CsvAnswer {
  /** Name of the file, without its ending. */
  readonly name: string;
  /** Number of rows when the export began; null: not counted. */
  readonly total: number | null;
  readonly chunks: AsyncIterable<string>;
}

/** Streams CSV. Chunks are made only as the browser reads. A failure ends the answer early. */
export function sendCsv(reply: FastifyReply, { name, total, chunks }: CsvAnswer): FastifyReply {
  void reply.headers({
    "content-type": "text/csv; charset=utf-8",
    "content-disposition": `attachment; filename="${name}.csv"`,
    ...(total === null ? {} : { [CSV_TOTAL_HEADER]: String(total) }),
  });
  return sendStream(reply, Readable.from(chunks, { objectMode: false }));
}
