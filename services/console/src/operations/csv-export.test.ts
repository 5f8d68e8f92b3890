import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";

import { ApiError } from "@kapi/http";
import { describe, expect, it } from "vitest";

import { exportCsv, type CsvPage } from "./csv-export.ts";

async function* twoPages(): AsyncGenerator<CsvPage> {
  yield await Promise.resolve({ total: 3, rows: [["a"], ["=1"]] });
  yield { total: 4, rows: [["c"]] };
}

const begin = (organizationId: string, check?: (total: number) => void) =>
  exportCsv({ organizationId, columnNames: ["name"], pages: twoPages(), ...(check === undefined ? {} : { check }) });

describe("an export as CSV", () => {
  it("has its column names, all rows with formulas escaped, and the total of the first page", async () => {
    const { total, chunks } = await begin(randomUUID());
    expect(total).toBe(3);
    expect(await text(Readable.from(chunks))).toBe("name\r\na\r\n'=1\r\nc\r\n");
  });

  it("is rejected while two other exports of the organization are not read to their end", async () => {
    const organizationId = randomUUID();
    const first = await begin(organizationId);
    await begin(organizationId);
    await expect(begin(organizationId)).rejects.toThrow(ApiError);
    await text(Readable.from(first.chunks));
    await expect(begin(organizationId)).resolves.toMatchObject({ total: 3 });
  });

  it("frees its slot if its reader stops before or after the first chunk, and if the check of the number of rows rejects it", async () => {
    const organizationId = randomUUID();
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const unread = Readable.from((await begin(organizationId)).chunks);
      unread.destroy();
      const begun = Readable.from((await begin(organizationId)).chunks);
      for await (const chunk of begun) if (chunk !== "") break;
      const tooLong = begin(organizationId, () => {
        throw new Error("too long");
      });
      await expect(tooLong).rejects.toThrow("too long");
    }
  });

  it("ends with an error when a page cannot be read", async () => {
    async function* failing(): AsyncGenerator<CsvPage> {
      yield await Promise.resolve({ total: 2, rows: [["a"]] });
      throw new Error("unavailable");
    }
    const { chunks } = await exportCsv({ organizationId: randomUUID(), columnNames: ["name"], pages: failing() });
    await expect(text(Readable.from(chunks))).rejects.toThrow("unavailable");
  });
});
