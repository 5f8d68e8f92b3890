/**
 * Types of the API, generated from its OpenAPI document by `npm run openapi`. Do not edit.
 */

export type Money = string;
export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Actor: {
            /** @enum {string} */
            type: "key" | "user" | "system";
            id: string;
        };
        Wallet: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            organizationId: string;
            availableCredits: number;
            reservedCredits: number;
            lifetimePurchased: number;
            lifetimeConsumed: number;
            lowBalanceThreshold: number;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
            lowBalance: boolean;
        };
        CreditPrices: {
            read: number;
            mutation: number;
            create: number;
            bulkItem: number;
            export: number;
            liveConnection: number;
        };
        CreditUsage: {
            xRequestId: string | null;
            operation: string;
            credits: number;
            commandId: string | null;
            /** Format: date-time */
            at: string;
            createdBy?: components["schemas"]["Actor"] | null;
        };
        Server: {
            /** Format: uuid */
            serverId: string;
            serverName: string;
            companyName: string;
            /** @enum {string} */
            currency: "USD" | "NGN";
            currencySymbol: string;
            /** @enum {string} */
            environment: "demo" | "real";
            supportedLeverage: number[];
            defaultLeverage: number | null;
            /** @enum {string} */
            status: "active" | "disabled";
        };
        TradingAccount: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            organizationId: string;
            /** Format: uuid */
            serverId: string;
            accountNumber: string;
            accountName: string;
            /** @enum {string} */
            status: "pending" | "active" | "failed" | "disabled" | "archived" | "deleting";
            statusReason: string | null;
            /** @enum {string} */
            environment: "demo" | "real";
            /** @enum {string} */
            currency: "USD" | "NGN";
            currencySymbol: string;
            leverage: number;
            initialBalance: number;
            balance: number;
            equity: number;
            usedMargin: number;
            freeMargin: number;
            marginLevel: number | null;
            unrealizedProfit: number;
            openPositionCount: number;
            metricsSequence: number;
            metricsMeasuredAt: string | null;
            version: number;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
            activatedAt: string | null;
            disabledAt: string | null;
            archivedAt: string | null;
        };
        AccountCredentials: {
            login: string;
            /** Format: uuid */
            serverId: string;
            serverName: string;
            tradingPasswordSet: boolean;
            investorPasswordSet: boolean;
            tradingPasswordChangedAt: string | null;
            investorPasswordChangedAt: string | null;
        };
        Command: {
            /** Format: uuid */
            id: string;
            /** @enum {string} */
            operation: "account.create" | "account.update" | "account.enable" | "account.disable" | "account.archive" | "account.delete" | "account.password_reset" | "account.investor_password_reset" | "account.history_export" | "finance.deposit" | "finance.withdraw";
            /** @enum {string} */
            status: "queued" | "leased" | "succeeded" | "failed" | "expired";
            managedAccountId?: string | null;
            attempts: number;
            payload?: {
                [key: string]: unknown;
            };
            result: {
                [key: string]: unknown;
            } | null;
            errorCode: ("ACCOUNT_NOT_FOUND" | "ACCOUNT_NOT_READY" | "ACCOUNT_DISABLED" | "ACCOUNT_ARCHIVED" | "ACCOUNT_HAS_OPEN_POSITIONS" | "INVALID_STATE_TRANSITION" | "INSUFFICIENT_FUNDS" | "LEVERAGE_NOT_SUPPORTED" | "SERVER_DISABLED" | "SERVER_UNAVAILABLE" | "REJECTED_BY_SERVER" | "INTERNAL") | null;
            errorMessage?: string | null;
            idempotencyKey: string;
            /** Format: date-time */
            createdAt: string;
            completedAt?: string | null;
            requestId?: string;
            /** Format: uuid */
            serverId: string;
            accountNumber?: string | null;
            /** Format: date-time */
            updatedAt?: string;
            /** Format: date-time */
            deadlineAt?: string;
            createdBy?: components["schemas"]["Actor"] | null;
        };
        CommandEnvelope: {
            command: components["schemas"]["Command"];
            duplicate: boolean;
            credentials?: {
                tradingPassword: string;
                investorPassword: string;
            };
            password?: string;
        };
        Transaction: {
            /** Format: uuid */
            id: string;
            accountNumber: string;
            sequence: number;
            /** @enum {string} */
            type: "initial_balance" | "deposit" | "withdrawal" | "realized_pnl" | "commission" | "swap" | "adjustment" | "reversal";
            amount: number;
            /** @enum {string} */
            currency: "USD" | "NGN";
            balanceBefore: number;
            balanceAfter: number;
            description: string | null;
            requestId: string | null;
            commandId: string | null;
            orderId: string | null;
            positionId: string | null;
            dealId: string | null;
            reversalOf: string | null;
            createdBy?: components["schemas"]["Actor"] | null;
            /** Format: date-time */
            recordedAt: string;
            /** Format: date-time */
            createdAt: string;
        };
        Order: {
            id: string;
            symbol: string;
            side: string;
            orderType: string;
            volume: number;
            status: string;
            /** Format: date-time */
            createdAt: string;
            executedAt: string | null;
        };
        Position: {
            id: string;
            orderId: string;
            symbol: string;
            side: string;
            volume: number;
            closedVolume: number;
            openPrice: number;
            /** @enum {string} */
            status: "open" | "closed";
            /** Format: date-time */
            openedAt: string;
            closedAt: string | null;
        };
        Deal: {
            id: string;
            orderId: string;
            positionId: string;
            symbol: string;
            side: string;
            kind: string;
            volume: number;
            price: number;
            commission: number;
            realizedPnl: number;
            swap: number;
            /** Format: date-time */
            executedAt: string;
        };
        AccountMetricSnapshot: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            organizationId: string;
            /** Format: uuid */
            serverId: string;
            accountNumber: string;
            eventId: string;
            sequence: number;
            balance: number;
            equity: number;
            usedMargin: number;
            freeMargin: number;
            marginLevel: number;
            unrealizedProfit: number;
            dailyDrawdown: number;
            totalDrawdown: number;
            accountStatus: string;
            /** Format: date-time */
            measuredAt: string;
            /** Format: date-time */
            createdAt: string;
        };
        Pagination: {
            page: number;
            limit: number;
            total: number;
            totalPages: number;
        };
        WalletAnswer: {
            wallet: components["schemas"]["Wallet"];
        };
        CreditPricesAnswer: {
            prices: components["schemas"]["CreditPrices"];
        };
        CreditUsageAnswer: {
            usage: components["schemas"]["CreditUsage"][];
            pagination: components["schemas"]["Pagination"];
        };
        ServerAnswer: {
            server: components["schemas"]["Server"];
        };
        TradingAccountsAnswer: {
            accounts: components["schemas"]["TradingAccount"][];
            pagination?: components["schemas"]["Pagination"];
        };
        AccountDetailsAnswer: {
            account: components["schemas"]["TradingAccount"];
            credentials: components["schemas"]["AccountCredentials"];
        };
        DeletedAccountAnswer: {
            accountNumber: string;
            /** @constant */
            deleted: true;
        };
        BulkEnvelopesAnswer: {
            results: components["schemas"]["CommandEnvelope"][];
        };
        CommandAnswer: {
            command: components["schemas"]["Command"];
        };
        CommandsAnswer: {
            commands: components["schemas"]["Command"][];
            pagination: components["schemas"]["Pagination"];
        };
        TransactionsAnswer: {
            transactions: components["schemas"]["Transaction"][];
            pagination: components["schemas"]["Pagination"];
        };
        OrdersAnswer: {
            orders: components["schemas"]["Order"][];
            pagination: components["schemas"]["Pagination"];
        };
        PositionsAnswer: {
            positions: components["schemas"]["Position"][];
            pagination: components["schemas"]["Pagination"];
        };
        DealsAnswer: {
            deals: components["schemas"]["Deal"][];
            pagination: components["schemas"]["Pagination"];
        };
        AccountMetricsAnswer: {
            snapshots: components["schemas"]["AccountMetricSnapshot"][];
        };
        /** @enum {string} */
        WebhookKind: "account.created" | "account.updated" | "account.enabled" | "account.disabled" | "account.archived" | "account.deleted" | "account.password_changed" | "order.executed" | "order.cancelled" | "position.opened" | "position.updated" | "position.closed" | "deal.executed" | "transaction.recorded" | "margin.call" | "margin.stop_out" | "credits.low_balance" | "webhook.test" | "command.succeeded" | "command.failed" | "command.expired";
        WebhookEndpoint: {
            /** Format: uuid */
            id: string;
            url: string;
            description: string;
            kinds: components["schemas"]["WebhookKind"][] | null;
            serverIds: string[] | null;
            /** @enum {string} */
            status: "enabled" | "disabled";
            disabledReason: ("owner" | "gone" | "failing") | null;
            failingSince: string | null;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        WebhookDelivery: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            eventId: string;
            /** Format: uuid */
            endpointId: string;
            type: components["schemas"]["WebhookKind"];
            /** @enum {string} */
            status: "pending" | "delivering" | "succeeded" | "failed" | "cancelled";
            attempts: components["schemas"]["DeliveryAttempt"][];
            nextAttemptAt: string | null;
            /** Format: date-time */
            createdAt: string;
            completedAt: string | null;
        };
        DeliveryAttempt: {
            number: number;
            /** Format: date-time */
            at: string;
            status: number | null;
            error: string | null;
            durationMs: number;
            replyStart: string;
        };
        FeedEvent: {
            /** Format: uuid */
            id: string;
            cursor: string;
            type: components["schemas"]["WebhookKind"];
            /** Format: date-time */
            timestamp: string;
            data: {
                /** Format: uuid */
                eventId: string;
                /** Format: uuid */
                organizationId: string;
                serverId: string | null;
                accountNumber: string | null;
                accountSequence: number | null;
            } & {
                [key: string]: unknown;
            };
        };
        WebhookAnswer: {
            endpoint: components["schemas"]["WebhookEndpoint"];
        };
        WebhooksAnswer: {
            endpoints: components["schemas"]["WebhookEndpoint"][];
        };
        WebhookSecretAnswer: {
            endpoint: components["schemas"]["WebhookEndpoint"];
            secret: string;
        };
        DeletedWebhookAnswer: {
            /** Format: uuid */
            id: string;
            /** @constant */
            deleted: true;
        };
        WebhookTestAnswer: {
            /** Format: uuid */
            eventId: string;
        };
        WebhookReplayAnswer: {
            events: number;
        };
        WebhookDeliveriesAnswer: {
            deliveries: components["schemas"]["WebhookDelivery"][];
            pagination: components["schemas"]["Pagination"];
        };
        WebhookDeliveryAnswer: {
            delivery: components["schemas"]["WebhookDelivery"];
        };
        EventsAnswer: {
            events: components["schemas"]["FeedEvent"][];
            next: string;
        };
        AccountEvent: {
            /** @enum {string} */
            type: "account.created" | "account.updated" | "account.enabled" | "account.disabled" | "account.archived" | "account.deleted";
            /** Format: date-time */
            timestamp: string;
            data: {
                /** Format: uuid */
                eventId: string;
                /** Format: uuid */
                organizationId: string;
                serverId: string | null;
                accountNumber: string | null;
                accountSequence: number | null;
                /** Format: uuid */
                accountId: string;
                version: number;
                accountName: string;
                /** @enum {string} */
                status: "pending" | "active" | "failed" | "disabled" | "archived" | "deleting" | "deleted";
                leverage: number;
            };
        };
        PasswordChangedEvent: {
            /** @constant */
            type: "account.password_changed";
            /** Format: date-time */
            timestamp: string;
            data: {
                /** Format: uuid */
                eventId: string;
                /** Format: uuid */
                organizationId: string;
                serverId: string | null;
                accountNumber: string | null;
                accountSequence: number | null;
                /** Format: uuid */
                accountId: string;
                version: number;
                accountName: string;
                /** @enum {string} */
                status: "pending" | "active" | "failed" | "disabled" | "archived" | "deleting" | "deleted";
                leverage: number;
                /** @enum {string} */
                passwordKind: "trading" | "investor";
            };
        };
        OrderEvent: {
            /** @enum {string} */
            type: "order.executed" | "order.cancelled";
            /** Format: date-time */
            timestamp: string;
            data: {
                /** Format: uuid */
                eventId: string;
                /** Format: uuid */
                organizationId: string;
                serverId: string | null;
                accountNumber: string | null;
                accountSequence: number | null;
                id: string;
                symbol: string;
                side: string;
                orderType: string;
                volume: number;
                status: string;
                /** Format: date-time */
                createdAt: string;
                executedAt: string | null;
            };
        };
        PositionEvent: {
            /** @enum {string} */
            type: "position.opened" | "position.updated";
            /** Format: date-time */
            timestamp: string;
            data: {
                /** Format: uuid */
                eventId: string;
                /** Format: uuid */
                organizationId: string;
                serverId: string | null;
                accountNumber: string | null;
                accountSequence: number | null;
                id: string;
                orderId: string;
                symbol: string;
                side: string;
                volume: number;
                closedVolume: number;
                openPrice: number;
                /** @enum {string} */
                status: "open" | "closed";
                /** Format: date-time */
                openedAt: string;
                closedAt: string | null;
            };
        };
        PositionClosedEvent: {
            /** @constant */
            type: "position.closed";
            /** Format: date-time */
            timestamp: string;
            data: {
                /** Format: uuid */
                eventId: string;
                /** Format: uuid */
                organizationId: string;
                serverId: string | null;
                accountNumber: string | null;
                accountSequence: number | null;
                id: string;
                orderId: string;
                symbol: string;
                side: string;
                volume: number;
                closedVolume: number;
                openPrice: number;
                /** @enum {string} */
                status: "open" | "closed";
                /** Format: date-time */
                openedAt: string;
                closedAt: string | null;
                dealIds: string[];
                openPositionCount: number;
            };
        };
        DealEvent: {
            /** @constant */
            type: "deal.executed";
            /** Format: date-time */
            timestamp: string;
            data: {
                /** Format: uuid */
                eventId: string;
                /** Format: uuid */
                organizationId: string;
                serverId: string | null;
                accountNumber: string | null;
                accountSequence: number | null;
                id: string;
                orderId: string;
                positionId: string;
                symbol: string;
                side: string;
                kind: string;
                volume: number;
                price: number;
                commission: number;
                realizedPnl: number;
                swap: number;
                /** Format: date-time */
                executedAt: string;
            };
        };
        TransactionEvent: {
            /** @constant */
            type: "transaction.recorded";
            /** Format: date-time */
            timestamp: string;
            data: {
                /** Format: uuid */
                eventId: string;
                /** Format: uuid */
                organizationId: string;
                serverId: string | null;
                accountNumber: string;
                accountSequence: number | null;
                /** Format: uuid */
                id: string;
                sequence: number;
                /** @enum {string} */
                type: "initial_balance" | "deposit" | "withdrawal" | "realized_pnl" | "commission" | "swap" | "adjustment" | "reversal";
                amount: number;
                /** @enum {string} */
                currency: "USD" | "NGN";
                balanceBefore: number;
                balanceAfter: number;
                description: string | null;
                requestId: string | null;
                commandId: string | null;
                orderId: string | null;
                positionId: string | null;
                dealId: string | null;
                reversalOf: string | null;
                createdBy?: components["schemas"]["Actor"] | null;
                /** Format: date-time */
                recordedAt: string;
                /** Format: date-time */
                createdAt: string;
            };
        };
        MarginEvent: {
            /** @enum {string} */
            type: "margin.call" | "margin.stop_out";
            /** Format: date-time */
            timestamp: string;
            data: {
                /** Format: uuid */
                eventId: string;
                /** Format: uuid */
                organizationId: string;
                serverId: string | null;
                accountNumber: string | null;
                accountSequence: number | null;
                equity: number;
                usedMargin: number;
                marginLevel: number;
            };
        };
        LowBalanceEvent: {
            /** @constant */
            type: "credits.low_balance";
            /** Format: date-time */
            timestamp: string;
            data: {
                /** Format: uuid */
                eventId: string;
                /** Format: uuid */
                organizationId: string;
                serverId: string | null;
                accountNumber: string | null;
                accountSequence: number | null;
                availableCredits: number;
                lowBalanceThreshold: number;
            };
        };
        TestEvent: {
            /** @constant */
            type: "webhook.test";
            /** Format: date-time */
            timestamp: string;
            data: {
                /** Format: uuid */
                eventId: string;
                /** Format: uuid */
                organizationId: string;
                serverId: string | null;
                accountNumber: string | null;
                accountSequence: number | null;
                /** Format: uuid */
                endpointId: string;
            };
        };
        CommandEvent: {
            /** @enum {string} */
            type: "command.succeeded" | "command.failed" | "command.expired";
            /** Format: date-time */
            timestamp: string;
            data: {
                /** Format: uuid */
                eventId: string;
                /** Format: uuid */
                organizationId: string;
                serverId: string | null;
                accountNumber: string | null;
                accountSequence: number | null;
                /** Format: uuid */
                commandId: string;
                managedAccountId: string | null;
                /** @enum {string} */
                operation: "account.create" | "account.update" | "account.enable" | "account.disable" | "account.archive" | "account.delete" | "account.password_reset" | "account.investor_password_reset" | "account.history_export" | "finance.deposit" | "finance.withdraw";
                /** @enum {string} */
                status: "succeeded" | "failed" | "expired";
                attempts: number;
                result: {
                    [key: string]: unknown;
                } | null;
                resultOmitted: boolean;
                errorCode: ("ACCOUNT_NOT_FOUND" | "ACCOUNT_NOT_READY" | "ACCOUNT_DISABLED" | "ACCOUNT_ARCHIVED" | "ACCOUNT_HAS_OPEN_POSITIONS" | "INVALID_STATE_TRANSITION" | "INSUFFICIENT_FUNDS" | "LEVERAGE_NOT_SUPPORTED" | "SERVER_DISABLED" | "SERVER_UNAVAILABLE" | "REJECTED_BY_SERVER" | "INTERNAL") | null;
                errorMessage: string | null;
                createdBy?: components["schemas"]["Actor"] | null;
            };
        };
        UpdateServerConfiguration: {
            supportedLeverage?: number[];
            defaultLeverage?: number | null;
            /** @enum {string} */
            currency?: "USD" | "NGN";
        } | unknown | unknown | unknown;
        CreateTradingAccount: {
            accountName: string;
            /** Format: password */
            password?: string;
            initialBalance: number;
            leverage: number;
            requestId: string;
        };
        BulkCreateTradingAccounts: {
            accounts: components["schemas"]["CreateTradingAccount"][];
        };
        UpdateTradingAccount: {
            accountName?: string;
            leverage?: number;
            requestId: string;
        } | unknown | unknown;
        AccountRequest: {
            requestId: string;
        };
        ResetPassword: {
            /** Format: password */
            password?: string;
            requestId: string;
        };
        ExportAccountHistory: {
            /** Format: date-time */
            from?: string;
            /** Format: date-time */
            to?: string;
            /** @default 1000 */
            limit?: number;
            requestId: string;
        };
        Funds: {
            amount: number;
            description?: string;
            requestId: string;
        };
        CreateWebhook: {
            url: string;
            /** @default  */
            description?: string;
            /** @default null */
            kinds?: ("account.created" | "account.updated" | "account.enabled" | "account.disabled" | "account.archived" | "account.deleted" | "account.password_changed" | "order.executed" | "order.cancelled" | "position.opened" | "position.updated" | "position.closed" | "deal.executed" | "transaction.recorded" | "margin.call" | "margin.stop_out" | "credits.low_balance" | "webhook.test" | "command.succeeded" | "command.failed" | "command.expired")[] | null;
            /** @default null */
            serverIds?: string[] | null;
        };
        UpdateWebhook: {
            url?: string;
            description?: string;
            kinds?: ("account.created" | "account.updated" | "account.enabled" | "account.disabled" | "account.archived" | "account.deleted" | "account.password_changed" | "order.executed" | "order.cancelled" | "position.opened" | "position.updated" | "position.closed" | "deal.executed" | "transaction.recorded" | "margin.call" | "margin.stop_out" | "credits.low_balance" | "webhook.test" | "command.succeeded" | "command.failed" | "command.expired")[] | null;
            serverIds?: string[] | null;
            /** @enum {string} */
            status?: "enabled" | "disabled";
        } | unknown | unknown | unknown | unknown | unknown;
        ReplayWebhook: {
            /** Format: date-time */
            since: string;
            /** Format: date-time */
            until?: string;
            kinds?: ("account.created" | "account.updated" | "account.enabled" | "account.disabled" | "account.archived" | "account.deleted" | "account.password_changed" | "order.executed" | "order.cancelled" | "position.opened" | "position.updated" | "position.closed" | "deal.executed" | "transaction.recorded" | "margin.call" | "margin.stop_out" | "credits.low_balance" | "webhook.test" | "command.succeeded" | "command.failed" | "command.expired")[];
        };
        /** @description The body of every error. */
        Error: {
            /** @description What went wrong, for people. */
            error: string;
            /** @description Present if fields of the request are invalid. */
            issues?: components["schemas"]["Issue"][];
        };
        Issue: {
            /** @description The location: names of fields and positions in arrays, or the name of a header or parameter. */
            path: (string | number)[];
            code: string;
            message: string;
        };
        ListCreditUsageQuery: {
            /**
             * @description Number of the page, from 1.
             * @default 1
             */
            page?: number;
            /**
             * @description Maximum number of records to return.
             * @default 20
             */
            limit?: number;
        };
        ListTradingAccountsQuery: {
            /** @description Number of the page, from 1. */
            page?: number;
            /** @description Maximum number of records to return. */
            limit?: number;
            /**
             * @description Only records with this status.
             * @enum {string}
             */
            status?: "pending" | "active" | "failed" | "disabled" | "archived" | "deleting";
            /** @description Only accounts whose number or name contains this text. */
            search?: string;
        };
        ListTradingAccountTransactionsQuery: {
            /**
             * @description Number of the page, from 1.
             * @default 1
             */
            page?: number;
            /**
             * @description Maximum number of records to return.
             * @default 20
             */
            limit?: number;
        };
        ListTradingAccountOrdersQuery: {
            /**
             * @description Number of the page, from 1.
             * @default 1
             */
            page?: number;
            /**
             * @description Maximum number of records to return.
             * @default 20
             */
            limit?: number;
        };
        ListAccountPositionsQuery: {
            /**
             * @description Number of the page, from 1.
             * @default 1
             */
            page?: number;
            /**
             * @description Maximum number of records to return.
             * @default 20
             */
            limit?: number;
            /**
             * @description Only records with this status.
             * @default all
             * @enum {string}
             */
            status?: "all" | "open" | "closed";
        };
        ListAccountDealsQuery: {
            /**
             * @description Number of the page, from 1.
             * @default 1
             */
            page?: number;
            /**
             * @description Maximum number of records to return.
             * @default 20
             */
            limit?: number;
        };
        GetCommandQuery: {
            /**
             * @description Seconds to wait for a final state, 0 to 30. More means 30, anything else 0.
             * @default 0
             */
            wait?: number | string;
        };
        ListCommandsQuery: {
            /**
             * @description Number of the page, from 1.
             * @default 1
             */
            page?: number;
            /**
             * @description Maximum number of records to return.
             * @default 20
             */
            limit?: number;
            /**
             * @description Only records with this status.
             * @enum {string}
             */
            status?: "queued" | "leased" | "succeeded" | "failed" | "expired";
            /**
             * @description Only commands of this operation.
             * @enum {string}
             */
            operation?: "account.create" | "account.update" | "account.enable" | "account.disable" | "account.archive" | "account.delete" | "account.password_reset" | "account.investor_password_reset" | "account.history_export" | "finance.deposit" | "finance.withdraw";
            /** @description Only records of this account. */
            accountNumber?: string;
            /** @description Only commands with this `requestId`. */
            requestId?: string;
            /** @description Only the command with this idempotency key. */
            idempotencyKey?: string;
            /**
             * Format: date-time
             * @description Only commands created at or after this time.
             */
            from?: string;
            /**
             * Format: date-time
             * @description Only commands created at or before this time.
             */
            to?: string;
        };
        ListAccountMetricsQuery: {
            /** @description Only records of this account. */
            accountNumber?: string;
            /**
             * Format: date-time
             * @description Only snapshots measured at or after this time.
             */
            since?: string;
            /**
             * Format: date-time
             * @description Only snapshots measured before this time.
             */
            until?: string;
            /**
             * @description Maximum number of records to return.
             * @default 100
             */
            limit?: number;
        };
        ListWebhookDeliveriesQuery: {
            /**
             * @description Number of the page, from 1.
             * @default 1
             */
            page?: number;
            /**
             * @description Maximum number of records to return.
             * @default 20
             */
            limit?: number;
            /**
             * @description Only records with this status.
             * @enum {string}
             */
            status?: "pending" | "delivering" | "succeeded" | "failed" | "cancelled";
            /**
             * @description Only deliveries of this kind of event.
             * @enum {string}
             */
            type?: "account.created" | "account.updated" | "account.enabled" | "account.disabled" | "account.archived" | "account.deleted" | "account.password_changed" | "order.executed" | "order.cancelled" | "position.opened" | "position.updated" | "position.closed" | "deal.executed" | "transaction.recorded" | "margin.call" | "margin.stop_out" | "credits.low_balance" | "webhook.test" | "command.succeeded" | "command.failed" | "command.expired";
        };
        ListEventsQuery: {
            /** @description `next` of the previous answer, or `now`. */
            after?: string;
            /**
             * @description Maximum number of records to return.
             * @default 100
             */
            limit?: number;
            /** @description Only events of these kinds, separated by commas. */
            kinds?: components["schemas"]["WebhookKind"][];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type Actor = components['schemas']['Actor'];
export type Wallet = components['schemas']['Wallet'];
export type CreditPrices = components['schemas']['CreditPrices'];
export type CreditUsage = components['schemas']['CreditUsage'];
export type Server = components['schemas']['Server'];
export type TradingAccount = components['schemas']['TradingAccount'];
export type AccountCredentials = components['schemas']['AccountCredentials'];
export type Command = components['schemas']['Command'];
export type CommandEnvelope = components['schemas']['CommandEnvelope'];
export type Transaction = components['schemas']['Transaction'];
export type Order = components['schemas']['Order'];
export type Position = components['schemas']['Position'];
export type Deal = components['schemas']['Deal'];
export type AccountMetricSnapshot = components['schemas']['AccountMetricSnapshot'];
export type Pagination = components['schemas']['Pagination'];
export type WalletAnswer = components['schemas']['WalletAnswer'];
export type CreditPricesAnswer = components['schemas']['CreditPricesAnswer'];
export type CreditUsageAnswer = components['schemas']['CreditUsageAnswer'];
export type ServerAnswer = components['schemas']['ServerAnswer'];
export type TradingAccountsAnswer = components['schemas']['TradingAccountsAnswer'];
export type AccountDetailsAnswer = components['schemas']['AccountDetailsAnswer'];
export type DeletedAccountAnswer = components['schemas']['DeletedAccountAnswer'];
export type BulkEnvelopesAnswer = components['schemas']['BulkEnvelopesAnswer'];
export type CommandAnswer = components['schemas']['CommandAnswer'];
export type CommandsAnswer = components['schemas']['CommandsAnswer'];
export type TransactionsAnswer = components['schemas']['TransactionsAnswer'];
export type OrdersAnswer = components['schemas']['OrdersAnswer'];
export type PositionsAnswer = components['schemas']['PositionsAnswer'];
export type DealsAnswer = components['schemas']['DealsAnswer'];
export type AccountMetricsAnswer = components['schemas']['AccountMetricsAnswer'];
export type WebhookKind = components['schemas']['WebhookKind'];
export type WebhookEndpoint = components['schemas']['WebhookEndpoint'];
export type WebhookDelivery = components['schemas']['WebhookDelivery'];
export type DeliveryAttempt = components['schemas']['DeliveryAttempt'];
export type FeedEvent = components['schemas']['FeedEvent'];
export type WebhookAnswer = components['schemas']['WebhookAnswer'];
export type WebhooksAnswer = components['schemas']['WebhooksAnswer'];
export type WebhookSecretAnswer = components['schemas']['WebhookSecretAnswer'];
export type DeletedWebhookAnswer = components['schemas']['DeletedWebhookAnswer'];
export type WebhookTestAnswer = components['schemas']['WebhookTestAnswer'];
export type WebhookReplayAnswer = components['schemas']['WebhookReplayAnswer'];
export type WebhookDeliveriesAnswer = components['schemas']['WebhookDeliveriesAnswer'];
export type WebhookDeliveryAnswer = components['schemas']['WebhookDeliveryAnswer'];
export type EventsAnswer = components['schemas']['EventsAnswer'];
export type AccountEvent = components['schemas']['AccountEvent'];
export type PasswordChangedEvent = components['schemas']['PasswordChangedEvent'];
export type OrderEvent = components['schemas']['OrderEvent'];
export type PositionEvent = components['schemas']['PositionEvent'];
export type PositionClosedEvent = components['schemas']['PositionClosedEvent'];
export type DealEvent = components['schemas']['DealEvent'];
export type TransactionEvent = components['schemas']['TransactionEvent'];
export type MarginEvent = components['schemas']['MarginEvent'];
export type LowBalanceEvent = components['schemas']['LowBalanceEvent'];
export type TestEvent = components['schemas']['TestEvent'];
export type CommandEvent = components['schemas']['CommandEvent'];
export type UpdateServerConfiguration = components['schemas']['UpdateServerConfiguration'];
export type CreateTradingAccount = components['schemas']['CreateTradingAccount'];
export type BulkCreateTradingAccounts = components['schemas']['BulkCreateTradingAccounts'];
export type UpdateTradingAccount = components['schemas']['UpdateTradingAccount'];
export type AccountRequest = components['schemas']['AccountRequest'];
export type ResetPassword = components['schemas']['ResetPassword'];
export type ExportAccountHistory = components['schemas']['ExportAccountHistory'];
export type Funds = components['schemas']['Funds'];
export type CreateWebhook = components['schemas']['CreateWebhook'];
export type UpdateWebhook = components['schemas']['UpdateWebhook'];
export type ReplayWebhook = components['schemas']['ReplayWebhook'];
export type Error = components['schemas']['Error'];
export type Issue = components['schemas']['Issue'];
export type ListCreditUsageQuery = components['schemas']['ListCreditUsageQuery'];
export type ListTradingAccountsQuery = components['schemas']['ListTradingAccountsQuery'];
export type ListTradingAccountTransactionsQuery = components['schemas']['ListTradingAccountTransactionsQuery'];
export type ListTradingAccountOrdersQuery = components['schemas']['ListTradingAccountOrdersQuery'];
export type ListAccountPositionsQuery = components['schemas']['ListAccountPositionsQuery'];
export type ListAccountDealsQuery = components['schemas']['ListAccountDealsQuery'];
export type GetCommandQuery = components['schemas']['GetCommandQuery'];
export type ListCommandsQuery = components['schemas']['ListCommandsQuery'];
export type ListAccountMetricsQuery = components['schemas']['ListAccountMetricsQuery'];
export type ListWebhookDeliveriesQuery = components['schemas']['ListWebhookDeliveriesQuery'];
export type ListEventsQuery = components['schemas']['ListEventsQuery'];
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
