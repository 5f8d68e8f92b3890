import { uuidV5 } from "@kapi/kernel";
import type { z } from "zod";

import type { Server } from "../http/servers.ts";
import type { AccountDigest } from "../http/digests.ts";
import type { OperationId, OPERATIONS } from "../operations.ts";
import {
  ACCOUNT_ID,
  ACCOUNT_NUMBER,
  BREACH_ID,
  COMMAND_ID,
  type CommandExample,
  CREATED_AT,
  CREATED_BY,
  envelope,
  IDEMPOTENCY_KEY,
  ORGANIZATION_ID,
  queued,
  REQUEST_ID,
  SERVER_ID,
  TEMPLATE_NAME,
  UPDATED_AT,
} from "./command-examples.ts";
import type { Example } from "./example.ts";
import { RISK_EXAMPLES } from "./risk-examples.ts";
import { DELIVERY_ID, ENDPOINT_ID, WEBHOOK_EXAMPLES } from "./webhook-examples.ts";

/** Values of path parameters and headers in examples. */
export const EXAMPLE_PARAMETERS = {
  serverId: SERVER_ID,
  accountNumber: ACCOUNT_NUMBER,
  templateName: TEMPLATE_NAME,
  commandId: COMMAND_ID,
  endpointId: ENDPOINT_ID,
  deliveryId: DELIVERY_ID,
  breachId: BREACH_ID,
  idempotencyKey: IDEMPOTENCY_KEY,
  xRequestId: "backend-5f2c",
} as const;

const pagination = { page: 1, limit: 20, total: 1, totalPages: 1, nextCursor: null };

const wallet = {
  id: "0197a3c2-5b1f-7d11-8a6c-60b7f2c94e05",
  organizationId: ORGANIZATION_ID,
  availableCredits: 9_940,
  reservedCredits: 10,
  lifetimePurchased: 10_000,
  lifetimeConsumed: 50,
  lowBalanceThreshold: 500,
  createdAt: "2026-01-05T08:00:00.000Z",
  updatedAt: UPDATED_AT,
  lowBalance: false,
};

const server: z.input<typeof Server> = {
  serverId: SERVER_ID,
  serverName: "Kapi-Demo",
  companyName: "Kapi Demo Markets",
  currency: "USD",
  currencySymbol: "$",
  environment: "demo",
  supportedLeverage: [1, 10, 50, 100, 500],
  defaultLeverage: 100,
  status: "active",
};

const account = {
  id: ACCOUNT_ID,
  organizationId: ORGANIZATION_ID,
  serverId: SERVER_ID,
  accountNumber: ACCOUNT_NUMBER,
  accountName: "Evaluation 7731",
  status: "active",
  statusReason: null,
  environment: "demo",
  currency: "USD",
  currencySymbol: "$",
  leverage: 100,
  initialBalance: 10_000,
  balance: 10_125.5,
  equity: 10_098.2,
  usedMargin: 108.42,
  freeMargin: 9_989.78,
  marginLevel: 9_313.96,
  unrealizedProfit: -27.3,
  openPositionCount: 1,
  metricsSequence: 412,
  metricsMeasuredAt: "2026-03-02T10:04:12.300Z",
  version: 2,
  createdAt: CREATED_AT,
  updatedAt: UPDATED_AT,
  activatedAt: UPDATED_AT,
  disabledAt: null,
  archivedAt: null,
} as const;

const succeededDeposit: CommandExample = {
  ...queued("finance.deposit", { amount: 250.5, description: "Card payment" }),
  status: "succeeded",
  attempts: 1,
  result: { transactionId: "0197a3c2-71f4-7b02-a9d8-15e6c3b08f06", balanceAfter: 10_250.5 },
  completedAt: UPDATED_AT,
  updatedAt: UPDATED_AT,
};

