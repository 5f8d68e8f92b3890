import { describe, expect, it } from "vitest";

import { Change } from "./contract.ts";

const CHANGE = { reference: "r-1", accountNumber: "10000001", type: "set_status", status: "disabled" };

describe("a change", () => {
  it("may name its trace parent; a value that is not a string is ignored", () => {
    expect(Change.parse({ ...CHANGE, traceparent: "00-x" })).toMatchObject({ traceparent: "00-x" });
    expect(Change.parse({ ...CHANGE, traceparent: 7 })).toEqual(CHANGE);
    expect(Change.parse(CHANGE)).toEqual(CHANGE);
  });

  it("may name who requested it; a malformed actor is ignored", () => {
    const createdBy = { type: "key", id: "mfrggzdfmztwq2lk" };
    expect(Change.parse({ ...CHANGE, createdBy })).toMatchObject({ createdBy });
    expect(Change.parse({ ...CHANGE, createdBy: { type: "robot", id: "" } })).toEqual(CHANGE);
  });
});
