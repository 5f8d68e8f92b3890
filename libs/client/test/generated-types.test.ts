import { openApiDocument } from "@kapi/contracts/openapi";
import { describe, expect, it } from "vitest";

import { generateMoneyFields, generateTypes } from "../generate/types.ts";

const document = openApiDocument();

describe("the generated types", () => {
  it("are those of the API's document (`npm run openapi` writes them)", async () => {
    await expect(await generateTypes(document)).toMatchFileSnapshot("../src/generated/api.ts");
  });

  it("include the names of all fields with an amount of money", async () => {
    await expect(generateMoneyFields(document)).toMatchFileSnapshot("../src/generated/money-fields.ts");
  });
});
