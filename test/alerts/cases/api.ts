import { rising } from "../phases.ts";
import { type AlertCase, kapi } from "./case.ts";

const DEPOSIT = "depositAccountFunds";

/** A counter of deposit requests with this status; `values` in promtool's notation. */
function requests(status: string, values: string): Readonly<Record<string, string>> {
  const labels = { job: "gateway", kapi_operation: DEPOSIT, http_response_status_code: status };
  return { [kapi("http_server_request_duration_count", labels)]: values };
}

function bucket(le: string, values: string, operation = DEPOSIT): Readonly<Record<string, string>> {
  return {
    [kapi("http_server_request_duration_bucket", { job: "gateway", kapi_operation: operation, le })]: values,
  };
}

/**
 * Requests of an operation that waits for a command. During the fault, all of them take longer than
 * 10 s. The alert must ignore this operation.
 */
function waits(operation: string): Readonly<Record<string, string>> {
  return { ...bucket("10", rising(10, 0), operation), ...bucket("+Inf", rising(10, 10), operation) };
}

/** Requests that fail or take long. */
export const API: readonly AlertCase[] = [
  {
    alert: "KapiApiFails",
    when: "one of twenty requests fails",
    series: { ...requests("202", rising(10, 9.5)), ...requests("500", rising(0, 0.5)) },
    labels: {},
    severity: "critical",
    summary: "More than 2 % of the API's requests fail",
  },
  {
    alert: "KapiOperationFails",
    when: "one of five requests of an operation fails",
    series: { ...requests("202", rising(1, 0.8)), ...requests("500", rising(0, 0.2)) },
    labels: { kapi_operation: DEPOSIT },
    severity: "warning",
    summary: "More than 10 % of the requests of depositAccountFunds fail",
  },
  {
    alert: "KapiApiSlow",
    when: "half of the requests take 1 to 2.5 s",
    series: {
      ...bucket("1", rising(10, 5)),
      ...bucket("2.5", rising(10, 10)),
      ...bucket("+Inf", rising(10, 10)),
      ...waits("getCommand"),
      ...waits("listCommands"),
    },
    labels: { kapi_operation: DEPOSIT },
    severity: "warning",
    summary: "More than 1 % of the requests of depositAccountFunds take longer than a second",
  },
];