const newAccount = {
  accountName: "Evaluation 7731",
  initialBalance: 10_000,
  leverage: 100,
  requestId: REQUEST_ID,
};
const creation = {
  ...envelope("account.create", { accountName: "Evaluation 7731", initialBalance: 10_000, leverage: 100 }),
  credentials: { tradingPassword: "hV7#kQ2mRz9!pLw4XnTb", investorPassword: "Jd3$yF8sGc6@vNa1QeUk" },
};
const passwordReset = (operation: CommandExample["operation"]) => ({
  ...envelope(operation),
  password: "Wm5!rT9xBk2#zHq7LsVc",
});
const accountRequest = { requestId: REQUEST_ID };
const funds = { amount: 250.5, description: "Card payment", requestId: REQUEST_ID };

const DIGEST: AccountDigest = {
  date: "2026-03-02",
  accountNumber: ACCOUNT_NUMBER,
  currency: "USD",
  closingBalance: 10_125.5,
  transactions: {
    count: 3,
    amount: 10_125.5,
    hash: "0ba904eae8773b70c75333db4de2f3ac45a8ad4ddba1b242f0b3cfc199391dd8",
  },
  deals: {
    count: 1,
    commission: -3.5,
    realizedPnl: 129,
    swap: 0,
    hash: "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef",
  },
  hash: "77a89da4dcd2f7ffbb8bdd0b978fbc520a617326f8007489846b73149122dadd",
  revision: 1,
  createdAt: "2026-03-03T00:10:02.318Z",
  revisedAt: null,
};

type Contracts = typeof OPERATIONS;

