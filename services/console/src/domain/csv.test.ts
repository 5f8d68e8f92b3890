import { expect, it } from "vitest";

import { csvLine, moneyCell, numberCell } from "./csv.ts";

it("a CSV line has exact amounts of money, and negative amounts stay numbers", () => {
  expect(csvLine([moneyCell(0.1 + 0.2), moneyCell(-1234.5), moneyCell(9_007_199_254.99), moneyCell(null)])).toBe(
    "0.30,-1234.50,9007199254.99,\r\n",
  );
});

it("no text in a CSV line becomes a formula of a spreadsheet", () => {
  for (const start of ["=", "+", "-", "@", "\t", "\r"]) {
    expect(csvLine([`${start}cmd`])).toMatch(/^"?'/);
  }
  expect(csvLine(["=1+1", "plain", "a-b"])).toBe("'=1+1,plain,a-b\r\n");
});

it("a CSV line quotes values with commas, quotes or line breaks", () => {
  expect(csvLine(["Smith, J", 'the "big" one', "two\nlines", numberCell(4.25)])).toBe(
    '"Smith, J","the ""big"" one","two\nlines",4.25\r\n',
  );
});