/** A request body and an answer of each operation. All examples use the same ids. */
export const EXAMPLES: { readonly [O in OperationId]: Example<Contracts[O]> } = {
  getCreditBalance: { answer: { wallet } },
  getCreditPrices: {
    answer: { prices: { read: 1, mutation: 5, create: 10, bulkItem: 10, export: 20, liveConnection: 1 } },
  },
  listCreditUsage: {
    answer: {
      usage: [
        {
          xRequestId: EXAMPLE_PARAMETERS.xRequestId,
          operation: "createTradingAccount",
          credits: 10,
          commandId: COMMAND_ID,
          at: CREATED_AT,
          createdBy: CREATED_BY,
        },
      ],
      pagination,
    },
  },
  getServerConfiguration: { answer: { server } },
  updateServerConfiguration: {
    body: { supportedLeverage: [1, 10, 50, 100, 500], defaultLeverage: 100 },
    answer: { server },
  },
  listTradingAccounts: { answer: { accounts: [account], pagination } },
  createTradingAccount: { body: newAccount, answer: creation },
  bulkCreateTradingAccounts: { body: { accounts: [newAccount] }, answer: { results: [creation] } },
  getTradingAccount: {
    answer: {
      account,
      credentials: {
        login: ACCOUNT_NUMBER,
        serverId: SERVER_ID,
        serverName: "Kapi-Demo",
        tradingPasswordSet: true,
        investorPasswordSet: true,
        tradingPasswordChangedAt: UPDATED_AT,
        investorPasswordChangedAt: UPDATED_AT,
      },
    },
  },
  updateTradingAccount: {
    body: { accountName: "Evaluation 7731 B", leverage: 50, requestId: REQUEST_ID },
    answer: envelope("account.update", { accountName: "Evaluation 7731 B", leverage: 50 }),
  },
  deleteTradingAccountImmediately: { answer: { accountNumber: ACCOUNT_NUMBER, deleted: true } },
  enableAccount: { body: accountRequest, answer: envelope("account.enable") },
  disableAccount: { body: accountRequest, answer: envelope("account.disable") },
  archiveAccount: { body: accountRequest, answer: envelope("account.archive") },
  queueAccountDeletion: { body: accountRequest, answer: envelope("account.delete") },
  resetTradingPassword: { body: accountRequest, answer: passwordReset("account.password_reset") },
  resetInvestorPassword: { body: accountRequest, answer: passwordReset("account.investor_password_reset") },
  listTradingAccountTransactions: {
    answer: {
      transactions: [
        {
          id: "0197a3c2-71f4-7b02-a9d8-15e6c3b08f06",
          accountNumber: ACCOUNT_NUMBER,
          sequence: 2,
          type: "deposit",
          amount: 250.5,
          currency: "USD",
          balanceBefore: 10_000,
          balanceAfter: 10_250.5,
          description: "Card payment",
          requestId: REQUEST_ID,
          commandId: COMMAND_ID,
          orderId: null,
          positionId: null,
          dealId: null,
          reversalOf: null,
          createdBy: CREATED_BY,
          recordedAt: UPDATED_AT,
          createdAt: UPDATED_AT,
        },
      ],
      pagination,
    },
  },
  listTradingAccountOrders: {
    answer: {
      orders: [
        {
          id: "5001",
          symbol: "EURUSD",
          side: "buy",
          orderType: "market",
          volume: 0.1,
          status: "executed",
          createdAt: CREATED_AT,
          executedAt: CREATED_AT,
        },
      ],
      pagination,
    },
  },
  listAccountPositions: {
    answer: {
      positions: [
        {
          id: "7001",
          orderId: "5001",
          symbol: "EURUSD",
          side: "buy",
          volume: 0.1,
          closedVolume: 0,
          openPrice: 1.08421,
          status: "open",
          openedAt: CREATED_AT,
          closedAt: null,
        },
      ],
      pagination,
    },
  },
  listAccountDeals: {
    answer: {
      deals: [
        {
          id: "9001",
          orderId: "5001",
          positionId: "7001",
          symbol: "EURUSD",
          side: "buy",
          kind: "entry",
          volume: 0.1,
          price: 1.08421,
          commission: -0.35,
          realizedPnl: 0,
          swap: 0,
          executedAt: CREATED_AT,
        },
      ],
      pagination,
    },
  },
  exportAccountHistory: {
    body: { from: "2026-03-01T00:00:00Z", to: "2026-03-31T23:59:59Z", limit: 1_000, requestId: REQUEST_ID },
    answer: envelope("account.history_export", {
      from: "2026-03-01T00:00:00.000Z",
      to: "2026-03-31T23:59:59.000Z",
      limit: 1_000,
    }),
  },
  depositAccountFunds: {
    body: funds,
    answer: envelope("finance.deposit", { amount: 250.5, description: "Card payment" }),
  },
  withdrawAccountFunds: {
    body: { ...funds, description: "Payout" },
    answer: envelope("finance.withdraw", { amount: 250.5, description: "Payout" }),
  },
  getCommand: { answer: { command: succeededDeposit } },
  listCommands: { answer: { commands: [succeededDeposit], pagination } },
  listAccountMetrics: {
    answer: {
      snapshots: [
        {
          id: "0197a3f0-12ab-7c3d-8e4f-5a6b7c8d9e07",
          organizationId: ORGANIZATION_ID,
          serverId: SERVER_ID,
          accountNumber: ACCOUNT_NUMBER,
          eventId: uuidV5(SERVER_ID, `${ACCOUNT_NUMBER}/metrics/412`),
          sequence: 412,
          balance: 10_125.5,
          equity: 10_098.2,
          usedMargin: 108.42,
          freeMargin: 9_989.78,
          marginLevel: 9_313.96,
          unrealizedProfit: -27.3,
          dailyDrawdown: 0.27,
          totalDrawdown: 0.61,
          accountStatus: "active",
          measuredAt: "2026-03-02T10:04:00.000Z",
          createdAt: "2026-03-02T10:04:13.021Z",
        },
      ],
    },
  },
  listDailyDigests: {
    answer: { date: "2026-03-02", digests: [DIGEST], pagination },
  },
  ...RISK_EXAMPLES,
  ...WEBHOOK_EXAMPLES,
};
