/**
 * Generated from the OpenAPI document of the API by `npm run openapi`. Do not edit.
 */

/** An amount of money: a decimal number as text, such as "250.55". */
export type Money = string;
export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
/** All schemas of the API. Each is also exported below, by its own name. */
export interface components {
    schemas: {
        /**
         * @description What caused a change: a management key, a user of the console, or kapi itself.
         * @enum {string}
         */
        ActorType: "key" | "user" | "system";
        /**
         * @description Currency of an account, as ISO 4217.
         * @enum {string}
         */
        Currency: "USD" | "NGN";
        /**
         * @description State of a trading server.
         * @enum {string}
         */
        ServerStatus: "active" | "disabled";
        /**
         * @description Whether a server has demo or real accounts.
         * @enum {string}
         */
        ServerEnvironment: "demo" | "real";
        /**
         * @description State of a trading account. `close_only`: positions can be reduced and closed, and none is opened. `disabled`: no new orders.
         * @enum {string}
         */
        AccountStatus: "pending" | "active" | "failed" | "close_only" | "disabled" | "archived" | "deleting";
        /**
         * @description What a command does.
         * @enum {string}
         */
        CommandOperation: "account.create" | "account.update" | "account.enable" | "account.disable" | "account.archive" | "account.delete" | "account.flatten" | "account.close_only" | "account.password_reset" | "account.investor_password_reset" | "account.history_export" | "finance.deposit" | "finance.withdraw" | "risk.set_rules" | "risk.delete_rules" | "risk.set_template" | "risk.delete_template";
        /**
         * @description State of a command: `succeeded`, `failed` and `expired` are final.
         * @enum {string}
         */
        CommandStatus: "queued" | "leased" | "succeeded" | "failed" | "expired";
        /**
         * @description A state of a command that never changes again.
         * @enum {string}
         */
        FinalCommandStatus: "succeeded" | "failed" | "expired";
        /**
         * @description Why a command failed.
         * @enum {string}
         */
        CommandErrorCode: "ACCOUNT_NOT_FOUND" | "ACCOUNT_NOT_READY" | "ACCOUNT_DISABLED" | "ACCOUNT_ARCHIVED" | "ACCOUNT_HAS_OPEN_POSITIONS" | "INVALID_STATE_TRANSITION" | "INSUFFICIENT_FUNDS" | "LEVERAGE_NOT_SUPPORTED" | "SERVER_DISABLED" | "SERVER_UNAVAILABLE" | "REJECTED_BY_SERVER" | "INTERNAL";
        /**
         * @description Why a balance changed.
         * @enum {string}
         */
        TransactionType: "initial_balance" | "deposit" | "withdrawal" | "realized_pnl" | "commission" | "swap" | "adjustment" | "reversal";
        /**
         * @description State of a position.
         * @enum {string}
         */
        PositionStatus: "open" | "closed";
        /**
         * @description State of an account after an event.
         * @enum {string}
         */
        AccountEventStatus: "pending" | "active" | "failed" | "close_only" | "disabled" | "archived" | "deleting" | "deleted";
        /**
         * @description Which password of an account was changed.
         * @enum {string}
         */
        PasswordKind: "trading" | "investor";
        /**
         * @description Whether events are sent to an endpoint.
         * @enum {string}
         */
        WebhookStatus: "enabled" | "disabled";
        /**
         * @description Why an endpoint is disabled: `owner` (you), `gone` (it answered 410), or `failing` (all attempts failed for 5 days).
         * @enum {string}
         */
        WebhookDisabledReason: "owner" | "gone" | "failing";
        /**
         * @description State of a delivery. After `succeeded`, `failed` or `cancelled` no attempt follows, unless you redeliver or replay it.
         * @enum {string}
         */
        DeliveryStatus: "pending" | "delivering" | "succeeded" | "failed" | "cancelled";
        /**
         * @description Which positions to list.
         * @enum {string}
         */
        PositionStatusFilter: "all" | "open" | "closed";
        /**
         * @description What kapi does when a rule is breached: `notify` sends only the event, `close_only` also makes the account close-only, `disable` disables the account, `flatten_and_disable` also closes all its positions and cancels its pending orders.
         * @enum {string}
         */
        RiskAction: "notify" | "close_only" | "disable" | "flatten_and_disable";
        /**
         * @description A value of an account.
         * @enum {string}
         */
        RiskBasis: "equity" | "balance";
        /**
         * @description The value at the start of a day from which a daily loss counts; `higher`: the higher one of equity and balance.
         * @enum {string}
         */
        DailyLossBasis: "equity" | "balance" | "higher";
        /**
         * @description States of accounts that a template may apply to.
         * @enum {string}
         */
        RiskTemplateStatus: "active" | "close_only" | "disabled" | "archived";
        /**
         * @description `applying` while accounts wait for the template, or are tried again; then `applied`.
         * @enum {string}
         */
        RiskTemplateProgress: "applying" | "applied";
        /**
         * @description What happens to the rules that accounts have from a template that is deleted: they stay, or are removed.
         * @enum {string}
         */
        TemplateAccountRules: "keep" | "remove";
        /**
         * @description Kind of an event.
         * @enum {string}
         */
        WebhookKind: "account.created" | "account.updated" | "account.enabled" | "account.close_only" | "account.disabled" | "account.archived" | "account.deleted" | "account.password_changed" | "order.executed" | "order.cancelled" | "position.opened" | "position.updated" | "position.closed" | "deal.executed" | "transaction.recorded" | "margin.call" | "margin.stop_out" | "risk.breached" | "risk.warning" | "risk.evidence_stored" | "credits.low_balance" | "webhook.test" | "command.succeeded" | "command.failed" | "command.expired";
        /** @description Who caused a change. */
        Actor: {
            /** @description What caused it: a management key, a user of the console, or kapi itself. */
            type: components["schemas"]["ActorType"];
            /** @description Key id of a management key, id of a user, or the part of kapi, such as `risk`. */
            id: string;
        };
        /** @description The credits of an organization. */
        Wallet: {
            /**
             * Format: uuid
             * @description Its id, a UUID.
             */
            id: string;
            /**
             * Format: uuid
             * @description Id of your organization.
             */
            organizationId: string;
            /** @description Credits that can be spent now. */
            availableCredits: number;
            /** @description Credits reserved for commands that are not final. */
            reservedCredits: number;
            /** @description Credits bought since the beginning: `availableCredits + reservedCredits + lifetimeConsumed`. */
            lifetimePurchased: number;
            /** @description Credits consumed since the beginning. */
            lifetimeConsumed: number;
            /** @description Credits at which the balance counts as low. */
            lowBalanceThreshold: number;
            /**
             * Format: date-time
             * @description When it was created, UTC.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description When it was last changed, UTC.
             */
            updatedAt: string;
            /** @description Whether `availableCredits` is at or below `lowBalanceThreshold`. */
            lowBalance: boolean;
        };
        /** @description Prices of requests, in credits. */
        CreditPrices: {
            /** @description Credits for a read. */
            read: number;
            /** @description Credits for a change. */
            mutation: number;
            /** @description Credits for the creation of an account. */
            create: number;
            /** @description Credits for each new account of a bulk. */
            bulkItem: number;
            /** @description Credits for an export. */
            export: number;
            /** @description Credits for a connection of the live stream. */
            liveConnection: number;
        };
        /** @description One billed request, the reservation of a command, or a return of credits. */
        CreditUsage: {
            /** @description `X-Request-Id` of the request, or the id that kapi gave it; null if unknown. */
            xRequestId: string | null;
            /** @description Name of the operation in this document, or of the live stream's handshake. */
            operation: string;
            /** @description Credits that the request cost or reserved; negative if they were returned. */
            credits: number;
            /** @description Id of the command that the credits were reserved for; null if there is none. */
            commandId: string | null;
            /**
             * Format: date-time
             * @description Time of the request, UTC.
             */
            at: string;
            /** @description Who caused it; null or absent if it was not requested through kapi, or if an earlier release recorded it. */
            createdBy?: components["schemas"]["Actor"] | null;
        };
        /** @description Configuration of a trading server. */
        Server: {
            /**
             * Format: uuid
             * @description Id of the trading server.
             */
            serverId: string;
            /** @description Name of the trading server. */
            serverName: string;
            /** @description Name of the company that the server belongs to. */
            companyName: string;
            /** @description Currency of all amounts of the account or server. */
            currency: components["schemas"]["Currency"];
            /** @description Symbol of the currency. */
            currencySymbol: string;
            /** @description Whether the server has demo or real accounts. */
            environment: components["schemas"]["ServerEnvironment"];
            /** @description Leverages that accounts of the server can have, ascending. */
            supportedLeverage: number[];
            /** @description Leverage that is preselected; null for none. */
            defaultLeverage: number | null;
            /** @description `active`, or `disabled`: reads work, and changes of accounts are rejected or fail. */
            status: components["schemas"]["ServerStatus"];
        };
        /** @description A trading account, with its live values. */
        TradingAccount: {
            /**
             * Format: uuid
             * @description Its id, a UUID.
             */
            id: string;
            /**
             * Format: uuid
             * @description Id of your organization.
             */
            organizationId: string;
            /**
             * Format: uuid
             * @description Id of the trading server.
             */
            serverId: string;
            /** @description Number of the account on its server. Never used again, also after a deletion. */
            accountNumber: string;
            /** @description Name of the account, 1 to 100 characters. */
            accountName: string;
            /** @description State of the account. */
            status: components["schemas"]["AccountStatus"];
            /** @description Why the account has its state: why its creation failed, or which breach of a risk rule disabled it or made it close-only; otherwise null. */
            statusReason: string | null;
            /** @description Whether the server has demo or real accounts. */
            environment: components["schemas"]["ServerEnvironment"];
            /** @description Currency of all amounts of the account or server. */
            currency: components["schemas"]["Currency"];
            /** @description Symbol of the currency. */
            currencySymbol: string;
            /** @description Leverage: 100 means 1:100. */
            leverage: number;
            /** @description Balance at the creation. In units of the account's currency, with two decimals. */
            initialBalance: Money;
            /** @description Balance: all booked money, without open positions. In units of the account's currency, with two decimals. */
            balance: Money;
            /** @description Balance plus profit and swap of the open positions. In units of the account's currency, with two decimals. */
            equity: Money;
            /** @description The margin that open positions use. In units of the account's currency, with two decimals. */
            usedMargin: Money;
            /** @description Equity that is not bound by open positions. In units of the account's currency, with two decimals. */
            freeMargin: Money;
            /** @description Equity in percent of the used margin; null with no margin in use. */
            marginLevel: number | null;
            /** @description Profit or loss of the open positions. In units of the account's currency, with two decimals. */
            unrealizedProfit: Money;
            /** @description Number of open positions. */
            openPositionCount: number;
            /** @description Sequence of the newest live sample; 0 before the first. */
            metricsSequence: number;
            /** @description When the values were measured, UTC; null before the first measurement. */
            metricsMeasuredAt: string | null;
            /** @description Counts the changes of the account, from 1. */
            version: number;
            /**
             * Format: date-time
             * @description When it was created, UTC.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description When it was last changed, UTC.
             */
            updatedAt: string;
            /** @description When the account last became active, UTC; null if it never did. */
            activatedAt: string | null;
            /** @description When the account was last disabled, UTC; null if it never was. */
            disabledAt: string | null;
            /** @description When the account was last archived, UTC; null if it never was. */
            archivedAt: string | null;
        };
        /** @description Access data of an account, without passwords. */
        AccountCredentials: {
            /** @description Login of the account on the trading server: its number. */
            login: string;
            /**
             * Format: uuid
             * @description Id of the trading server.
             */
            serverId: string;
            /** @description Name of the trading server. */
            serverName: string;
            /** @description Whether the account has a trading password. */
            tradingPasswordSet: boolean;
            /** @description Whether the account has an investor password. */
            investorPasswordSet: boolean;
            /** @description When the trading password was last changed, UTC; null if it never was set. */
            tradingPasswordChangedAt: string | null;
            /** @description When the investor password was last changed, UTC; null if it never was set. */
            investorPasswordChangedAt: string | null;
        };
        /** @description The passwords of a new account. Only the response that creates them has them; they stay valid. */
        AccountPasswords: {
            /** @description Trading password. */
            tradingPassword: string;
            /** @description Investor password: reads, and does not trade. */
            investorPassword: string;
        };
        /** @description What the creation of an account returns. */
        AccountCreateResult: {
            /**
             * Format: uuid
             * @description Id of the account, a UUID. It never changes.
             */
            accountId: string;
            /** @description Number of the account on its server. Never used again, also after a deletion. */
            accountNumber: string;
        };
        /** @description The account after a change of name or leverage. */
        AccountUpdateResult: {
            /** @description Name of the account, 1 to 100 characters. */
            accountName: string;
            /** @description Leverage: 100 means 1:100. */
            leverage: number;
            /** @description Counts the changes of the account, from 1. */
            version: number;
        };
        /** @description What the enabling or archiving of an account returns. */
        AccountStatusResult: {
            /** @description State of the account after the command. */
            status: components["schemas"]["AccountStatus"];
            /** @description False if the account already had the status. */
            changed: boolean;
        };
        /** @description What the queued deletion of an account returns. */
        AccountDeleteResult: {
            /** @description Number of the account on its server. Never used again, also after a deletion. */
            accountNumber: string;
            /**
             * @description Always true.
             * @constant
             */
            deleted: true;
        };
        /** @description What a password reset returns. */
        PasswordResetResult: {
            /**
             * Format: date-time
             * @description When the password was changed, UTC.
             */
            changedAt: string;
        };
        /** @description What a deposit or a withdrawal returns. */
        FundsResult: {
            /**
             * Format: uuid
             * @description Id of the transaction.
             */
            transactionId: string;
            /** @description Balance of the account after the transaction. In units of the account's currency, with two decimals. */
            balanceAfter: Money;
        };
        /** @description The new status of the account. With `flatten`: the closed positions and the cancelled orders too. */
        AccountDisableResult: {
            /** @description State of the account after the command. */
            status: components["schemas"]["AccountStatus"];
            /** @description False if the account already had the status. */
            changed: boolean;
            /** @description With `flatten`: the closed positions. */
            closed?: components["schemas"]["ClosedPosition"][];
            /** @description With `flatten`: ids of the cancelled orders. */
            cancelled?: string[];
        };
        /** @description The new status of the account, and the orders that were cancelled. */
        AccountCloseOnlyResult: {
            /** @description State of the account after the command. */
            status: components["schemas"]["AccountStatus"];
            /** @description False if the account already had the status. */
            changed: boolean;
            /** @description Ids of the cancelled orders. */
            cancelled: string[];
        };
        /** @description The positions that a command closed, and the orders that it cancelled. */
        AccountFlattenResult: {
            /** @description The closed positions. */
            closed: components["schemas"]["ClosedPosition"][];
            /** @description Ids of the cancelled orders. */
            cancelled: string[];
        };
        /** @description A position that a command closed. */
        ClosedPosition: {
            /** @description Id of the position. */
            positionId: string;
            /** @description Ids of the deals that closed it. */
            dealIds: string[];
            /** @description Price of the last deal in `dealIds`. */
            price: number;
        };
        /** @description The version of the risk rules that a command made. */
        RiskRulesResult: {
            /** @description Version of the rules. */
            version: number;
            /**
             * Format: date-time
             * @description Since when valuations are compared with the rules, UTC.
             */
            activeFrom: string;
        };
        /** @description The version of a template that a command made. */
        RiskSetTemplateResult: {
            /** @description Version of the template. */
            version: number;
            /** @description Number of accounts that the template matched. */
            accounts: number;
        };
        /** @description The last version of a deleted template. */
        RiskDeleteTemplateResult: {
            /** @description Last version of the template. */
            version: number;
        };
        /** @description A queued change. `operation` tells which `payload` and `result` it has. Commands whose details are no longer kept have no `payload`, and their `result` is null. */
        Command: components["schemas"]["AccountCreateCommand"] | components["schemas"]["AccountUpdateCommand"] | components["schemas"]["AccountEnableCommand"] | components["schemas"]["AccountDisableCommand"] | components["schemas"]["AccountArchiveCommand"] | components["schemas"]["AccountDeleteCommand"] | components["schemas"]["AccountFlattenCommand"] | components["schemas"]["AccountCloseOnlyCommand"] | components["schemas"]["AccountPasswordResetCommand"] | components["schemas"]["AccountInvestorPasswordResetCommand"] | components["schemas"]["AccountHistoryExportCommand"] | components["schemas"]["FinanceDepositCommand"] | components["schemas"]["FinanceWithdrawCommand"] | components["schemas"]["RiskSetRulesCommand"] | components["schemas"]["RiskDeleteRulesCommand"] | components["schemas"]["RiskSetTemplateCommand"] | components["schemas"]["RiskDeleteTemplateCommand"];
        /** @description A queued command, and the new passwords if the request set any. */
        CommandEnvelope: {
            /** @description The command as it is now. */
            command: components["schemas"]["Command"];
            /** @description Whether an earlier request with the same idempotency key queued the command. */
            duplicate: boolean;
            /** @description The passwords of a new account: in the first answer only. */
            credentials?: components["schemas"]["AccountPasswords"];
            /** @description The new password of a password reset. */
            password?: string;
        };
        /** @description A queued password reset, with the new password. */
        PasswordResetEnvelope: {
            /** @description The command as it is now. */
            command: components["schemas"]["Command"];
            /** @description Whether an earlier request with the same idempotency key queued the command. */
            duplicate: boolean;
            /** @description Always absent: only the creation of an account returns these passwords. */
            credentials?: components["schemas"]["AccountPasswords"];
            /** @description The new password. */
            password: string;
        };
        /** @description One row of an account's ledger. Rows are never changed, only reversed. */
        Transaction: {
            /**
             * Format: uuid
             * @description Its id, a UUID.
             */
            id: string;
            /** @description Number of the account on its server. */
            accountNumber: string;
            /** @description Number of the transaction on its account, from 1, without a gap. */
            sequence: number;
            /** @description Why the balance changed. */
            type: components["schemas"]["TransactionType"];
            /** @description Change of the balance, negative for money that leaves. In units of the account's currency, with two decimals. */
            amount: Money;
            /** @description Currency of all amounts of the account or server. */
            currency: components["schemas"]["Currency"];
            /** @description Balance of the account before the transaction. In units of the account's currency, with two decimals. */
            balanceBefore: Money;
            /** @description Balance of the account after the transaction. In units of the account's currency, with two decimals. */
            balanceAfter: Money;
            /** @description Text of the request, or of the trading server; null if there is none. */
            description: string | null;
            /** @description `requestId` of the request that caused it; null if none did. */
            requestId: string | null;
            /** @description Id of the command that caused it; null if no command did. */
            commandId: string | null;
            /** @description Id of the order that caused it; null if none did. */
            orderId: string | null;
            /** @description Id of the position that caused it; null if none did. */
            positionId: string | null;
            /** @description Id of the deal that caused it; null if none did. */
            dealId: string | null;
            /** @description Id of the transaction that this one reverses; null if it reverses none. */
            reversalOf: string | null;
            /** @description Who caused it; null or absent if it was not requested through kapi, or if an earlier release recorded it. */
            createdBy?: components["schemas"]["Actor"] | null;
            /**
             * Format: date-time
             * @description When the trading server recorded it, UTC.
             */
            recordedAt: string;
            /**
             * Format: date-time
             * @description When it was created, UTC.
             */
            createdAt: string;
        };
        /** @description An order of an account. */
        Order: {
            /** @description Id of the order on the trading server. */
            id: string;
            /** @description Name of the instrument, such as EURUSD. */
            symbol: string;
            /** @description buy or sell. */
            side: string;
            /** @description Type of the order, such as market, limit or stop. */
            orderType: string;
            /** @description Volume, in lots. */
            volume: number;
            /** @description State of the order, such as placed, executed or cancelled. */
            status: string;
            /**
             * Format: date-time
             * @description When it was created, UTC.
             */
            createdAt: string;
            /** @description When the order was executed, UTC; null until then. */
            executedAt: string | null;
        };
        /** @description A position of an account. `volume - closedVolume` is still open. */
        Position: {
            /** @description Id of the position on the trading server. */
            id: string;
            /** @description Id of the order that caused it. */
            orderId: string;
            /** @description Name of the instrument, such as EURUSD. */
            symbol: string;
            /** @description buy or sell. */
            side: string;
            /** @description Volume that was opened, in lots. */
            volume: number;
            /** @description Volume that was closed since the opening, in lots. */
            closedVolume: number;
            /** @description Price of the opening, in the symbol's quote currency. */
            openPrice: number;
            /** @description `open` until the whole volume is closed. */
            status: components["schemas"]["PositionStatus"];
            /**
             * Format: date-time
             * @description When the position was opened, UTC.
             */
            openedAt: string;
            /** @description When the position was closed completely, UTC; null while it is open. */
            closedAt: string | null;
        };
        /** @description One execution: an entry, an exit or a partial close. */
        Deal: {
            /** @description Id of the deal on the trading server. */
            id: string;
            /** @description Id of the order that caused it. */
            orderId: string;
            /** @description Id of the position that it opened, reduced or closed. */
            positionId: string;
            /** @description Name of the instrument, such as EURUSD. */
            symbol: string;
            /** @description buy or sell. */
            side: string;
            /** @description Kind of the deal: entry, exit or partial close. */
            kind: string;
            /** @description Volume, in lots. */
            volume: number;
            /** @description Price of the execution, in the symbol's quote currency. */
            price: number;
            /** @description Commission, negative for a cost. In units of the account's currency, with two decimals. */
            commission: Money;
            /** @description Profit or loss of the execution, without commission and swap. In units of the account's currency, with two decimals. */
            realizedPnl: Money;
            /** @description Interest for holding the position over night, negative for a cost. In units of the account's currency, with two decimals. */
            swap: Money;
            /**
             * Format: date-time
             * @description When it was executed, UTC.
             */
            executedAt: string;
        };
        /** @description Values of an account, stored once for each minute in which they changed. */
        AccountMetricSnapshot: {
            /**
             * Format: uuid
             * @description Its id, a UUID.
             */
            id: string;
            /**
             * Format: uuid
             * @description Id of your organization.
             */
            organizationId: string;
            /**
             * Format: uuid
             * @description Id of the trading server.
             */
            serverId: string;
            /** @description Number of the account on its server. Never used again, also after a deletion. */
            accountNumber: string;
            /** @description Id of the live sample that the snapshot was taken from. */
            eventId: string;
            /** @description Number of the live sample that the snapshot was taken from. */
            sequence: number;
            /** @description Balance: all booked money, without open positions. In units of the account's currency, with two decimals. */
            balance: Money;
            /** @description Balance plus profit and swap of the open positions. In units of the account's currency, with two decimals. */
            equity: Money;
            /** @description The margin that open positions use. In units of the account's currency, with two decimals. */
            usedMargin: Money;
            /** @description Equity that is not bound by open positions. In units of the account's currency, with two decimals. */
            freeMargin: Money;
            /** @description Equity in percent of the used margin; 0 with no margin in use. */
            marginLevel: number;
            /** @description Profit or loss of the open positions. In units of the account's currency, with two decimals. */
            unrealizedProfit: Money;
            /** @description Largest loss since 00:00 UTC, in percent of the equity at that time. Not an authoritative calculation. */
            dailyDrawdown: number;
            /** @description Largest loss since the highest equity ever, in percent of that equity. Not an authoritative calculation. */
            totalDrawdown: number;
            /** @description State of the account when the snapshot was measured. */
            accountStatus: string;
            /**
             * Format: date-time
             * @description When the values were measured, UTC, rounded down to the minute.
             */
            measuredAt: string;
            /**
             * Format: date-time
             * @description When it was created, UTC.
             */
            createdAt: string;
        };
        /** @description A position that was open at a time. `volume - closedVolume` was still open. */
        OpenPosition: {
            /** @description Id of the position on the trading server. */
            id: string;
            /** @description Id of the order that caused it. */
            orderId: string;
            /** @description Name of the instrument, such as EURUSD. */
            symbol: string;
            /** @description buy or sell. */
            side: string;
            /** @description Volume that was opened, in lots. */
            volume: number;
            /** @description Volume that was closed by this time, in lots. */
            closedVolume: number;
            /** @description Price of the opening, in the symbol's quote currency. */
            openPrice: number;
            /**
             * Format: date-time
             * @description When the position was opened, UTC.
             */
            openedAt: string;
        };
        /** @description The equity of a stored snapshot. */
        StoredEquity: {
            /** @description The equity. In units of the account's currency, with two decimals. */
            value: Money;
            /**
             * Format: date-time
             * @description Beginning of the minute in which the equity was measured, UTC. The value is the last one of this minute.
             */
            measuredAt: string;
            /** @description Milliseconds from `measuredAt` to the time of the state. */
            ageMs: number;
        };
        /** @description An account as it was at a time. */
        AccountState: {
            /**
             * Format: uuid
             * @description Id of the trading server.
             */
            serverId: string;
            /** @description Number of the account on its server. Never used again, also after a deletion. */
            accountNumber: string;
            /**
             * Format: date-time
             * @description The time, UTC.
             */
            at: string;
            /** @description Currency of all amounts of the account or server. */
            currency: components["schemas"]["Currency"];
            /** @description Balance after the last transaction up to this time, from the ledger. In units of the account's currency, with two decimals. */
            balance: Money;
            /** @description Number of positions that were open. If it is above 5,000, `positions` has only the newest. */
            positionCount: number;
            /** @description The positions that were open, newest first, at most 5,000. */
            positions: components["schemas"]["OpenPosition"][];
            /** @description The last stored equity whose whole minute was over at this time; null if there is none. */
            equity: components["schemas"]["StoredEquity"] | null;
        };
        /** @description One record of an export. `kind` tells which one. */
        ExportRecord: components["schemas"]["TransactionRecord"] | components["schemas"]["OrderRecord"] | components["schemas"]["PositionRecord"] | components["schemas"]["DealRecord"];
        /** @description The newest records of all four kinds together, newest first. */
        HistoryExport: {
            /** @description The requested start; null if none was given. */
            from: string | null;
            /** @description The requested end; null if none was given. */
            to: string | null;
            /** @description Number of records in `records`. */
            recordCount: number;
            /** @description Whether more records match: ask again with the time of the last record as `to`. */
            truncated: boolean;
            /** @description The records, newest first. */
            records: components["schemas"]["ExportRecord"][];
        };
        /** @description Where a page is in its list. */
        Pagination: {
            /** @description Number of the page, from 1. */
            page: number;
            /** @description Maximum number of records. */
            limit: number;
            /** @description Number of records that match. */
            total: number;
            /** @description Number of pages. */
            totalPages: number;
            /**
             * @description Send it as `cursor` to read the next page; null at the end.
             * @default null
             */
            nextCursor: string | null;
        };
        /** @description The wallet of the organization. */
        WalletAnswer: {
            /** @description The wallet as it is now. */
            wallet: components["schemas"]["Wallet"];
        };
        /** @description The prices of all kinds of requests. */
        CreditPricesAnswer: {
            /** @description Credits by kind of request. */
            prices: components["schemas"]["CreditPrices"];
        };
        /** @description A page of usage, newest first. */
        CreditUsageAnswer: {
            /** @description The lines, newest first. */
            usage: components["schemas"]["CreditUsage"][];
            /** @description Where the page is in the list. */
            pagination: components["schemas"]["Pagination"];
        };
        /** @description A trading server. */
        ServerAnswer: {
            /** @description The server as it is now. */
            server: components["schemas"]["Server"];
        };
        /** @description Accounts of a server, newest first. */
        TradingAccountsAnswer: {
            /** @description The accounts, newest first. */
            accounts: components["schemas"]["TradingAccount"][];
            /** @description Where the page is in the list. */
            pagination?: components["schemas"]["Pagination"];
        };
        /** @description An account, with its access data. */
        AccountDetailsAnswer: {
            /** @description The account, with its live values. */
            account: components["schemas"]["TradingAccount"];
            /** @description Access data of the account. */
            credentials: components["schemas"]["AccountCredentials"];
        };
        /** @description An account that was deleted. */
        DeletedAccountAnswer: {
            /** @description Number of the account on its server. Never used again, also after a deletion. */
            accountNumber: string;
            /**
             * @description Always true.
             * @constant
             */
            deleted: true;
        };
        /** @description The commands of a bulk. */
        BulkEnvelopesAnswer: {
            /** @description One envelope for each account, in the order of `accounts` of the request. */
            results: components["schemas"]["CommandEnvelope"][];
        };
        /** @description A command. */
        CommandAnswer: {
            /** @description The command as it is now. */
            command: components["schemas"]["Command"];
        };
        /** @description A page of commands, newest first. */
        CommandsAnswer: {
            /** @description The commands, newest first. */
            commands: components["schemas"]["Command"][];
            /** @description Where the page is in the list. */
            pagination: components["schemas"]["Pagination"];
        };
        /** @description A page of transactions, newest first. */
        TransactionsAnswer: {
            /** @description The transactions, newest first. */
            transactions: components["schemas"]["Transaction"][];
            /** @description Where the page is in the list. */
            pagination: components["schemas"]["Pagination"];
        };
        /** @description A page of orders, newest first. */
        OrdersAnswer: {
            /** @description The orders, newest first. */
            orders: components["schemas"]["Order"][];
            /** @description Where the page is in the list. */
            pagination: components["schemas"]["Pagination"];
        };
        /** @description A page of positions, newest first. */
        PositionsAnswer: {
            /** @description The positions, newest first. */
            positions: components["schemas"]["Position"][];
            /** @description Where the page is in the list. */
            pagination: components["schemas"]["Pagination"];
        };
        /** @description A page of deals, newest first. */
        DealsAnswer: {
            /** @description The executions, newest first. */
            deals: components["schemas"]["Deal"][];
            /** @description Where the page is in the list. */
            pagination: components["schemas"]["Pagination"];
        };
        /** @description Stored snapshots, newest first. */
        AccountMetricsAnswer: {
            /** @description The snapshots, newest first. */
            snapshots: components["schemas"]["AccountMetricSnapshot"][];
        };
        /** @description An account as it was at a time. */
        AccountStateAnswer: {
            /** @description The account as it was. */
            state: components["schemas"]["AccountState"];
        };
        /** @description A share, in percent, of the value from which the loss or profit counts; or an amount of money. Exactly one of the two. */
        RiskLimit: {
            /** @description Share of the reference in percent, above 0 and at most 100, with at most four decimals. */
            percent?: number;
            /** @description Amount of money, above 0. In units of the account's currency, with two decimals. */
            amount?: Money;
        };
        /** @description A risk rule. `type` tells which fields it has. */
        RiskRule: components["schemas"]["DailyLossRule"] | components["schemas"]["MaxLossRule"] | components["schemas"]["ProfitTargetRule"];
        /** @description The active risk rules of an account. */
        AccountRiskRules: {
            /**
             * Format: uuid
             * @description Id of the trading server.
             */
            serverId: string;
            /** @description Number of the account on its server. Never used again, also after a deletion. */
            accountNumber: string;
            /** @description Counts the changes of the rules, from 1; 0 for an account that never had rules. */
            version: number;
            /** @description The rules; empty for version 0, and after they were removed. */
            rules: components["schemas"]["RiskRule"][];
            /** @description Id of the command that made this version; null for version 0. */
            commandId: string | null;
            /** @description Since when valuations are compared with the rules, UTC; null for version 0. */
            activeFrom: string | null;
            /** @description The template that the rules came from; null for rules that were set on the account. */
            template: components["schemas"]["RiskRulesTemplate"] | null;
        };
        /** @description A rule that was breached in a period. `reference` and `threshold` include the deposits and withdrawals that were made after the reference was measured. */
        RiskBreach: {
            /**
             * Format: uuid
             * @description Its id, a UUID.
             */
            id: string;
            /** @description The rule as it was at the breach or warning. */
            rule: components["schemas"]["RiskRule"];
            /** @description Version of the rules. */
            ruleVersion: number;
            /** @description The day of a daily rule, by the local date of its start; `lifetime` for any other rule. */
            period: string;
            /** @description Value from which the loss or profit counts, with the deposits and withdrawals since that value was measured. In units of the account's currency, with two decimals. */
            reference: Money;
            /** @description Value at which the rule is breached. In units of the account's currency, with two decimals. */
            threshold: Money;
            /** @description Value that was compared. In units of the account's currency, with two decimals. */
            value: Money;
            /** @description Balance plus profit and swap of the open positions. In units of the account's currency, with two decimals. */
            equity: Money;
            /** @description Balance: all booked money, without open positions. In units of the account's currency, with two decimals. */
            balance: Money;
            /**
             * Format: date-time
             * @description When the trading server measured the values, UTC.
             */
            measuredAt: string;
            /** @description What kapi does when the rule is breached. */
            action: components["schemas"]["RiskAction"];
            /** @description Id of the command of the action; null for `notify`. */
            commandId: string | null;
            /**
             * Format: uuid
             * @description Id of the trading server.
             */
            serverId: string;
            /** @description Number of the account on its server. Never used again, also after a deletion. */
            accountNumber: string;
            /**
             * Format: date-time
             * @description When kapi recorded the breach, UTC.
             */
            recordedAt: string;
            /** @description The evidence of the breach. */
            evidence: components["schemas"]["BreachEvidenceState"];
        };
        /** @description What evidence a breach has, and what the evidence shows. */
        BreachEvidenceState: {
            /** @description `pending`: kapi still collects the evidence, usually until about a minute and a half after the breach, and for at most an hour. `stored`: read it with `getBreachEvidence`. `none`: it was deleted after 400 days, or kapi could not collect it. */
            status: components["schemas"]["EvidenceStatus"];
            /** @description Sequence of the live sample that includes the breach; null if the evidence is not stored, or if no sample includes the breach. */
            sequence: number | null;
            /** @description The lowest equity in the minute after the breach, or for a profit target the highest equity or balance, whichever the rule compares; null unless stored. In units of the account's currency, with two decimals. */
            extremeValue: Money | null;
            /** @description When the trading server measured `extremeValue`, UTC; null unless stored. */
            extremeAt: string | null;
        };
        /** @description The evidence of a breach: a signed document, which anybody can verify. */
        BreachEvidence: {
            /**
             * @description The format of the document.
             * @constant
             */
            format: "kapi-evidence/1";
            /**
             * Format: uuid
             * @description Id of your organization.
             */
            organizationId: string;
            /**
             * Format: uuid
             * @description Id of the trading server.
             */
            serverId: string;
            /** @description Number of the account on its server. Never used again, also after a deletion. */
            accountNumber: string;
            /** @description Currency of all amounts of the account or server. */
            currency: components["schemas"]["Currency"];
            /**
             * Format: date-time
             * @description Beginning of the interval in which the valuations were measured, UTC.
             */
            from: string;
            /**
             * Format: date-time
             * @description End of the interval, inclusive, UTC.
             */
            to: string;
            /** @description The parts that the document lacks, and why. */
            missing: components["schemas"]["MissingEvidence"][];
            /**
             * Format: date-time
             * @description When the document was signed, UTC.
             */
            createdAt: string;
            /**
             * @description Kind of the document.
             * @constant
             */
            kind: "breach";
            /** @description The rule in the version that was breached. */
            rule: components["schemas"]["EvidenceRule"];
            /** @description Why the rule was breached. */
            breach: components["schemas"]["EvidenceBreach"];
            /** @description The positions that were open at `breach.extremeAt`; if no position was open then, those at `breach.at`; null if kapi could not get them. */
            positions: components["schemas"]["EvidencePosition"][] | null;
            /** @description The valuations in the order of the log, then the samples in the order of their sequences. */
            records: (components["schemas"]["ValuationEvidence"] | components["schemas"]["SampleEvidence"])[];
            /** @description The hashes of the header and of each record. */
            chain: components["schemas"]["EvidenceChain"];
            /** @description The signature of the document. */
            signature: components["schemas"]["EvidenceSignature"];
        };
        /** @description Evidence of what kapi received in an interval: a signed document, which anybody can verify. */
        IntervalEvidence: {
            /**
             * @description The format of the document.
             * @constant
             */
            format: "kapi-evidence/1";
            /**
             * Format: uuid
             * @description Id of your organization.
             */
            organizationId: string;
            /**
             * Format: uuid
             * @description Id of the trading server.
             */
            serverId: string;
            /** @description Number of the account on its server. Never used again, also after a deletion. */
            accountNumber: string;
            /** @description Currency of all amounts of the account or server. */
            currency: components["schemas"]["Currency"];
            /**
             * Format: date-time
             * @description Beginning of the interval in which the valuations were measured, UTC.
             */
            from: string;
            /**
             * Format: date-time
             * @description End of the interval, inclusive, UTC.
             */
            to: string;
            /** @description The parts that the document lacks, and why. */
            missing: components["schemas"]["MissingEvidence"][];
            /**
             * Format: date-time
             * @description When the document was signed, UTC.
             */
            createdAt: string;
            /**
             * @description Kind of the document.
             * @constant
             */
            kind: "interval";
            /** @description The valuations in the order of the log, then the samples in the order of their sequences. */
            records: (components["schemas"]["ValuationEvidence"] | components["schemas"]["SampleEvidence"])[];
            /** @description The hashes of the header and of each record. */
            chain: components["schemas"]["EvidenceChain"];
            /** @description The signature of the document. */
            signature: components["schemas"]["EvidenceSignature"];
        };
        /** @description A valuation as kapi received it from the trading server. */
        ValuationEvidence: {
            /**
             * @description Kind of the record.
             * @constant
             */
            kind: "valuation";
            /** @description Partition of kapi's log. */
            partition: number;
            /** @description Offset in the partition. */
            offset: number;
            /**
             * Format: date-time
             * @description When the trading server measured the values, UTC.
             */
            measuredAt: string;
            /**
             * Format: date-time
             * @description When kapi's log received the valuation, UTC.
             */
            recordedAt: string;
            /** @description Balance. Decimal text in units of the account's currency, with two decimals. */
            balance: string;
            /** @description Equity. Decimal text in units of the account's currency, with two decimals. */
            equity: string;
            /** @description Used margin. Decimal text in units of the account's currency, with two decimals. */
            margin: string;
            /** @description Free margin. Decimal text in units of the account's currency, with two decimals. */
            freeMargin: string;
            /** @description Number of open positions. */
            openPositionCount: number;
            /** @description Deposits minus withdrawals since the creation, without the initial balance; null if the trading server does not send them. */
            netDeposits: string | null;
        };
        /** @description A sample of the live stream. */
        SampleEvidence: {
            /**
             * @description Kind of the record.
             * @constant
             */
            kind: "sample";
            /** @description Sequence of the sample, as in the live stream. */
            sequence: number;
            /** @description Offset of the last valuation before the sample; -1 for the first sample of the account in the partition. */
            from: number;
            /** @description Offset of the last valuation of the sample. */
            to: number;
            /**
             * Format: date-time
             * @description When the trading server measured the values, UTC.
             */
            measuredAt: string;
            /** @description Balance. Decimal text in units of the account's currency, with two decimals. */
            balance: string;
            /** @description Equity. Decimal text in units of the account's currency, with two decimals. */
            equity: string;
            /** @description Used margin. Decimal text in units of the account's currency, with two decimals. */
            margin: string;
            /** @description Free margin. Decimal text in units of the account's currency, with two decimals. */
            freeMargin: string;
            /** @description Number of open positions. */
            openPositionCount: number;
            /** @description The lowest equity from the previous sample (included) to this sample. Decimal text in units of the account's currency, with two decimals. */
            intervalMinimumEquity: string;
            /**
             * Format: date-time
             * @description When the trading server measured `intervalMinimumEquity`, UTC.
             */
            intervalMinimumMeasuredAt: string;
        };
        /** @description A limit: a share, in percent, of the value from which the loss or profit counts; or an amount of money. */
        EvidenceLimit: {
            /** @description Unit of the limit. */
            unit: components["schemas"]["EvidenceUnit"];
            /** @description The limit as decimal text. */
            value: string;
        };
        /**
         * @description Unit of a limit.
         * @enum {string}
         */
        EvidenceUnit: "percent" | "amount";
        /** @description The value from which a loss or profit counts. */
        EvidenceReference: {
            /** @description The value, with the deposits and withdrawals since `at`. Decimal text in units of the account's currency, with two decimals. */
            value: string;
            /** @description A limit in percent is a percentage of this value. Decimal text in units of the account's currency, with two decimals. */
            base: string;
            /**
             * Format: date-time
             * @description When the values of the reference were measured; if the reference is the start value of the rule or the initial balance of the account, when the rule became active. UTC.
             */
            at: string;
        };
        /**
         * @description On which side of the threshold a breach is.
         * @enum {string}
         */
        EvidenceSide: "atOrBelow" | "atOrAbove";
        /**
         * @description A part of evidence.
         * @enum {string}
         */
        EvidencePart: "valuations" | "samples" | "positions" | "prices";
        /**
         * @description Why a part is missing. `expired`: deleted after its retention. `unavailable`: kapi could not get it. `limit`: the document would be too large.
         * @enum {string}
         */
        MissingReason: "expired" | "unavailable" | "limit";
        /** @description The rule in the version that was breached. */
        EvidenceRule: {
            /** @description Your id of the rule. */
            id: string;
            /** @description Version of the account's rules. */
            version: number;
            /** @description Kind of the rule. */
            type: string;
            /** @description What kapi did at the breach. */
            action: string;
            /**
             * Format: date-time
             * @description Time of the first values that were compared with this version, as the trading server measured it, UTC. All later valuations were compared with this version too.
             */
            activeFrom: string;
            /** @description The limit of the rule. */
            limit: components["schemas"]["EvidenceLimit"];
            /** @description The other fields of the rule, as text. */
            parameters: {
                [key: string]: string | null;
            };
        };
        /** @description Why the rule was breached. */
        EvidenceBreach: {
            /**
             * Format: uuid
             * @description Id of the breach.
             */
            id: string;
            /** @description The day of a daily rule, by the local date of its start; `lifetime` for any other rule. */
            period: string;
            /**
             * Format: date-time
             * @description When the trading server measured the value that reached the threshold, UTC.
             */
            at: string;
            /** @description Which value is compared. */
            compared: components["schemas"]["RiskBasis"];
            /** @description On which side of the threshold the breach is. */
            side: components["schemas"]["EvidenceSide"];
            /** @description The value from which the loss or profit counts. */
            reference: components["schemas"]["EvidenceReference"];
            /** @description Value at which the rule is breached. Decimal text in units of the account's currency, with two decimals. */
            threshold: string;
            /** @description Value that reached the threshold. Decimal text in units of the account's currency, with two decimals. */
            value: string;
            /** @description Index in `records` of the valuation that reached the threshold; null if it is not in `records`, or not known. */
            valuationIndex: number | null;
            /** @description The lowest equity in the minute after the breach, for a profit target the highest equity or balance, whichever the rule compares. Decimal text in units of the account's currency, with two decimals. */
            extremeValue: string;
            /**
             * Format: date-time
             * @description When the trading server measured `extremeValue`, UTC.
             */
            extremeAt: string;
            /** @description Sequence of the sample that includes the valuation; null if no sample does. */
            sequence: number | null;
            /** @description What kapi did at the breach. */
            action: string;
            /** @description Id of the command of the action; null if the rule only notifies. */
            commandId: string | null;
        };
        /** @description A position that was open when `extremeValue` was measured; if none was open then, a position that was open at the breach. */
        EvidencePosition: {
            /** @description Id of the position on the trading server. */
            positionId: string;
            /** @description Name of the instrument, such as EURUSD. */
            symbol: string;
            /** @description Side of the position. */
            side: string;
            /** @description Volume that was open, as decimal text. */
            volume: string;
            /** @description Price at which the position was opened, as decimal text. */
            openPrice: string;
            /** @description Price at which the position was valued, as decimal text; null if unknown. */
            price: string | null;
            /** @description Profit of the position at `price`, as decimal text; null: kapi does not know it. */
            profit: string | null;
        };
        /** @description A part that the document does not have. */
        MissingEvidence: {
            /** @description Which part is missing. */
            what: components["schemas"]["EvidencePart"];
            /** @description `expired`: deleted after its retention. `unavailable`: kapi could not get it. `limit`: the document would be too large. */
            reason: components["schemas"]["MissingReason"];
            /** @description Beginning of the time for which the part is missing, UTC; null: the beginning of the interval. */
            from: string | null;
            /** @description End of the time for which the part is missing, UTC; null: the end of the interval. */
            to: string | null;
        };
        /** @description The hashes of the document. */
        EvidenceChain: {
            /**
             * @description Name of the algorithm of the hashes, or of the signature.
             * @constant
             */
            algorithm: "SHA-256";
            /** @description SHA-256 of the header in canonical form, as hex. */
            headerHash: string;
            /** @description The hash of each record, chained to the hash before it, as hex. */
            recordHashes: string[];
            /** @description The last hash of the chain, as hex. It changes if any part of the content changes. */
            lastHash: string;
        };
        /** @description The signature of the document. */
        EvidenceSignature: {
            /**
             * @description Name of the algorithm of the hashes, or of the signature.
             * @constant
             */
            algorithm: "Ed25519";
            /** @description Id of the key, see `/.well-known/kapi-evidence-keys.json`. */
            keyId: string;
            /** @description The signature in base64url. */
            value: string;
        };
        /** @description Risk rules for the accounts of a server that its selection matches. */
        RiskTemplate: {
            /**
             * Format: uuid
             * @description Id of the trading server.
             */
            serverId: string;
            /** @description Your name of the template, unique among the templates of the server. */
            name: string;
            /** @description Counts the changes of the template, from 1. */
            version: number;
            /** @description The rules, 1 to 10. */
            rules: components["schemas"]["RiskRule"][];
            /** @description The accounts that the template applies to. */
            appliesTo: components["schemas"]["RiskTemplateSelection"];
            /** @description Whether the template applies to accounts that are created, or begin to match, later. */
            newAccounts: boolean;
            /**
             * Format: uuid
             * @description Id of the command that made this version.
             */
            commandId: string;
            /**
             * Format: date-time
             * @description When it was created, UTC.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description When it was last changed, UTC.
             */
            updatedAt: string;
            /** @description Whether the template is still being applied to accounts. */
            progress: components["schemas"]["RiskTemplateProgress"];
            /** @description How many accounts got this version, wait for it, or will be tried again after a failure. */
            accounts: components["schemas"]["RiskTemplateAccounts"];
        };
        /** @description How far a template is applied to accounts. */
        RiskTemplateAccounts: {
            /** @description Number of accounts that got this version. */
            applied: number;
            /** @description Number of accounts that match and wait for this version. */
            waiting: number;
            /** @description Number of accounts whose last attempt failed. They are tried again. */
            failed: number;
        };
        /** @description One risk template. */
        RiskTemplateAnswer: {
            /** @description The template. */
            riskTemplate: components["schemas"]["RiskTemplate"];
        };
        /** @description The risk templates of a server, oldest first. */
        RiskTemplatesAnswer: {
            /** @description The templates, oldest first: the first one that matches an account applies to it. */
            riskTemplates: components["schemas"]["RiskTemplate"][];
        };
        /**
         * @description Whether evidence is stored: `pending` until it is stored, usually about a minute and a half after the breach, and at most an hour; `none` if it was deleted after 400 days, or kapi could not collect it.
         * @enum {string}
         */
        EvidenceStatus: "pending" | "stored" | "none";
        /** @description The transactions of an account on one day. */
        TransactionsDigest: {
            /** @description Number of records. */
            count: number;
            /** @description Sum of all amounts. In units of the account's currency, with two decimals. */
            amount: Money;
            /** @description SHA-256 over the transactions, 64 hex digits. */
            hash: string;
        };
        /** @description The deals of an account on one day. */
        DealsDigest: {
            /** @description Number of records. */
            count: number;
            /** @description Sum of all commissions. In units of the account's currency, with two decimals. */
            commission: Money;
            /** @description Sum of all realized profits and losses. In units of the account's currency, with two decimals. */
            realizedPnl: Money;
            /** @description Sum of all swaps. In units of the account's currency, with two decimals. */
            swap: Money;
            /** @description SHA-256 over the deals, 64 hex digits. */
            hash: string;
        };
        /** @description The digest of an account and a day. A record that arrives after the digest was made gives it another revision. */
        AccountDigest: {
            /** @description Number of the account on its server. Never used again, also after a deletion. */
            accountNumber: string;
            /** @description Currency of all amounts of the account or server. */
            currency: components["schemas"]["Currency"];
            /** @description Balance at the end of the day: the sum of all transactions that were recorded before this end. In units of the account's currency, with two decimals. */
            closingBalance: Money;
            /** @description The transactions that were recorded on this day. */
            transactions: components["schemas"]["TransactionsDigest"];
            /** @description The deals that were executed on this day. */
            deals: components["schemas"]["DealsDigest"];
            /**
             * Format: date
             * @description The day, in UTC.
             */
            date: string;
            /** @description SHA-256 over all content of the digest, 64 hex digits. */
            hash: string;
            /** @description Counts the changes of the digest, from 1. */
            revision: number;
            /**
             * Format: date-time
             * @description When the digest was made, UTC.
             */
            createdAt: string;
            /** @description When the digest was last changed, UTC; null if it never was. */
            revisedAt: string | null;
        };
        /** @description One page of the digests of a day. */
        DigestsAnswer: {
            /**
             * Format: date
             * @description The day, in UTC.
             */
            date: string;
            /** @description The digests, by account number. */
            digests: components["schemas"]["AccountDigest"][];
            /** @description Where the page is in the list. */
            pagination: components["schemas"]["Pagination"];
        };
        /** @description The active risk rules of an account. */
        RiskRulesAnswer: {
            /** @description The active rules. */
            riskRules: components["schemas"]["AccountRiskRules"];
        };
        /** @description One page of the breaches of an account. */
        RiskBreachesAnswer: {
            /** @description The breaches, newest first. */
            breaches: components["schemas"]["RiskBreach"][];
            /** @description Where the page is in the list. */
            pagination: components["schemas"]["Pagination"];
        };
        /** @description The template, and its version, that rules came from. */
        RiskRulesTemplate: {
            /** @description Name of the template. */
            name: string;
            /** @description Version of the template. */
            version: number;
        };
        /** @description The accounts that a template applies to: those that meet every condition. */
        RiskTemplateSelection: {
            /** @description Only accounts in one of these states. Absent: in any of them. */
            status?: components["schemas"]["RiskTemplateStatus"][];
            /** @description Only accounts whose name begins with this text, in the same case. */
            nameStartsWith?: string;
        };
        /** @description An address that events are sent to. */
        WebhookEndpoint: {
            /**
             * Format: uuid
             * @description Its id, a UUID.
             */
            id: string;
            /** @description Address that events are sent to, at most 2,048 characters. */
            url: string;
            /** @description Free text, at most 250 characters. */
            description: string;
            /** @description Kinds of events that are sent; null or omitted: all except those of commands. */
            kinds: components["schemas"]["WebhookKind"][] | null;
            /** @description Servers whose events are sent; null or omitted: all. */
            serverIds: string[] | null;
            /** @description Whether events are sent to the endpoint. */
            status: components["schemas"]["WebhookStatus"];
            /** @description `owner` (you), `gone` (the endpoint answered 410), or `failing` (all attempts failed for 5 days); null while enabled. */
            disabledReason: components["schemas"]["WebhookDisabledReason"] | null;
            /** @description Start of the current series of failed attempts, UTC; null if the last attempt did not fail. */
            failingSince: string | null;
            /**
             * Format: date-time
             * @description When it was created, UTC.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description When it was last changed, UTC.
             */
            updatedAt: string;
        };
        /** @description One event on its way to one endpoint. */
        WebhookDelivery: {
            /**
             * Format: uuid
             * @description Its id, a UUID.
             */
            id: string;
            /**
             * Format: uuid
             * @description Id of the event, a UUID: drop an event whose id you have already processed.
             */
            eventId: string;
            /**
             * Format: uuid
             * @description Id of the endpoint.
             */
            endpointId: string;
            /** @description Kind of the event. */
            type: components["schemas"]["WebhookKind"];
            /** @description State of the delivery: `succeeded`, `failed` and `cancelled` are final. */
            status: components["schemas"]["DeliveryStatus"];
            /** @description The newest 20 attempts, oldest first. */
            attempts: components["schemas"]["DeliveryAttempt"][];
            /** @description Time of the next attempt, UTC; null if there is none. */
            nextAttemptAt: string | null;
            /**
             * Format: date-time
             * @description When it was created, UTC.
             */
            createdAt: string;
            /** @description When the final state was reached, UTC; null until then. */
            completedAt: string | null;
        };
        /** @description One attempt to deliver an event. */
        DeliveryAttempt: {
            /** @description Number of the attempt, from 1. */
            number: number;
            /**
             * Format: date-time
             * @description Time of the attempt, UTC.
             */
            at: string;
            /** @description HTTP status of the receiver; null without an answer. */
            status: number | null;
            /** @description Why the attempt failed; null if it succeeded. */
            error: string | null;
            /** @description Duration of the attempt, in milliseconds. */
            durationMs: number;
            /** @description The first part of the receiver's reply, at most 1 KiB, control characters escaped. */
            replyStart: string;
        };
        /** @description An event of the feed. `type` tells which `data` it has. */
        FeedEvent: components["schemas"]["FeedAccountEvent"] | components["schemas"]["FeedPasswordChangedEvent"] | components["schemas"]["FeedOrderEvent"] | components["schemas"]["FeedPositionEvent"] | components["schemas"]["FeedPositionClosedEvent"] | components["schemas"]["FeedDealEvent"] | components["schemas"]["FeedTransactionEvent"] | components["schemas"]["FeedMarginEvent"] | components["schemas"]["FeedRiskEvent"] | components["schemas"]["FeedEvidenceEvent"] | components["schemas"]["FeedLowBalanceEvent"] | components["schemas"]["FeedTestEvent"] | components["schemas"]["FeedCommandEvent"];
        /** @description The body of a delivery. `type` tells which `data` it has. */
        WebhookEvent: components["schemas"]["AccountEvent"] | components["schemas"]["PasswordChangedEvent"] | components["schemas"]["OrderEvent"] | components["schemas"]["PositionEvent"] | components["schemas"]["PositionClosedEvent"] | components["schemas"]["DealEvent"] | components["schemas"]["TransactionEvent"] | components["schemas"]["MarginEvent"] | components["schemas"]["RiskEvent"] | components["schemas"]["EvidenceEvent"] | components["schemas"]["LowBalanceEvent"] | components["schemas"]["TestEvent"] | components["schemas"]["CommandEvent"];
        /** @description An endpoint. */
        WebhookAnswer: {
            /** @description The endpoint as it is now. */
            endpoint: components["schemas"]["WebhookEndpoint"];
        };
        /** @description All endpoints of the organization, oldest first. */
        WebhooksAnswer: {
            /** @description The endpoints, oldest first. */
            endpoints: components["schemas"]["WebhookEndpoint"][];
        };
        /** @description An endpoint, with its secret. */
        WebhookSecretAnswer: {
            /** @description The endpoint as it is now. */
            endpoint: components["schemas"]["WebhookEndpoint"];
            /** @description The signing secret, `whsec_…`: in this answer only. */
            secret: string;
        };
        /** @description An endpoint that was deleted. */
        DeletedWebhookAnswer: {
            /**
             * Format: uuid
             * @description Its id, a UUID.
             */
            id: string;
            /**
             * @description Always true.
             * @constant
             */
            deleted: true;
        };
        /** @description A test event that is sent. */
        WebhookTestAnswer: {
            /**
             * Format: uuid
             * @description Id of the event that is sent.
             */
            eventId: string;
        };
        /** @description How many events match the replay, also those that were never sent to this endpoint. */
        WebhookReplayAnswer: {
            /** @description Number of events that are sent again. */
            events: number;
        };
        /** @description A page of deliveries, newest first. */
        WebhookDeliveriesAnswer: {
            /** @description The deliveries, newest first. */
            deliveries: components["schemas"]["WebhookDelivery"][];
            /** @description Where the page is in the list. */
            pagination: components["schemas"]["Pagination"];
        };
        /** @description A delivery. */
        WebhookDeliveryAnswer: {
            /** @description The delivery as it is now. */
            delivery: components["schemas"]["WebhookDelivery"];
        };
        /** @description Events of the feed, oldest first. */
        EventsAnswer: {
            /** @description The events, oldest first. */
            events: components["schemas"]["FeedEvent"][];
            /** @description Send it as `after` of the next request. */
            next: string;
        };
        /** @description The creation of an account. */
        AccountCreateCommand: {
            /**
             * Format: uuid
             * @description Its id, a UUID.
             */
            id: string;
            /**
             * @description What the command does. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            operation: "account.create";
            /** @description State of the command: `succeeded`, `failed` and `expired` are final. */
            status: components["schemas"]["CommandStatus"];
            /** @description Id of the account, a UUID; null if it was unknown when the command was queued. */
            managedAccountId?: string | null;
            /** @description How often kapi has begun to carry the command out. */
            attempts: number;
            /** @description The request, without `requestId` and passwords. */
            payload?: {
                /** @description Name of the account, 1 to 100 characters. */
                accountName: string;
                /** @description Balance at the creation. In units of the account's currency, with two decimals. */
                initialBalance: Money;
                /** @description Leverage: 100 means 1:100. */
                leverage: number;
            };
            /** @description What a succeeded command returns; null otherwise, and once its details are no longer kept. */
            result: components["schemas"]["AccountCreateResult"] | null;
            /** @description Why the command failed, for programs; null unless it failed. */
            errorCode: components["schemas"]["CommandErrorCode"] | null;
            /** @description Why the command failed or expired, for people; null otherwise. */
            errorMessage?: string | null;
            /** @description The key of the request; an item of a bulk has `<key>:<index>`. */
            idempotencyKey: string;
            /**
             * Format: date-time
             * @description When it was created, UTC.
             */
            createdAt: string;
            /** @description When the final state was reached, UTC; null until then. */
            completedAt?: string | null;
            /** @description Your correlation id, 1 to 100 characters. Not unique; commands can be found by it. */
            requestId?: string;
            /**
             * Format: uuid
             * @description Id of the trading server.
             */
            serverId: string;
            /** @description Number of the account on its server; null for a creation until it has succeeded, and for a command on a risk template. */
            accountNumber?: string | null;
            /**
             * Format: date-time
             * @description When it was last changed, UTC.
             */
            updatedAt?: string;
            /**
             * Format: date-time
             * @description When the command expires if it was not carried out before, UTC.
             */
            deadlineAt?: string;
            /** @description Who caused it; null or absent if it was not requested through kapi, or if an earlier release recorded it. */
            createdBy?: components["schemas"]["Actor"] | null;
        };
        /** @description A change of name or leverage. */
        AccountUpdateCommand: {
            /**
             * Format: uuid
             * @description Its id, a UUID.
             */
            id: string;
            /**
             * @description What the command does. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            operation: "account.update";
            /** @description State of the command: `succeeded`, `failed` and `expired` are final. */
            status: components["schemas"]["CommandStatus"];
            /** @description Id of the account, a UUID; null if it was unknown when the command was queued. */
            managedAccountId?: string | null;
            /** @description How often kapi has begun to carry the command out. */
            attempts: number;
            /** @description The request, without `requestId` and passwords. */
            payload?: {
                /** @description Name of the account, 1 to 100 characters. */
                accountName?: string;
                /** @description Leverage: 100 means 1:100. */
                leverage?: number;
            };
            /** @description What a succeeded command returns; null otherwise, and once its details are no longer kept. */
            result: components["schemas"]["AccountUpdateResult"] | null;
            /** @description Why the command failed, for programs; null unless it failed. */
            errorCode: components["schemas"]["CommandErrorCode"] | null;
            /** @description Why the command failed or expired, for people; null otherwise. */
            errorMessage?: string | null;
            /** @description The key of the request; an item of a bulk has `<key>:<index>`. */
            idempotencyKey: string;
            /**
             * Format: date-time
             * @description When it was created, UTC.
             */
            createdAt: string;
            /** @description When the final state was reached, UTC; null until then. */
            completedAt?: string | null;
            /** @description Your correlation id, 1 to 100 characters. Not unique; commands can be found by it. */
            requestId?: string;
            /**
             * Format: uuid
             * @description Id of the trading server.
             */
            serverId: string;
            /** @description Number of the account on its server; null for a creation until it has succeeded, and for a command on a risk template. */
            accountNumber?: string | null;
            /**
             * Format: date-time
             * @description When it was last changed, UTC.
             */
            updatedAt?: string;
            /**
             * Format: date-time
             * @description When the command expires if it was not carried out before, UTC.
             */
            deadlineAt?: string;
            /** @description Who caused it; null or absent if it was not requested through kapi, or if an earlier release recorded it. */
            createdBy?: components["schemas"]["Actor"] | null;
        };
        /** @description The enabling of an account. */
        AccountEnableCommand: {
            /**
             * Format: uuid
             * @description Its id, a UUID.
             */
            id: string;
            /**
             * @description What the command does. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            operation: "account.enable";
            /** @description State of the command: `succeeded`, `failed` and `expired` are final. */
            status: components["schemas"]["CommandStatus"];
            /** @description Id of the account, a UUID; null if it was unknown when the command was queued. */
            managedAccountId?: string | null;
            /** @description How often kapi has begun to carry the command out. */
            attempts: number;
            /** @description The request, without `requestId` and passwords. */
            payload?: Record<string, unknown>;
            /** @description What a succeeded command returns; null otherwise, and once its details are no longer kept. */
            result: components["schemas"]["AccountStatusResult"] | null;
            /** @description Why the command failed, for programs; null unless it failed. */
            errorCode: components["schemas"]["CommandErrorCode"] | null;
            /** @description Why the command failed or expired, for people; null otherwise. */
            errorMessage?: string | null;
            /** @description The key of the request; an item of a bulk has `<key>:<index>`. */
            idempotencyKey: string;
            /**
             * Format: date-time
             * @description When it was created, UTC.
             */
            createdAt: string;
            /** @description When the final state was reached, UTC; null until then. */
            completedAt?: string | null;
            /** @description Your correlation id, 1 to 100 characters. Not unique; commands can be found by it. */
            requestId?: string;
            /**
             * Format: uuid
             * @description Id of the trading server.
             */
            serverId: string;
            /** @description Number of the account on its server; null for a creation until it has succeeded, and for a command on a risk template. */
            accountNumber?: string | null;
            /**
             * Format: date-time
             * @description When it was last changed, UTC.
             */
            updatedAt?: string;
            /**
             * Format: date-time
             * @description When the command expires if it was not carried out before, UTC.
             */
            deadlineAt?: string;
            /** @description Who caused it; null or absent if it was not requested through kapi, or if an earlier release recorded it. */
            createdBy?: components["schemas"]["Actor"] | null;
        };
        /** @description The disabling of an account. */
        AccountDisableCommand: {
            /**
             * Format: uuid
             * @description Its id, a UUID.
             */
            id: string;
            /**
             * @description What the command does. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            operation: "account.disable";
            /** @description State of the command: `succeeded`, `failed` and `expired` are final. */
            status: components["schemas"]["CommandStatus"];
            /** @description Id of the account, a UUID; null if it was unknown when the command was queued. */
            managedAccountId?: string | null;
            /** @description How often kapi has begun to carry the command out. */
            attempts: number;
            /** @description The request, without `requestId` and passwords. */
            payload?: {
                /** @description True: after the disabling, all positions are closed and all pending orders cancelled. Needs the scope `risk:manage` too. */
                flatten?: boolean;
            };
            /** @description What a succeeded command returns; null otherwise, and once its details are no longer kept. */
            result: components["schemas"]["AccountDisableResult"] | null;
            /** @description Why the command failed, for programs; null unless it failed. */
            errorCode: components["schemas"]["CommandErrorCode"] | null;
            /** @description Why the command failed or expired, for people; null otherwise. */
            errorMessage?: string | null;
            /** @description The key of the request; an item of a bulk has `<key>:<index>`. */
            idempotencyKey: string;
            /**
             * Format: date-time
             * @description When it was created, UTC.
             */
            createdAt: string;
            /** @description When the final state was reached, UTC; null until then. */
            completedAt?: string | null;
            /** @description Your correlation id, 1 to 100 characters. Not unique; commands can be found by it. */
            requestId?: string;
            /**
             * Format: uuid
             * @description Id of the trading server.
             */
            serverId: string;
            /** @description Number of the account on its server; null for a creation until it has succeeded, and for a command on a risk template. */
            accountNumber?: string | null;
            /**
             * Format: date-time
             * @description When it was last changed, UTC.
             */
            updatedAt?: string;
            /**
             * Format: date-time
             * @description When the command expires if it was not carried out before, UTC.
             */
            deadlineAt?: string;
            /** @description Who caused it; null or absent if it was not requested through kapi, or if an earlier release recorded it. */
            createdBy?: components["schemas"]["Actor"] | null;
        };
        /** @description The archiving of an account. */
        AccountArchiveCommand: {
            /**
             * Format: uuid
             * @description Its id, a UUID.
             */
            id: string;
            /**
             * @description What the command does. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            operation: "account.archive";
            /** @description State of the command: `succeeded`, `failed` and `expired` are final. */
            status: components["schemas"]["CommandStatus"];
            /** @description Id of the account, a UUID; null if it was unknown when the command was queued. */
            managedAccountId?: string | null;
            /** @description How often kapi has begun to carry the command out. */
            attempts: number;
            /** @description The request, without `requestId` and passwords. */
            payload?: Record<string, unknown>;
            /** @description What a succeeded command returns; null otherwise, and once its details are no longer kept. */
            result: components["schemas"]["AccountStatusResult"] | null;
            /** @description Why the command failed, for programs; null unless it failed. */
            errorCode: components["schemas"]["CommandErrorCode"] | null;
            /** @description Why the command failed or expired, for people; null otherwise. */
            errorMessage?: string | null;
            /** @description The key of the request; an item of a bulk has `<key>:<index>`. */
            idempotencyKey: string;
            /**
             * Format: date-time
             * @description When it was created, UTC.
             */
            createdAt: string;
            /** @description When the final state was reached, UTC; null until then. */
            completedAt?: string | null;
            /** @description Your correlation id, 1 to 100 characters. Not unique; commands can be found by it. */
            requestId?: string;
            /**
             * Format: uuid
             * @description Id of the trading server.
             */
            serverId: string;
            /** @description Number of the account on its server; null for a creation until it has succeeded, and for a command on a risk template. */
            accountNumber?: string | null;
            /**
             * Format: date-time
             * @description When it was last changed, UTC.
             */
            updatedAt?: string;
            /**
             * Format: date-time
             * @description When the command expires if it was not carried out before, UTC.
             */
            deadlineAt?: string;
            /** @description Who caused it; null or absent if it was not requested through kapi, or if an earlier release recorded it. */
            createdBy?: components["schemas"]["Actor"] | null;
        };
        /** @description The queued deletion of an account. */
        AccountDeleteCommand: {
            /**
             * Format: uuid
             * @description Its id, a UUID.
             */
            id: string;
            /**
             * @description What the command does. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            operation: "account.delete";
            /** @description State of the command: `succeeded`, `failed` and `expired` are final. */
            status: components["schemas"]["CommandStatus"];
            /** @description Id of the account, a UUID; null if it was unknown when the command was queued. */
            managedAccountId?: string | null;
            /** @description How often kapi has begun to carry the command out. */
            attempts: number;
            /** @description The request, without `requestId` and passwords. */
            payload?: Record<string, unknown>;
            /** @description What a succeeded command returns; null otherwise, and once its details are no longer kept. */
            result: components["schemas"]["AccountDeleteResult"] | null;
            /** @description Why the command failed, for programs; null unless it failed. */
            errorCode: components["schemas"]["CommandErrorCode"] | null;
            /** @description Why the command failed or expired, for people; null otherwise. */
            errorMessage?: string | null;
            /** @description The key of the request; an item of a bulk has `<key>:<index>`. */
            idempotencyKey: string;
            /**
             * Format: date-time
             * @description When it was created, UTC.
             */
            createdAt: string;
            /** @description When the final state was reached, UTC; null until then. */
            completedAt?: string | null;
            /** @description Your correlation id, 1 to 100 characters. Not unique; commands can be found by it. */
            requestId?: string;
            /**
             * Format: uuid
             * @description Id of the trading server.
             */
            serverId: string;
            /** @description Number of the account on its server; null for a creation until it has succeeded, and for a command on a risk template. */
            accountNumber?: string | null;
            /**
             * Format: date-time
             * @description When it was last changed, UTC.
             */
            updatedAt?: string;
            /**
             * Format: date-time
             * @description When the command expires if it was not carried out before, UTC.
             */
            deadlineAt?: string;
            /** @description Who caused it; null or absent if it was not requested through kapi, or if an earlier release recorded it. */
            createdBy?: components["schemas"]["Actor"] | null;
        };
        /** @description The closing of all positions of an account. */
        AccountFlattenCommand: {
            /**
             * Format: uuid
             * @description Its id, a UUID.
             */
            id: string;
            /**
             * @description What the command does. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            operation: "account.flatten";
            /** @description State of the command: `succeeded`, `failed` and `expired` are final. */
            status: components["schemas"]["CommandStatus"];
            /** @description Id of the account, a UUID; null if it was unknown when the command was queued. */
            managedAccountId?: string | null;
            /** @description How often kapi has begun to carry the command out. */
            attempts: number;
            /** @description The request, without `requestId` and passwords. */
            payload?: Record<string, unknown>;
            /** @description What a succeeded command returns; null otherwise, and once its details are no longer kept. */
            result: components["schemas"]["AccountFlattenResult"] | null;
            /** @description Why the command failed, for programs; null unless it failed. */
            errorCode: components["schemas"]["CommandErrorCode"] | null;
            /** @description Why the command failed or expired, for people; null otherwise. */
            errorMessage?: string | null;
            /** @description The key of the request; an item of a bulk has `<key>:<index>`. */
            idempotencyKey: string;
            /**
             * Format: date-time
             * @description When it was created, UTC.
             */
            createdAt: string;
            /** @description When the final state was reached, UTC; null until then. */
            completedAt?: string | null;
            /** @description Your correlation id, 1 to 100 characters. Not unique; commands can be found by it. */
            requestId?: string;
            /**
             * Format: uuid
             * @description Id of the trading server.
             */
            serverId: string;
            /** @description Number of the account on its server; null for a creation until it has succeeded, and for a command on a risk template. */
            accountNumber?: string | null;
            /**
             * Format: date-time
             * @description When it was last changed, UTC.
             */
            updatedAt?: string;
            /**
             * Format: date-time
             * @description When the command expires if it was not carried out before, UTC.
             */
            deadlineAt?: string;
            /** @description Who caused it; null or absent if it was not requested through kapi, or if an earlier release recorded it. */
            createdBy?: components["schemas"]["Actor"] | null;
        };
        /** @description The change of an account to close-only. */
        AccountCloseOnlyCommand: {
            /**
             * Format: uuid
             * @description Its id, a UUID.
             */
            id: string;
            /**
             * @description What the command does. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            operation: "account.close_only";
            /** @description State of the command: `succeeded`, `failed` and `expired` are final. */
            status: components["schemas"]["CommandStatus"];
            /** @description Id of the account, a UUID; null if it was unknown when the command was queued. */
            managedAccountId?: string | null;
            /** @description How often kapi has begun to carry the command out. */
            attempts: number;
            /** @description The request, without `requestId` and passwords. */
            payload?: Record<string, unknown>;
            /** @description What a succeeded command returns; null otherwise, and once its details are no longer kept. */
            result: components["schemas"]["AccountCloseOnlyResult"] | null;
            /** @description Why the command failed, for programs; null unless it failed. */
            errorCode: components["schemas"]["CommandErrorCode"] | null;
            /** @description Why the command failed or expired, for people; null otherwise. */
            errorMessage?: string | null;
            /** @description The key of the request; an item of a bulk has `<key>:<index>`. */
            idempotencyKey: string;
            /**
             * Format: date-time
             * @description When it was created, UTC.
             */
            createdAt: string;
            /** @description When the final state was reached, UTC; null until then. */
            completedAt?: string | null;
            /** @description Your correlation id, 1 to 100 characters. Not unique; commands can be found by it. */
            requestId?: string;
            /**
             * Format: uuid
             * @description Id of the trading server.
             */
            serverId: string;
            /** @description Number of the account on its server; null for a creation until it has succeeded, and for a command on a risk template. */
            accountNumber?: string | null;
            /**
             * Format: date-time
             * @description When it was last changed, UTC.
             */
            updatedAt?: string;
            /**
             * Format: date-time
             * @description When the command expires if it was not carried out before, UTC.
             */
            deadlineAt?: string;
            /** @description Who caused it; null or absent if it was not requested through kapi, or if an earlier release recorded it. */
            createdBy?: components["schemas"]["Actor"] | null;
        };
        /** @description A new trading password. */
        AccountPasswordResetCommand: {
            /**
             * Format: uuid
             * @description Its id, a UUID.
             */
            id: string;
            /**
             * @description What the command does. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            operation: "account.password_reset";
            /** @description State of the command: `succeeded`, `failed` and `expired` are final. */
            status: components["schemas"]["CommandStatus"];
            /** @description Id of the account, a UUID; null if it was unknown when the command was queued. */
            managedAccountId?: string | null;
            /** @description How often kapi has begun to carry the command out. */
            attempts: number;
            /** @description The request, without `requestId` and passwords. */
            payload?: Record<string, unknown>;
            /** @description What a succeeded command returns; null otherwise, and once its details are no longer kept. */
            result: components["schemas"]["PasswordResetResult"] | null;
            /** @description Why the command failed, for programs; null unless it failed. */
            errorCode: components["schemas"]["CommandErrorCode"] | null;
            /** @description Why the command failed or expired, for people; null otherwise. */
            errorMessage?: string | null;
            /** @description The key of the request; an item of a bulk has `<key>:<index>`. */
            idempotencyKey: string;
            /**
             * Format: date-time
             * @description When it was created, UTC.
             */
            createdAt: string;
            /** @description When the final state was reached, UTC; null until then. */
            completedAt?: string | null;
            /** @description Your correlation id, 1 to 100 characters. Not unique; commands can be found by it. */
            requestId?: string;
            /**
             * Format: uuid
             * @description Id of the trading server.
             */
            serverId: string;
            /** @description Number of the account on its server; null for a creation until it has succeeded, and for a command on a risk template. */
            accountNumber?: string | null;
            /**
             * Format: date-time
             * @description When it was last changed, UTC.
             */
            updatedAt?: string;
            /**
             * Format: date-time
             * @description When the command expires if it was not carried out before, UTC.
             */
            deadlineAt?: string;
            /** @description Who caused it; null or absent if it was not requested through kapi, or if an earlier release recorded it. */
            createdBy?: components["schemas"]["Actor"] | null;
        };
        /** @description A new investor password. */
        AccountInvestorPasswordResetCommand: {
            /**
             * Format: uuid
             * @description Its id, a UUID.
             */
            id: string;
            /**
             * @description What the command does. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            operation: "account.investor_password_reset";
            /** @description State of the command: `succeeded`, `failed` and `expired` are final. */
            status: components["schemas"]["CommandStatus"];
            /** @description Id of the account, a UUID; null if it was unknown when the command was queued. */
            managedAccountId?: string | null;
            /** @description How often kapi has begun to carry the command out. */
            attempts: number;
            /** @description The request, without `requestId` and passwords. */
            payload?: Record<string, unknown>;
            /** @description What a succeeded command returns; null otherwise, and once its details are no longer kept. */
            result: components["schemas"]["PasswordResetResult"] | null;
            /** @description Why the command failed, for programs; null unless it failed. */
            errorCode: components["schemas"]["CommandErrorCode"] | null;
            /** @description Why the command failed or expired, for people; null otherwise. */
            errorMessage?: string | null;
            /** @description The key of the request; an item of a bulk has `<key>:<index>`. */
            idempotencyKey: string;
            /**
             * Format: date-time
             * @description When it was created, UTC.
             */
            createdAt: string;
            /** @description When the final state was reached, UTC; null until then. */
            completedAt?: string | null;
            /** @description Your correlation id, 1 to 100 characters. Not unique; commands can be found by it. */
            requestId?: string;
            /**
             * Format: uuid
             * @description Id of the trading server.
             */
            serverId: string;
            /** @description Number of the account on its server; null for a creation until it has succeeded, and for a command on a risk template. */
            accountNumber?: string | null;
            /**
             * Format: date-time
             * @description When it was last changed, UTC.
             */
            updatedAt?: string;
            /**
             * Format: date-time
             * @description When the command expires if it was not carried out before, UTC.
             */
            deadlineAt?: string;
            /** @description Who caused it; null or absent if it was not requested through kapi, or if an earlier release recorded it. */
            createdBy?: components["schemas"]["Actor"] | null;
        };
        /** @description An export of an account's history. */
        AccountHistoryExportCommand: {
            /**
             * Format: uuid
             * @description Its id, a UUID.
             */
            id: string;
            /**
             * @description What the command does. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            operation: "account.history_export";
            /** @description State of the command: `succeeded`, `failed` and `expired` are final. */
            status: components["schemas"]["CommandStatus"];
            /** @description Id of the account, a UUID; null if it was unknown when the command was queued. */
            managedAccountId?: string | null;
            /** @description How often kapi has begun to carry the command out. */
            attempts: number;
            /** @description The request, without `requestId` and passwords. */
            payload?: {
                /** @description Records at or after this time, UTC; null or omitted: no start. */
                from?: string | null;
                /** @description Records at or before this time, UTC; null or omitted: no end. */
                to?: string | null;
                /** @description Maximum number of records. */
                limit: number;
            };
            /** @description What a succeeded command returns; null otherwise, and once its details are no longer kept. */
            result: components["schemas"]["HistoryExport"] | null;
            /** @description Why the command failed, for programs; null unless it failed. */
            errorCode: components["schemas"]["CommandErrorCode"] | null;
            /** @description Why the command failed or expired, for people; null otherwise. */
            errorMessage?: string | null;
            /** @description The key of the request; an item of a bulk has `<key>:<index>`. */
            idempotencyKey: string;
            /**
             * Format: date-time
             * @description When it was created, UTC.
             */
            createdAt: string;
            /** @description When the final state was reached, UTC; null until then. */
            completedAt?: string | null;
            /** @description Your correlation id, 1 to 100 characters. Not unique; commands can be found by it. */
            requestId?: string;
            /**
             * Format: uuid
             * @description Id of the trading server.
             */
            serverId: string;
            /** @description Number of the account on its server; null for a creation until it has succeeded, and for a command on a risk template. */
            accountNumber?: string | null;
            /**
             * Format: date-time
             * @description When it was last changed, UTC.
             */
            updatedAt?: string;
            /**
             * Format: date-time
             * @description When the command expires if it was not carried out before, UTC.
             */
            deadlineAt?: string;
            /** @description Who caused it; null or absent if it was not requested through kapi, or if an earlier release recorded it. */
            createdBy?: components["schemas"]["Actor"] | null;
        };
        /** @description A deposit. */
        FinanceDepositCommand: {
            /**
             * Format: uuid
             * @description Its id, a UUID.
             */
            id: string;
            /**
             * @description What the command does. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            operation: "finance.deposit";
            /** @description State of the command: `succeeded`, `failed` and `expired` are final. */
            status: components["schemas"]["CommandStatus"];
            /** @description Id of the account, a UUID; null if it was unknown when the command was queued. */
            managedAccountId?: string | null;
            /** @description How often kapi has begun to carry the command out. */
            attempts: number;
            /** @description The request, without `requestId` and passwords. */
            payload?: {
                /** @description Amount of money. In units of the account's currency, with two decimals. */
                amount: Money;
                /** @description Free text, at most 250 characters. */
                description?: string;
            };
            /** @description What a succeeded command returns; null otherwise, and once its details are no longer kept. */
            result: components["schemas"]["FundsResult"] | null;
            /** @description Why the command failed, for programs; null unless it failed. */
            errorCode: components["schemas"]["CommandErrorCode"] | null;
            /** @description Why the command failed or expired, for people; null otherwise. */
            errorMessage?: string | null;
            /** @description The key of the request; an item of a bulk has `<key>:<index>`. */
            idempotencyKey: string;
            /**
             * Format: date-time
             * @description When it was created, UTC.
             */
            createdAt: string;
            /** @description When the final state was reached, UTC; null until then. */
            completedAt?: string | null;
            /** @description Your correlation id, 1 to 100 characters. Not unique; commands can be found by it. */
            requestId?: string;
            /**
             * Format: uuid
             * @description Id of the trading server.
             */
            serverId: string;
            /** @description Number of the account on its server; null for a creation until it has succeeded, and for a command on a risk template. */
            accountNumber?: string | null;
            /**
             * Format: date-time
             * @description When it was last changed, UTC.
             */
            updatedAt?: string;
            /**
             * Format: date-time
             * @description When the command expires if it was not carried out before, UTC.
             */
            deadlineAt?: string;
            /** @description Who caused it; null or absent if it was not requested through kapi, or if an earlier release recorded it. */
            createdBy?: components["schemas"]["Actor"] | null;
        };
        /** @description A withdrawal. */
        FinanceWithdrawCommand: {
            /**
             * Format: uuid
             * @description Its id, a UUID.
             */
            id: string;
            /**
             * @description What the command does. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            operation: "finance.withdraw";
            /** @description State of the command: `succeeded`, `failed` and `expired` are final. */
            status: components["schemas"]["CommandStatus"];
            /** @description Id of the account, a UUID; null if it was unknown when the command was queued. */
            managedAccountId?: string | null;
            /** @description How often kapi has begun to carry the command out. */
            attempts: number;
            /** @description The request, without `requestId` and passwords. */
            payload?: {
                /** @description Amount of money. In units of the account's currency, with two decimals. */
                amount: Money;
                /** @description Free text, at most 250 characters. */
                description?: string;
            };
            /** @description What a succeeded command returns; null otherwise, and once its details are no longer kept. */
            result: components["schemas"]["FundsResult"] | null;
            /** @description Why the command failed, for programs; null unless it failed. */
            errorCode: components["schemas"]["CommandErrorCode"] | null;
            /** @description Why the command failed or expired, for people; null otherwise. */
            errorMessage?: string | null;
            /** @description The key of the request; an item of a bulk has `<key>:<index>`. */
            idempotencyKey: string;
            /**
             * Format: date-time
             * @description When it was created, UTC.
             */
            createdAt: string;
            /** @description When the final state was reached, UTC; null until then. */
            completedAt?: string | null;
            /** @description Your correlation id, 1 to 100 characters. Not unique; commands can be found by it. */
            requestId?: string;
            /**
             * Format: uuid
             * @description Id of the trading server.
             */
            serverId: string;
            /** @description Number of the account on its server; null for a creation until it has succeeded, and for a command on a risk template. */
            accountNumber?: string | null;
            /**
             * Format: date-time
             * @description When it was last changed, UTC.
             */
            updatedAt?: string;
            /**
             * Format: date-time
             * @description When the command expires if it was not carried out before, UTC.
             */
            deadlineAt?: string;
            /** @description Who caused it; null or absent if it was not requested through kapi, or if an earlier release recorded it. */
            createdBy?: components["schemas"]["Actor"] | null;
        };
        /** @description A change of the risk rules of an account. */
        RiskSetRulesCommand: {
            /**
             * Format: uuid
             * @description Its id, a UUID.
             */
            id: string;
            /**
             * @description What the command does. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            operation: "risk.set_rules";
            /** @description State of the command: `succeeded`, `failed` and `expired` are final. */
            status: components["schemas"]["CommandStatus"];
            /** @description Id of the account, a UUID; null if it was unknown when the command was queued. */
            managedAccountId?: string | null;
            /** @description How often kapi has begun to carry the command out. */
            attempts: number;
            /** @description The request, without `requestId` and passwords. */
            payload?: {
                /** @description The rules, 1 to 10. */
                rules: components["schemas"]["RiskRule"][];
            };
            /** @description What a succeeded command returns; null otherwise, and once its details are no longer kept. */
            result: components["schemas"]["RiskRulesResult"] | null;
            /** @description Why the command failed, for programs; null unless it failed. */
            errorCode: components["schemas"]["CommandErrorCode"] | null;
            /** @description Why the command failed or expired, for people; null otherwise. */
            errorMessage?: string | null;
            /** @description The key of the request; an item of a bulk has `<key>:<index>`. */
            idempotencyKey: string;
            /**
             * Format: date-time
             * @description When it was created, UTC.
             */
            createdAt: string;
            /** @description When the final state was reached, UTC; null until then. */
            completedAt?: string | null;
            /** @description Your correlation id, 1 to 100 characters. Not unique; commands can be found by it. */
            requestId?: string;
            /**
             * Format: uuid
             * @description Id of the trading server.
             */
            serverId: string;
            /** @description Number of the account on its server; null for a creation until it has succeeded, and for a command on a risk template. */
            accountNumber?: string | null;
            /**
             * Format: date-time
             * @description When it was last changed, UTC.
             */
            updatedAt?: string;
            /**
             * Format: date-time
             * @description When the command expires if it was not carried out before, UTC.
             */
            deadlineAt?: string;
            /** @description Who caused it; null or absent if it was not requested through kapi, or if an earlier release recorded it. */
            createdBy?: components["schemas"]["Actor"] | null;
        };
        /** @description The removal of the risk rules of an account. */
        RiskDeleteRulesCommand: {
            /**
             * Format: uuid
             * @description Its id, a UUID.
             */
            id: string;
            /**
             * @description What the command does. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            operation: "risk.delete_rules";
            /** @description State of the command: `succeeded`, `failed` and `expired` are final. */
            status: components["schemas"]["CommandStatus"];
            /** @description Id of the account, a UUID; null if it was unknown when the command was queued. */
            managedAccountId?: string | null;
            /** @description How often kapi has begun to carry the command out. */
            attempts: number;
            /** @description The request, without `requestId` and passwords. */
            payload?: {
                /** @description True: the account gets the rules of the template that matches it. */
                useTemplate?: boolean;
            };
            /** @description What a succeeded command returns; null otherwise, and once its details are no longer kept. */
            result: components["schemas"]["RiskRulesResult"] | null;
            /** @description Why the command failed, for programs; null unless it failed. */
            errorCode: components["schemas"]["CommandErrorCode"] | null;
            /** @description Why the command failed or expired, for people; null otherwise. */
            errorMessage?: string | null;
            /** @description The key of the request; an item of a bulk has `<key>:<index>`. */
            idempotencyKey: string;
            /**
             * Format: date-time
             * @description When it was created, UTC.
             */
            createdAt: string;
            /** @description When the final state was reached, UTC; null until then. */
            completedAt?: string | null;
            /** @description Your correlation id, 1 to 100 characters. Not unique; commands can be found by it. */
            requestId?: string;
            /**
             * Format: uuid
             * @description Id of the trading server.
             */
            serverId: string;
            /** @description Number of the account on its server; null for a creation until it has succeeded, and for a command on a risk template. */
            accountNumber?: string | null;
            /**
             * Format: date-time
             * @description When it was last changed, UTC.
             */
            updatedAt?: string;
            /**
             * Format: date-time
             * @description When the command expires if it was not carried out before, UTC.
             */
            deadlineAt?: string;
            /** @description Who caused it; null or absent if it was not requested through kapi, or if an earlier release recorded it. */
            createdBy?: components["schemas"]["Actor"] | null;
        };
        /** @description A change of a risk template. */
        RiskSetTemplateCommand: {
            /**
             * Format: uuid
             * @description Its id, a UUID.
             */
            id: string;
            /**
             * @description What the command does. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            operation: "risk.set_template";
            /** @description State of the command: `succeeded`, `failed` and `expired` are final. */
            status: components["schemas"]["CommandStatus"];
            /** @description Id of the account, a UUID; null if it was unknown when the command was queued. */
            managedAccountId?: string | null;
            /** @description How often kapi has begun to carry the command out. */
            attempts: number;
            /** @description The request, without `requestId` and passwords. */
            payload?: {
                /** @description The rules, 1 to 10. */
                rules: components["schemas"]["RiskRule"][];
                /** @description The accounts that the template applies to. */
                appliesTo: components["schemas"]["RiskTemplateSelection"];
                /** @description Whether the template applies to accounts that are created, or begin to match, later. */
                newAccounts: boolean;
                /** @description Name of the template. */
                name: string;
            };
            /** @description What a succeeded command returns; null otherwise, and once its details are no longer kept. */
            result: components["schemas"]["RiskSetTemplateResult"] | null;
            /** @description Why the command failed, for programs; null unless it failed. */
            errorCode: components["schemas"]["CommandErrorCode"] | null;
            /** @description Why the command failed or expired, for people; null otherwise. */
            errorMessage?: string | null;
            /** @description The key of the request; an item of a bulk has `<key>:<index>`. */
            idempotencyKey: string;
            /**
             * Format: date-time
             * @description When it was created, UTC.
             */
            createdAt: string;
            /** @description When the final state was reached, UTC; null until then. */
            completedAt?: string | null;
            /** @description Your correlation id, 1 to 100 characters. Not unique; commands can be found by it. */
            requestId?: string;
            /**
             * Format: uuid
             * @description Id of the trading server.
             */
            serverId: string;
            /** @description Number of the account on its server; null for a creation until it has succeeded, and for a command on a risk template. */
            accountNumber?: string | null;
            /**
             * Format: date-time
             * @description When it was last changed, UTC.
             */
            updatedAt?: string;
            /**
             * Format: date-time
             * @description When the command expires if it was not carried out before, UTC.
             */
            deadlineAt?: string;
            /** @description Who caused it; null or absent if it was not requested through kapi, or if an earlier release recorded it. */
            createdBy?: components["schemas"]["Actor"] | null;
        };
        /** @description The deletion of a risk template. */
        RiskDeleteTemplateCommand: {
            /**
             * Format: uuid
             * @description Its id, a UUID.
             */
            id: string;
            /**
             * @description What the command does. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            operation: "risk.delete_template";
            /** @description State of the command: `succeeded`, `failed` and `expired` are final. */
            status: components["schemas"]["CommandStatus"];
            /** @description Id of the account, a UUID; null if it was unknown when the command was queued. */
            managedAccountId?: string | null;
            /** @description How often kapi has begun to carry the command out. */
            attempts: number;
            /** @description The request, without `requestId` and passwords. */
            payload?: {
                /** @description Name of the template. */
                name: string;
                /** @description What happens to the rules that accounts have from the template. */
                accountRules: components["schemas"]["TemplateAccountRules"];
            };
            /** @description What a succeeded command returns; null otherwise, and once its details are no longer kept. */
            result: components["schemas"]["RiskDeleteTemplateResult"] | null;
            /** @description Why the command failed, for programs; null unless it failed. */
            errorCode: components["schemas"]["CommandErrorCode"] | null;
            /** @description Why the command failed or expired, for people; null otherwise. */
            errorMessage?: string | null;
            /** @description The key of the request; an item of a bulk has `<key>:<index>`. */
            idempotencyKey: string;
            /**
             * Format: date-time
             * @description When it was created, UTC.
             */
            createdAt: string;
            /** @description When the final state was reached, UTC; null until then. */
            completedAt?: string | null;
            /** @description Your correlation id, 1 to 100 characters. Not unique; commands can be found by it. */
            requestId?: string;
            /**
             * Format: uuid
             * @description Id of the trading server.
             */
            serverId: string;
            /** @description Number of the account on its server; null for a creation until it has succeeded, and for a command on a risk template. */
            accountNumber?: string | null;
            /**
             * Format: date-time
             * @description When it was last changed, UTC.
             */
            updatedAt?: string;
            /**
             * Format: date-time
             * @description When the command expires if it was not carried out before, UTC.
             */
            deadlineAt?: string;
            /** @description Who caused it; null or absent if it was not requested through kapi, or if an earlier release recorded it. */
            createdBy?: components["schemas"]["Actor"] | null;
        };
        /** @description A transaction in an export. */
        TransactionRecord: {
            /**
             * Format: uuid
             * @description Its id, a UUID.
             */
            id: string;
            /** @description Number of the account on its server. */
            accountNumber: string;
            /** @description Number of the transaction on its account, from 1, without a gap. */
            sequence: number;
            /** @description Why the balance changed. */
            type: components["schemas"]["TransactionType"];
            /** @description Change of the balance, negative for money that leaves. In units of the account's currency, with two decimals. */
            amount: Money;
            /** @description Currency of all amounts of the account or server. */
            currency: components["schemas"]["Currency"];
            /** @description Balance of the account before the transaction. In units of the account's currency, with two decimals. */
            balanceBefore: Money;
            /** @description Balance of the account after the transaction. In units of the account's currency, with two decimals. */
            balanceAfter: Money;
            /** @description Text of the request, or of the trading server; null if there is none. */
            description: string | null;
            /** @description `requestId` of the request that caused it; null if none did. */
            requestId: string | null;
            /** @description Id of the command that caused it; null if no command did. */
            commandId: string | null;
            /** @description Id of the order that caused it; null if none did. */
            orderId: string | null;
            /** @description Id of the position that caused it; null if none did. */
            positionId: string | null;
            /** @description Id of the deal that caused it; null if none did. */
            dealId: string | null;
            /** @description Id of the transaction that this one reverses; null if it reverses none. */
            reversalOf: string | null;
            /** @description Who caused it; null or absent if it was not requested through kapi, or if an earlier release recorded it. */
            createdBy?: components["schemas"]["Actor"] | null;
            /**
             * Format: date-time
             * @description When the trading server recorded it, UTC.
             */
            recordedAt: string;
            /**
             * Format: date-time
             * @description When it was created, UTC.
             */
            createdAt: string;
            /**
             * @description Kind of the record: which fields it has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            kind: "transaction";
        };
        /** @description An order in an export. */
        OrderRecord: {
            /** @description Id of the order on the trading server. */
            id: string;
            /** @description Name of the instrument, such as EURUSD. */
            symbol: string;
            /** @description buy or sell. */
            side: string;
            /** @description Type of the order, such as market, limit or stop. */
            orderType: string;
            /** @description Volume, in lots. */
            volume: number;
            /** @description State of the order, such as placed, executed or cancelled. */
            status: string;
            /**
             * Format: date-time
             * @description When it was created, UTC.
             */
            createdAt: string;
            /** @description When the order was executed, UTC; null until then. */
            executedAt: string | null;
            /**
             * @description Kind of the record: which fields it has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            kind: "order";
        };
        /** @description A position in an export. */
        PositionRecord: {
            /** @description Id of the position on the trading server. */
            id: string;
            /** @description Id of the order that caused it. */
            orderId: string;
            /** @description Name of the instrument, such as EURUSD. */
            symbol: string;
            /** @description buy or sell. */
            side: string;
            /** @description Volume that was opened, in lots. */
            volume: number;
            /**
             * @description Volume that was closed since the opening, in lots.
             * @default 0
             */
            closedVolume: number;
            /** @description Price of the opening, in the symbol's quote currency. */
            openPrice: number;
            /** @description `open` until the whole volume is closed. */
            status: components["schemas"]["PositionStatus"];
            /**
             * Format: date-time
             * @description When the position was opened, UTC.
             */
            openedAt: string;
            /** @description When the position was closed completely, UTC; null while it is open. */
            closedAt: string | null;
            /**
             * @description Kind of the record: which fields it has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            kind: "position";
        };
        /** @description A deal in an export. Its own kind is `dealKind`. */
        DealRecord: {
            /** @description Id of the deal on the trading server. */
            id: string;
            /** @description Id of the order that caused it. */
            orderId: string;
            /** @description Id of the position that it opened, reduced or closed. */
            positionId: string;
            /** @description Name of the instrument, such as EURUSD. */
            symbol: string;
            /** @description buy or sell. */
            side: string;
            /**
             * @description Kind of the record: which fields it has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            kind: "deal";
            /** @description Volume, in lots. */
            volume: number;
            /** @description Price of the execution, in the symbol's quote currency. */
            price: number;
            /** @description Commission, negative for a cost. In units of the account's currency, with two decimals. */
            commission: Money;
            /** @description Profit or loss of the execution, without commission and swap. In units of the account's currency, with two decimals. */
            realizedPnl: Money;
            /** @description Interest for holding the position over night, negative for a cost. In units of the account's currency, with two decimals. */
            swap: Money;
            /**
             * Format: date-time
             * @description When it was executed, UTC.
             */
            executedAt: string;
            /** @description Kind of the deal: entry, exit or partial close. */
            dealKind: string;
        };
        /** @description A limit of the loss since the start of the day. */
        DailyLossRule: {
            /** @description Your id of the rule, unique among the rules of the account. */
            id: string;
            /** @description Percent of the limit at which `risk.warning` is sent, 1 to 99; absent: no warning. */
            warnAt?: number;
            /** @description What kapi does when the rule is breached. */
            action: components["schemas"]["RiskAction"];
            /**
             * @description Kind of the rule. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "dailyLoss";
            /** @description The loss that breaches the rule. A loss that equals the limit breaches it. */
            limit: components["schemas"]["RiskLimit"];
            /** @description Value at the start of the day from which the loss counts; `higher`: the higher one of equity and balance. */
            basis: components["schemas"]["DailyLossBasis"];
            /**
             * @description IANA name of the time zone of the day, such as `Europe/Prague`.
             * @default UTC
             */
            timeZone?: string;
            /**
             * @description Local time at which a day starts. If daylight saving time skips it, the day starts at the first instant after the gap; if it is repeated, at its first occurrence.
             * @default 00:00
             */
            dayStart?: string;
        };
        /** @description A limit of the loss from a fixed value, or from the highest value. */
        MaxLossRule: {
            /** @description Your id of the rule, unique among the rules of the account. */
            id: string;
            /** @description Percent of the limit at which `risk.warning` is sent, 1 to 99; absent: no warning. */
            warnAt?: number;
            /** @description What kapi does when the rule is breached. */
            action: components["schemas"]["RiskAction"];
            /**
             * @description Kind of the rule. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "maxLoss";
            /** @description The loss that breaches the rule. A loss that equals the limit breaches it. */
            limit: components["schemas"]["RiskLimit"];
            /** @description Absent: the loss counts from `startValue`. `equity` or `balance`: from its highest value since the rule was set, and at least from `startValue`. */
            trailing?: components["schemas"]["RiskBasis"];
            /** @description Value from which the loss or profit counts. Deposits and withdrawals after the rule is set change this value. Absent: the initial balance of the account. In units of the account's currency, with two decimals. */
            startValue?: Money;
            /** @description Only with `trailing`: the threshold never rises above this value, plus the deposits minus the withdrawals since the rule was set. In units of the account's currency, with two decimals. */
            lockAt?: Money;
        };
        /** @description A profit that is reported like a breach. */
        ProfitTargetRule: {
            /** @description Your id of the rule, unique among the rules of the account. */
            id: string;
            /** @description Percent of the limit at which `risk.warning` is sent, 1 to 99; absent: no warning. */
            warnAt?: number;
            /** @description What kapi does when the rule is breached. */
            action: components["schemas"]["RiskAction"];
            /**
             * @description Kind of the rule. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "profitTarget";
            /** @description The profit at which the rule counts as breached. */
            target: components["schemas"]["RiskLimit"];
            /** @description Value that must reach the target. */
            basis: components["schemas"]["RiskBasis"];
            /** @description Value from which the loss or profit counts. Deposits and withdrawals after the rule is set change this value. Absent: the initial balance of the account. In units of the account's currency, with two decimals. */
            startValue?: Money;
        };
        /** @description A change of an account, with the account after it. */
        AccountEvent: {
            /**
             * @description Kind of the event: what happened, and which fields `data` has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "account.created" | "account.updated" | "account.enabled" | "account.close_only" | "account.disabled" | "account.archived" | "account.deleted";
            /**
             * Format: date-time
             * @description When the event happened, UTC.
             */
            timestamp: string;
            /** @description What happened. */
            data: {
                /**
                 * Format: uuid
                 * @description Id of the event, a UUID: drop an event whose id you have already processed.
                 */
                eventId: string;
                /**
                 * Format: uuid
                 * @description Id of your organization.
                 */
                organizationId: string;
                /** @description Id of the trading server; null if the event concerns no server. */
                serverId: string | null;
                /** @description Number of the account on its server; null if the event concerns no account. */
                accountNumber: string | null;
                /** @description Counts the account's events of all kinds but those of commands and risk, from 1, without a gap, in the order in which they happened; null for events of commands and risk, and for events without an account. */
                accountSequence: number | null;
                /**
                 * Format: uuid
                 * @description Id of the account, a UUID. It never changes.
                 */
                accountId: string;
                /** @description Counts the changes of the account, from 1. */
                version: number;
                /** @description Name of the account, 1 to 100 characters. */
                accountName: string;
                /** @description State of the account after the event. */
                status: components["schemas"]["AccountEventStatus"];
                /** @description Leverage: 100 means 1:100. */
                leverage: number;
            };
        };
        /** @description A change of a password, without the password. */
        PasswordChangedEvent: {
            /**
             * @description Kind of the event: what happened, and which fields `data` has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "account.password_changed";
            /**
             * Format: date-time
             * @description When the event happened, UTC.
             */
            timestamp: string;
            /** @description What happened. */
            data: {
                /**
                 * Format: uuid
                 * @description Id of the event, a UUID: drop an event whose id you have already processed.
                 */
                eventId: string;
                /**
                 * Format: uuid
                 * @description Id of your organization.
                 */
                organizationId: string;
                /** @description Id of the trading server; null if the event concerns no server. */
                serverId: string | null;
                /** @description Number of the account on its server; null if the event concerns no account. */
                accountNumber: string | null;
                /** @description Counts the account's events of all kinds but those of commands and risk, from 1, without a gap, in the order in which they happened; null for events of commands and risk, and for events without an account. */
                accountSequence: number | null;
                /**
                 * Format: uuid
                 * @description Id of the account, a UUID. It never changes.
                 */
                accountId: string;
                /** @description Counts the changes of the account, from 1. */
                version: number;
                /** @description Name of the account, 1 to 100 characters. */
                accountName: string;
                /** @description State of the account after the event. */
                status: components["schemas"]["AccountEventStatus"];
                /** @description Leverage: 100 means 1:100. */
                leverage: number;
                /** @description Which password was changed. */
                passwordKind: components["schemas"]["PasswordKind"];
            };
        };
        /** @description An order that was executed or cancelled. */
        OrderEvent: {
            /**
             * @description Kind of the event: what happened, and which fields `data` has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "order.executed" | "order.cancelled";
            /**
             * Format: date-time
             * @description When the event happened, UTC.
             */
            timestamp: string;
            /** @description What happened. */
            data: {
                /**
                 * Format: uuid
                 * @description Id of the event, a UUID: drop an event whose id you have already processed.
                 */
                eventId: string;
                /**
                 * Format: uuid
                 * @description Id of your organization.
                 */
                organizationId: string;
                /** @description Id of the trading server; null if the event concerns no server. */
                serverId: string | null;
                /** @description Number of the account on its server; null if the event concerns no account. */
                accountNumber: string | null;
                /** @description Counts the account's events of all kinds but those of commands and risk, from 1, without a gap, in the order in which they happened; null for events of commands and risk, and for events without an account. */
                accountSequence: number | null;
                /** @description Id of the order on the trading server. */
                id: string;
                /** @description Name of the instrument, such as EURUSD. */
                symbol: string;
                /** @description buy or sell. */
                side: string;
                /** @description Type of the order, such as market, limit or stop. */
                orderType: string;
                /** @description Volume, in lots. */
                volume: number;
                /** @description State of the order, such as placed, executed or cancelled. */
                status: string;
                /**
                 * Format: date-time
                 * @description When it was created, UTC.
                 */
                createdAt: string;
                /** @description When the order was executed, UTC; null until then. */
                executedAt: string | null;
            };
        };
        /** @description A position that was opened, or closed in part. */
        PositionEvent: {
            /**
             * @description Kind of the event: what happened, and which fields `data` has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "position.opened" | "position.updated";
            /**
             * Format: date-time
             * @description When the event happened, UTC.
             */
            timestamp: string;
            /** @description What happened. */
            data: {
                /**
                 * Format: uuid
                 * @description Id of the event, a UUID: drop an event whose id you have already processed.
                 */
                eventId: string;
                /**
                 * Format: uuid
                 * @description Id of your organization.
                 */
                organizationId: string;
                /** @description Id of the trading server; null if the event concerns no server. */
                serverId: string | null;
                /** @description Number of the account on its server; null if the event concerns no account. */
                accountNumber: string | null;
                /** @description Counts the account's events of all kinds but those of commands and risk, from 1, without a gap, in the order in which they happened; null for events of commands and risk, and for events without an account. */
                accountSequence: number | null;
                /** @description Id of the position on the trading server. */
                id: string;
                /** @description Id of the order that caused it. */
                orderId: string;
                /** @description Name of the instrument, such as EURUSD. */
                symbol: string;
                /** @description buy or sell. */
                side: string;
                /** @description Volume that was opened, in lots. */
                volume: number;
                /** @description Volume that was closed since the opening, in lots. */
                closedVolume: number;
                /** @description Price of the opening, in the symbol's quote currency. */
                openPrice: number;
                /** @description `open` until the whole volume is closed. */
                status: components["schemas"]["PositionStatus"];
                /**
                 * Format: date-time
                 * @description When the position was opened, UTC.
                 */
                openedAt: string;
                /** @description When the position was closed completely, UTC; null while it is open. */
                closedAt: string | null;
            };
        };
        /** @description A position that was closed completely. */
        PositionClosedEvent: {
            /**
             * @description Kind of the event: what happened, and which fields `data` has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "position.closed";
            /**
             * Format: date-time
             * @description When the event happened, UTC.
             */
            timestamp: string;
            /** @description What happened. */
            data: {
                /**
                 * Format: uuid
                 * @description Id of the event, a UUID: drop an event whose id you have already processed.
                 */
                eventId: string;
                /**
                 * Format: uuid
                 * @description Id of your organization.
                 */
                organizationId: string;
                /** @description Id of the trading server; null if the event concerns no server. */
                serverId: string | null;
                /** @description Number of the account on its server; null if the event concerns no account. */
                accountNumber: string | null;
                /** @description Counts the account's events of all kinds but those of commands and risk, from 1, without a gap, in the order in which they happened; null for events of commands and risk, and for events without an account. */
                accountSequence: number | null;
                /** @description Id of the position on the trading server. */
                id: string;
                /** @description Id of the order that caused it. */
                orderId: string;
                /** @description Name of the instrument, such as EURUSD. */
                symbol: string;
                /** @description buy or sell. */
                side: string;
                /** @description Volume that was opened, in lots. */
                volume: number;
                /** @description Volume that was closed since the opening, in lots. */
                closedVolume: number;
                /** @description Price of the opening, in the symbol's quote currency. */
                openPrice: number;
                /** @description Always `closed`. */
                status: components["schemas"]["PositionStatus"];
                /**
                 * Format: date-time
                 * @description When the position was opened, UTC.
                 */
                openedAt: string;
                /** @description When the position was closed completely, UTC; null while it is open. */
                closedAt: string | null;
                /** @description Ids of all deals of the position, the entry first. */
                dealIds: string[];
                /** @description Number of open positions. */
                openPositionCount: number;
            };
        };
        /** @description One execution. */
        DealEvent: {
            /**
             * @description Kind of the event: what happened, and which fields `data` has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "deal.executed";
            /**
             * Format: date-time
             * @description When the event happened, UTC.
             */
            timestamp: string;
            /** @description What happened. */
            data: {
                /**
                 * Format: uuid
                 * @description Id of the event, a UUID: drop an event whose id you have already processed.
                 */
                eventId: string;
                /**
                 * Format: uuid
                 * @description Id of your organization.
                 */
                organizationId: string;
                /** @description Id of the trading server; null if the event concerns no server. */
                serverId: string | null;
                /** @description Number of the account on its server; null if the event concerns no account. */
                accountNumber: string | null;
                /** @description Counts the account's events of all kinds but those of commands and risk, from 1, without a gap, in the order in which they happened; null for events of commands and risk, and for events without an account. */
                accountSequence: number | null;
                /** @description Id of the deal on the trading server. */
                id: string;
                /** @description Id of the order that caused it. */
                orderId: string;
                /** @description Id of the position that it opened, reduced or closed. */
                positionId: string;
                /** @description Name of the instrument, such as EURUSD. */
                symbol: string;
                /** @description buy or sell. */
                side: string;
                /** @description Kind of the deal: entry, exit or partial close. */
                kind: string;
                /** @description Volume, in lots. */
                volume: number;
                /** @description Price of the execution, in the symbol's quote currency. */
                price: number;
                /** @description Commission, negative for a cost. In units of the account's currency, with two decimals. */
                commission: Money;
                /** @description Profit or loss of the execution, without commission and swap. In units of the account's currency, with two decimals. */
                realizedPnl: Money;
                /** @description Interest for holding the position over night, negative for a cost. In units of the account's currency, with two decimals. */
                swap: Money;
                /**
                 * Format: date-time
                 * @description When it was executed, UTC.
                 */
                executedAt: string;
            };
        };
        /** @description A change of a balance. */
        TransactionEvent: {
            /**
             * @description Kind of the event: what happened, and which fields `data` has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "transaction.recorded";
            /**
             * Format: date-time
             * @description When the event happened, UTC.
             */
            timestamp: string;
            /** @description What happened. */
            data: {
                /**
                 * Format: uuid
                 * @description Id of the event, a UUID: drop an event whose id you have already processed.
                 */
                eventId: string;
                /**
                 * Format: uuid
                 * @description Id of your organization.
                 */
                organizationId: string;
                /** @description Id of the trading server; null if the event concerns no server. */
                serverId: string | null;
                /** @description Number of the account on its server. */
                accountNumber: string;
                /** @description Counts the account's events of all kinds but those of commands and risk, from 1, without a gap, in the order in which they happened; null for events of commands and risk, and for events without an account. */
                accountSequence: number | null;
                /**
                 * Format: uuid
                 * @description Its id, a UUID.
                 */
                id: string;
                /** @description Number of the transaction on its account, from 1, without a gap. */
                sequence: number;
                /** @description Why the balance changed. */
                type: components["schemas"]["TransactionType"];
                /** @description Change of the balance, negative for money that leaves. In units of the account's currency, with two decimals. */
                amount: Money;
                /** @description Currency of all amounts of the account or server. */
                currency: components["schemas"]["Currency"];
                /** @description Balance of the account before the transaction. In units of the account's currency, with two decimals. */
                balanceBefore: Money;
                /** @description Balance of the account after the transaction. In units of the account's currency, with two decimals. */
                balanceAfter: Money;
                /** @description Text of the request, or of the trading server; null if there is none. */
                description: string | null;
                /** @description `requestId` of the request that caused it; null if none did. */
                requestId: string | null;
                /** @description Id of the command that caused it; null if no command did. */
                commandId: string | null;
                /** @description Id of the order that caused it; null if none did. */
                orderId: string | null;
                /** @description Id of the position that caused it; null if none did. */
                positionId: string | null;
                /** @description Id of the deal that caused it; null if none did. */
                dealId: string | null;
                /** @description Id of the transaction that this one reverses; null if it reverses none. */
                reversalOf: string | null;
                /** @description Who caused it; null or absent if it was not requested through kapi, or if an earlier release recorded it. */
                createdBy?: components["schemas"]["Actor"] | null;
                /**
                 * Format: date-time
                 * @description When the trading server recorded it, UTC.
                 */
                recordedAt: string;
                /**
                 * Format: date-time
                 * @description When it was created, UTC.
                 */
                createdAt: string;
            };
        };
        /** @description A margin call or a stop out. */
        MarginEvent: {
            /**
             * @description Kind of the event: what happened, and which fields `data` has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "margin.call" | "margin.stop_out";
            /**
             * Format: date-time
             * @description When the event happened, UTC.
             */
            timestamp: string;
            /** @description What happened. */
            data: {
                /**
                 * Format: uuid
                 * @description Id of the event, a UUID: drop an event whose id you have already processed.
                 */
                eventId: string;
                /**
                 * Format: uuid
                 * @description Id of your organization.
                 */
                organizationId: string;
                /** @description Id of the trading server; null if the event concerns no server. */
                serverId: string | null;
                /** @description Number of the account on its server; null if the event concerns no account. */
                accountNumber: string | null;
                /** @description Counts the account's events of all kinds but those of commands and risk, from 1, without a gap, in the order in which they happened; null for events of commands and risk, and for events without an account. */
                accountSequence: number | null;
                /** @description Balance plus profit and swap of the open positions. In units of the account's currency, with two decimals. */
                equity: Money;
                /** @description The margin that open positions use. In units of the account's currency, with two decimals. */
                usedMargin: Money;
                /** @description Equity in percent of the used margin; 0 with no margin in use. */
                marginLevel: number;
            };
        };
        /** @description A risk rule that was breached, or whose warning is due. */
        RiskEvent: {
            /**
             * @description Kind of the event: what happened, and which fields `data` has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "risk.breached" | "risk.warning";
            /**
             * Format: date-time
             * @description When the event happened, UTC.
             */
            timestamp: string;
            /** @description What happened. */
            data: {
                /**
                 * Format: uuid
                 * @description Id of the event, a UUID: drop an event whose id you have already processed.
                 */
                eventId: string;
                /**
                 * Format: uuid
                 * @description Id of your organization.
                 */
                organizationId: string;
                /** @description Id of the trading server; null if the event concerns no server. */
                serverId: string | null;
                /** @description Number of the account on its server; null if the event concerns no account. */
                accountNumber: string | null;
                /** @description Counts the account's events of all kinds but those of commands and risk, from 1, without a gap, in the order in which they happened; null for events of commands and risk, and for events without an account. */
                accountSequence: number | null;
                /**
                 * Format: uuid
                 * @description Its id, a UUID.
                 */
                id: string;
                /** @description The rule as it was at the breach or warning. */
                rule: components["schemas"]["RiskRule"];
                /** @description Version of the rules. */
                ruleVersion: number;
                /** @description The day of a daily rule, by the local date of its start; `lifetime` for any other rule. */
                period: string;
                /** @description Value from which the loss or profit counts, with the deposits and withdrawals since that value was measured. In units of the account's currency, with two decimals. */
                reference: Money;
                /** @description Value at which the rule is breached. In units of the account's currency, with two decimals. */
                threshold: Money;
                /** @description Value that was compared. In units of the account's currency, with two decimals. */
                value: Money;
                /** @description Balance plus profit and swap of the open positions. In units of the account's currency, with two decimals. */
                equity: Money;
                /** @description Balance: all booked money, without open positions. In units of the account's currency, with two decimals. */
                balance: Money;
                /**
                 * Format: date-time
                 * @description When the trading server measured the values, UTC.
                 */
                measuredAt: string;
                /** @description What kapi does when the rule is breached. */
                action: components["schemas"]["RiskAction"];
                /** @description Id of the command of the action; null for `notify`, and for a warning. */
                commandId: string | null;
            };
        };
        /** @description The evidence of a breach was stored. */
        EvidenceEvent: {
            /**
             * @description Kind of the event: what happened, and which fields `data` has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "risk.evidence_stored";
            /**
             * Format: date-time
             * @description When the event happened, UTC.
             */
            timestamp: string;
            /** @description What happened. */
            data: {
                /**
                 * Format: uuid
                 * @description Its id, a UUID.
                 */
                id: string;
                /** @description The rule as it was at the breach or warning. */
                rule: components["schemas"]["RiskRule"];
                /** @description Version of the rules. */
                ruleVersion: number;
                /** @description The day of a daily rule, by the local date of its start; `lifetime` for any other rule. */
                period: string;
                /** @description Value from which the loss or profit counts, with the deposits and withdrawals since that value was measured. In units of the account's currency, with two decimals. */
                reference: Money;
                /** @description Value at which the rule is breached. In units of the account's currency, with two decimals. */
                threshold: Money;
                /** @description Value that was compared. In units of the account's currency, with two decimals. */
                value: Money;
                /** @description Balance plus profit and swap of the open positions. In units of the account's currency, with two decimals. */
                equity: Money;
                /** @description Balance: all booked money, without open positions. In units of the account's currency, with two decimals. */
                balance: Money;
                /**
                 * Format: date-time
                 * @description When the trading server measured the values, UTC.
                 */
                measuredAt: string;
                /** @description What kapi does when the rule is breached. */
                action: components["schemas"]["RiskAction"];
                /** @description Id of the command of the action; null for `notify`. */
                commandId: string | null;
                /** @description Id of the trading server; null if the event concerns no server. */
                serverId: string | null;
                /** @description Number of the account on its server; null if the event concerns no account. */
                accountNumber: string | null;
                /**
                 * Format: date-time
                 * @description When kapi recorded the breach, UTC.
                 */
                recordedAt: string;
                /** @description The evidence of the breach. */
                evidence: components["schemas"]["BreachEvidenceState"];
                /**
                 * Format: uuid
                 * @description Id of the event, a UUID: drop an event whose id you have already processed.
                 */
                eventId: string;
                /**
                 * Format: uuid
                 * @description Id of your organization.
                 */
                organizationId: string;
                /** @description Counts the account's events of all kinds but those of commands and risk, from 1, without a gap, in the order in which they happened; null for events of commands and risk, and for events without an account. */
                accountSequence: number | null;
            };
        };
        /** @description The organization has few credits left. */
        LowBalanceEvent: {
            /**
             * @description Kind of the event: what happened, and which fields `data` has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "credits.low_balance";
            /**
             * Format: date-time
             * @description When the event happened, UTC.
             */
            timestamp: string;
            /** @description What happened. */
            data: {
                /**
                 * Format: uuid
                 * @description Id of the event, a UUID: drop an event whose id you have already processed.
                 */
                eventId: string;
                /**
                 * Format: uuid
                 * @description Id of your organization.
                 */
                organizationId: string;
                /** @description Id of the trading server; null if the event concerns no server. */
                serverId: string | null;
                /** @description Number of the account on its server; null if the event concerns no account. */
                accountNumber: string | null;
                /** @description Counts the account's events of all kinds but those of commands and risk, from 1, without a gap, in the order in which they happened; null for events of commands and risk, and for events without an account. */
                accountSequence: number | null;
                /** @description Credits that can be spent now. */
                availableCredits: number;
                /** @description Credits at which the balance counts as low. */
                lowBalanceThreshold: number;
            };
        };
        /** @description An event that you asked for, to test an endpoint. */
        TestEvent: {
            /**
             * @description Kind of the event: what happened, and which fields `data` has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "webhook.test";
            /**
             * Format: date-time
             * @description When the event happened, UTC.
             */
            timestamp: string;
            /** @description What happened. */
            data: {
                /**
                 * Format: uuid
                 * @description Id of the event, a UUID: drop an event whose id you have already processed.
                 */
                eventId: string;
                /**
                 * Format: uuid
                 * @description Id of your organization.
                 */
                organizationId: string;
                /** @description Id of the trading server; null if the event concerns no server. */
                serverId: string | null;
                /** @description Number of the account on its server; null if the event concerns no account. */
                accountNumber: string | null;
                /** @description Counts the account's events of all kinds but those of commands and risk, from 1, without a gap, in the order in which they happened; null for events of commands and risk, and for events without an account. */
                accountSequence: number | null;
                /**
                 * Format: uuid
                 * @description Id of the endpoint.
                 */
                endpointId: string;
            };
        };
        /** @description A command that reached its final state. */
        CommandEvent: {
            /**
             * @description Kind of the event: what happened, and which fields `data` has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "command.succeeded" | "command.failed" | "command.expired";
            /**
             * Format: date-time
             * @description When the event happened, UTC.
             */
            timestamp: string;
            /** @description What happened. */
            data: {
                /**
                 * Format: uuid
                 * @description Id of the event, a UUID: drop an event whose id you have already processed.
                 */
                eventId: string;
                /**
                 * Format: uuid
                 * @description Id of your organization.
                 */
                organizationId: string;
                /** @description Id of the trading server; null if the event concerns no server. */
                serverId: string | null;
                /** @description Number of the account on its server; null for a creation until it has succeeded, and for a command on a risk template. */
                accountNumber: string | null;
                /** @description Counts the account's events of all kinds but those of commands and risk, from 1, without a gap, in the order in which they happened; null for events of commands and risk, and for events without an account. */
                accountSequence: number | null;
                /**
                 * Format: uuid
                 * @description Id of the command.
                 */
                commandId: string;
                /** @description Id of the account, a UUID; null if it was unknown when the command was queued. */
                managedAccountId: string | null;
                /** @description What the command does. */
                operation: components["schemas"]["CommandOperation"];
                /** @description The final state. */
                status: components["schemas"]["FinalCommandStatus"];
                /** @description How often kapi has begun to carry the command out. */
                attempts: number;
                /** @description What the command returns; null also for a large result, such as an export: `getCommand` returns it. */
                result: {
                    [key: string]: unknown;
                } | null;
                /** @description Whether the result was too large for the event. */
                resultOmitted: boolean;
                /** @description Why the command failed, for programs; null unless it failed. */
                errorCode: components["schemas"]["CommandErrorCode"] | null;
                /** @description Why the command failed or expired, for people; null otherwise. */
                errorMessage: string | null;
                /** @description Who caused it; null or absent if it was not requested through kapi, or if an earlier release recorded it. */
                createdBy?: components["schemas"]["Actor"] | null;
            };
        };
        /** @description A change of an account, with the account after it. */
        FeedAccountEvent: {
            /**
             * Format: uuid
             * @description Id of the event: the `webhook-id` of its deliveries.
             */
            id: string;
            /** @description Position after this event: send it as `after` to continue. */
            cursor: string;
            /**
             * @description Kind of the event: what happened, and which fields `data` has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "account.created" | "account.updated" | "account.enabled" | "account.close_only" | "account.disabled" | "account.archived" | "account.deleted";
            /**
             * Format: date-time
             * @description When the event happened, UTC.
             */
            timestamp: string;
            /** @description What happened. */
            data: {
                /**
                 * Format: uuid
                 * @description Id of the event, a UUID: drop an event whose id you have already processed.
                 */
                eventId: string;
                /**
                 * Format: uuid
                 * @description Id of your organization.
                 */
                organizationId: string;
                /** @description Id of the trading server; null if the event concerns no server. */
                serverId: string | null;
                /** @description Number of the account on its server; null if the event concerns no account. */
                accountNumber: string | null;
                /** @description Counts the account's events of all kinds but those of commands and risk, from 1, without a gap, in the order in which they happened; null for events of commands and risk, and for events without an account. */
                accountSequence: number | null;
                /**
                 * Format: uuid
                 * @description Id of the account, a UUID. It never changes.
                 */
                accountId: string;
                /** @description Counts the changes of the account, from 1. */
                version: number;
                /** @description Name of the account, 1 to 100 characters. */
                accountName: string;
                /** @description State of the account after the event. */
                status: components["schemas"]["AccountEventStatus"];
                /** @description Leverage: 100 means 1:100. */
                leverage: number;
            };
        };
        /** @description A change of a password, without the password. */
        FeedPasswordChangedEvent: {
            /**
             * Format: uuid
             * @description Id of the event: the `webhook-id` of its deliveries.
             */
            id: string;
            /** @description Position after this event: send it as `after` to continue. */
            cursor: string;
            /**
             * @description Kind of the event: what happened, and which fields `data` has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "account.password_changed";
            /**
             * Format: date-time
             * @description When the event happened, UTC.
             */
            timestamp: string;
            /** @description What happened. */
            data: {
                /**
                 * Format: uuid
                 * @description Id of the event, a UUID: drop an event whose id you have already processed.
                 */
                eventId: string;
                /**
                 * Format: uuid
                 * @description Id of your organization.
                 */
                organizationId: string;
                /** @description Id of the trading server; null if the event concerns no server. */
                serverId: string | null;
                /** @description Number of the account on its server; null if the event concerns no account. */
                accountNumber: string | null;
                /** @description Counts the account's events of all kinds but those of commands and risk, from 1, without a gap, in the order in which they happened; null for events of commands and risk, and for events without an account. */
                accountSequence: number | null;
                /**
                 * Format: uuid
                 * @description Id of the account, a UUID. It never changes.
                 */
                accountId: string;
                /** @description Counts the changes of the account, from 1. */
                version: number;
                /** @description Name of the account, 1 to 100 characters. */
                accountName: string;
                /** @description State of the account after the event. */
                status: components["schemas"]["AccountEventStatus"];
                /** @description Leverage: 100 means 1:100. */
                leverage: number;
                /** @description Which password was changed. */
                passwordKind: components["schemas"]["PasswordKind"];
            };
        };
        /** @description An order that was executed or cancelled. */
        FeedOrderEvent: {
            /**
             * Format: uuid
             * @description Id of the event: the `webhook-id` of its deliveries.
             */
            id: string;
            /** @description Position after this event: send it as `after` to continue. */
            cursor: string;
            /**
             * @description Kind of the event: what happened, and which fields `data` has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "order.executed" | "order.cancelled";
            /**
             * Format: date-time
             * @description When the event happened, UTC.
             */
            timestamp: string;
            /** @description What happened. */
            data: {
                /**
                 * Format: uuid
                 * @description Id of the event, a UUID: drop an event whose id you have already processed.
                 */
                eventId: string;
                /**
                 * Format: uuid
                 * @description Id of your organization.
                 */
                organizationId: string;
                /** @description Id of the trading server; null if the event concerns no server. */
                serverId: string | null;
                /** @description Number of the account on its server; null if the event concerns no account. */
                accountNumber: string | null;
                /** @description Counts the account's events of all kinds but those of commands and risk, from 1, without a gap, in the order in which they happened; null for events of commands and risk, and for events without an account. */
                accountSequence: number | null;
                /** @description Id of the order on the trading server. */
                id: string;
                /** @description Name of the instrument, such as EURUSD. */
                symbol: string;
                /** @description buy or sell. */
                side: string;
                /** @description Type of the order, such as market, limit or stop. */
                orderType: string;
                /** @description Volume, in lots. */
                volume: number;
                /** @description State of the order, such as placed, executed or cancelled. */
                status: string;
                /**
                 * Format: date-time
                 * @description When it was created, UTC.
                 */
                createdAt: string;
                /** @description When the order was executed, UTC; null until then. */
                executedAt: string | null;
            };
        };
        /** @description A position that was opened, or closed in part. */
        FeedPositionEvent: {
            /**
             * Format: uuid
             * @description Id of the event: the `webhook-id` of its deliveries.
             */
            id: string;
            /** @description Position after this event: send it as `after` to continue. */
            cursor: string;
            /**
             * @description Kind of the event: what happened, and which fields `data` has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "position.opened" | "position.updated";
            /**
             * Format: date-time
             * @description When the event happened, UTC.
             */
            timestamp: string;
            /** @description What happened. */
            data: {
                /**
                 * Format: uuid
                 * @description Id of the event, a UUID: drop an event whose id you have already processed.
                 */
                eventId: string;
                /**
                 * Format: uuid
                 * @description Id of your organization.
                 */
                organizationId: string;
                /** @description Id of the trading server; null if the event concerns no server. */
                serverId: string | null;
                /** @description Number of the account on its server; null if the event concerns no account. */
                accountNumber: string | null;
                /** @description Counts the account's events of all kinds but those of commands and risk, from 1, without a gap, in the order in which they happened; null for events of commands and risk, and for events without an account. */
                accountSequence: number | null;
                /** @description Id of the position on the trading server. */
                id: string;
                /** @description Id of the order that caused it. */
                orderId: string;
                /** @description Name of the instrument, such as EURUSD. */
                symbol: string;
                /** @description buy or sell. */
                side: string;
                /** @description Volume that was opened, in lots. */
                volume: number;
                /** @description Volume that was closed since the opening, in lots. */
                closedVolume: number;
                /** @description Price of the opening, in the symbol's quote currency. */
                openPrice: number;
                /** @description `open` until the whole volume is closed. */
                status: components["schemas"]["PositionStatus"];
                /**
                 * Format: date-time
                 * @description When the position was opened, UTC.
                 */
                openedAt: string;
                /** @description When the position was closed completely, UTC; null while it is open. */
                closedAt: string | null;
            };
        };
        /** @description A position that was closed completely. */
        FeedPositionClosedEvent: {
            /**
             * Format: uuid
             * @description Id of the event: the `webhook-id` of its deliveries.
             */
            id: string;
            /** @description Position after this event: send it as `after` to continue. */
            cursor: string;
            /**
             * @description Kind of the event: what happened, and which fields `data` has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "position.closed";
            /**
             * Format: date-time
             * @description When the event happened, UTC.
             */
            timestamp: string;
            /** @description What happened. */
            data: {
                /**
                 * Format: uuid
                 * @description Id of the event, a UUID: drop an event whose id you have already processed.
                 */
                eventId: string;
                /**
                 * Format: uuid
                 * @description Id of your organization.
                 */
                organizationId: string;
                /** @description Id of the trading server; null if the event concerns no server. */
                serverId: string | null;
                /** @description Number of the account on its server; null if the event concerns no account. */
                accountNumber: string | null;
                /** @description Counts the account's events of all kinds but those of commands and risk, from 1, without a gap, in the order in which they happened; null for events of commands and risk, and for events without an account. */
                accountSequence: number | null;
                /** @description Id of the position on the trading server. */
                id: string;
                /** @description Id of the order that caused it. */
                orderId: string;
                /** @description Name of the instrument, such as EURUSD. */
                symbol: string;
                /** @description buy or sell. */
                side: string;
                /** @description Volume that was opened, in lots. */
                volume: number;
                /** @description Volume that was closed since the opening, in lots. */
                closedVolume: number;
                /** @description Price of the opening, in the symbol's quote currency. */
                openPrice: number;
                /** @description Always `closed`. */
                status: components["schemas"]["PositionStatus"];
                /**
                 * Format: date-time
                 * @description When the position was opened, UTC.
                 */
                openedAt: string;
                /** @description When the position was closed completely, UTC; null while it is open. */
                closedAt: string | null;
                /** @description Ids of all deals of the position, the entry first. */
                dealIds: string[];
                /** @description Number of open positions. */
                openPositionCount: number;
            };
        };
        /** @description One execution. */
        FeedDealEvent: {
            /**
             * Format: uuid
             * @description Id of the event: the `webhook-id` of its deliveries.
             */
            id: string;
            /** @description Position after this event: send it as `after` to continue. */
            cursor: string;
            /**
             * @description Kind of the event: what happened, and which fields `data` has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "deal.executed";
            /**
             * Format: date-time
             * @description When the event happened, UTC.
             */
            timestamp: string;
            /** @description What happened. */
            data: {
                /**
                 * Format: uuid
                 * @description Id of the event, a UUID: drop an event whose id you have already processed.
                 */
                eventId: string;
                /**
                 * Format: uuid
                 * @description Id of your organization.
                 */
                organizationId: string;
                /** @description Id of the trading server; null if the event concerns no server. */
                serverId: string | null;
                /** @description Number of the account on its server; null if the event concerns no account. */
                accountNumber: string | null;
                /** @description Counts the account's events of all kinds but those of commands and risk, from 1, without a gap, in the order in which they happened; null for events of commands and risk, and for events without an account. */
                accountSequence: number | null;
                /** @description Id of the deal on the trading server. */
                id: string;
                /** @description Id of the order that caused it. */
                orderId: string;
                /** @description Id of the position that it opened, reduced or closed. */
                positionId: string;
                /** @description Name of the instrument, such as EURUSD. */
                symbol: string;
                /** @description buy or sell. */
                side: string;
                /** @description Kind of the deal: entry, exit or partial close. */
                kind: string;
                /** @description Volume, in lots. */
                volume: number;
                /** @description Price of the execution, in the symbol's quote currency. */
                price: number;
                /** @description Commission, negative for a cost. In units of the account's currency, with two decimals. */
                commission: Money;
                /** @description Profit or loss of the execution, without commission and swap. In units of the account's currency, with two decimals. */
                realizedPnl: Money;
                /** @description Interest for holding the position over night, negative for a cost. In units of the account's currency, with two decimals. */
                swap: Money;
                /**
                 * Format: date-time
                 * @description When it was executed, UTC.
                 */
                executedAt: string;
            };
        };
        /** @description A change of a balance. */
        FeedTransactionEvent: {
            /**
             * Format: uuid
             * @description Id of the event: the `webhook-id` of its deliveries.
             */
            id: string;
            /** @description Position after this event: send it as `after` to continue. */
            cursor: string;
            /**
             * @description Kind of the event: what happened, and which fields `data` has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "transaction.recorded";
            /**
             * Format: date-time
             * @description When the event happened, UTC.
             */
            timestamp: string;
            /** @description What happened. */
            data: {
                /**
                 * Format: uuid
                 * @description Id of the event, a UUID: drop an event whose id you have already processed.
                 */
                eventId: string;
                /**
                 * Format: uuid
                 * @description Id of your organization.
                 */
                organizationId: string;
                /** @description Id of the trading server; null if the event concerns no server. */
                serverId: string | null;
                /** @description Number of the account on its server. */
                accountNumber: string;
                /** @description Counts the account's events of all kinds but those of commands and risk, from 1, without a gap, in the order in which they happened; null for events of commands and risk, and for events without an account. */
                accountSequence: number | null;
                /**
                 * Format: uuid
                 * @description Its id, a UUID.
                 */
                id: string;
                /** @description Number of the transaction on its account, from 1, without a gap. */
                sequence: number;
                /** @description Why the balance changed. */
                type: components["schemas"]["TransactionType"];
                /** @description Change of the balance, negative for money that leaves. In units of the account's currency, with two decimals. */
                amount: Money;
                /** @description Currency of all amounts of the account or server. */
                currency: components["schemas"]["Currency"];
                /** @description Balance of the account before the transaction. In units of the account's currency, with two decimals. */
                balanceBefore: Money;
                /** @description Balance of the account after the transaction. In units of the account's currency, with two decimals. */
                balanceAfter: Money;
                /** @description Text of the request, or of the trading server; null if there is none. */
                description: string | null;
                /** @description `requestId` of the request that caused it; null if none did. */
                requestId: string | null;
                /** @description Id of the command that caused it; null if no command did. */
                commandId: string | null;
                /** @description Id of the order that caused it; null if none did. */
                orderId: string | null;
                /** @description Id of the position that caused it; null if none did. */
                positionId: string | null;
                /** @description Id of the deal that caused it; null if none did. */
                dealId: string | null;
                /** @description Id of the transaction that this one reverses; null if it reverses none. */
                reversalOf: string | null;
                /** @description Who caused it; null or absent if it was not requested through kapi, or if an earlier release recorded it. */
                createdBy?: components["schemas"]["Actor"] | null;
                /**
                 * Format: date-time
                 * @description When the trading server recorded it, UTC.
                 */
                recordedAt: string;
                /**
                 * Format: date-time
                 * @description When it was created, UTC.
                 */
                createdAt: string;
            };
        };
        /** @description A margin call or a stop out. */
        FeedMarginEvent: {
            /**
             * Format: uuid
             * @description Id of the event: the `webhook-id` of its deliveries.
             */
            id: string;
            /** @description Position after this event: send it as `after` to continue. */
            cursor: string;
            /**
             * @description Kind of the event: what happened, and which fields `data` has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "margin.call" | "margin.stop_out";
            /**
             * Format: date-time
             * @description When the event happened, UTC.
             */
            timestamp: string;
            /** @description What happened. */
            data: {
                /**
                 * Format: uuid
                 * @description Id of the event, a UUID: drop an event whose id you have already processed.
                 */
                eventId: string;
                /**
                 * Format: uuid
                 * @description Id of your organization.
                 */
                organizationId: string;
                /** @description Id of the trading server; null if the event concerns no server. */
                serverId: string | null;
                /** @description Number of the account on its server; null if the event concerns no account. */
                accountNumber: string | null;
                /** @description Counts the account's events of all kinds but those of commands and risk, from 1, without a gap, in the order in which they happened; null for events of commands and risk, and for events without an account. */
                accountSequence: number | null;
                /** @description Balance plus profit and swap of the open positions. In units of the account's currency, with two decimals. */
                equity: Money;
                /** @description The margin that open positions use. In units of the account's currency, with two decimals. */
                usedMargin: Money;
                /** @description Equity in percent of the used margin; 0 with no margin in use. */
                marginLevel: number;
            };
        };
        /** @description A risk rule that was breached, or whose warning is due. */
        FeedRiskEvent: {
            /**
             * Format: uuid
             * @description Id of the event: the `webhook-id` of its deliveries.
             */
            id: string;
            /** @description Position after this event: send it as `after` to continue. */
            cursor: string;
            /**
             * @description Kind of the event: what happened, and which fields `data` has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "risk.breached" | "risk.warning";
            /**
             * Format: date-time
             * @description When the event happened, UTC.
             */
            timestamp: string;
            /** @description What happened. */
            data: {
                /**
                 * Format: uuid
                 * @description Id of the event, a UUID: drop an event whose id you have already processed.
                 */
                eventId: string;
                /**
                 * Format: uuid
                 * @description Id of your organization.
                 */
                organizationId: string;
                /** @description Id of the trading server; null if the event concerns no server. */
                serverId: string | null;
                /** @description Number of the account on its server; null if the event concerns no account. */
                accountNumber: string | null;
                /** @description Counts the account's events of all kinds but those of commands and risk, from 1, without a gap, in the order in which they happened; null for events of commands and risk, and for events without an account. */
                accountSequence: number | null;
                /**
                 * Format: uuid
                 * @description Its id, a UUID.
                 */
                id: string;
                /** @description The rule as it was at the breach or warning. */
                rule: components["schemas"]["RiskRule"];
                /** @description Version of the rules. */
                ruleVersion: number;
                /** @description The day of a daily rule, by the local date of its start; `lifetime` for any other rule. */
                period: string;
                /** @description Value from which the loss or profit counts, with the deposits and withdrawals since that value was measured. In units of the account's currency, with two decimals. */
                reference: Money;
                /** @description Value at which the rule is breached. In units of the account's currency, with two decimals. */
                threshold: Money;
                /** @description Value that was compared. In units of the account's currency, with two decimals. */
                value: Money;
                /** @description Balance plus profit and swap of the open positions. In units of the account's currency, with two decimals. */
                equity: Money;
                /** @description Balance: all booked money, without open positions. In units of the account's currency, with two decimals. */
                balance: Money;
                /**
                 * Format: date-time
                 * @description When the trading server measured the values, UTC.
                 */
                measuredAt: string;
                /** @description What kapi does when the rule is breached. */
                action: components["schemas"]["RiskAction"];
                /** @description Id of the command of the action; null for `notify`, and for a warning. */
                commandId: string | null;
            };
        };
        /** @description The evidence of a breach was stored. */
        FeedEvidenceEvent: {
            /**
             * Format: uuid
             * @description Id of the event: the `webhook-id` of its deliveries.
             */
            id: string;
            /** @description Position after this event: send it as `after` to continue. */
            cursor: string;
            /**
             * @description Kind of the event: what happened, and which fields `data` has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "risk.evidence_stored";
            /**
             * Format: date-time
             * @description When the event happened, UTC.
             */
            timestamp: string;
            /** @description What happened. */
            data: {
                /**
                 * Format: uuid
                 * @description Its id, a UUID.
                 */
                id: string;
                /** @description The rule as it was at the breach or warning. */
                rule: components["schemas"]["RiskRule"];
                /** @description Version of the rules. */
                ruleVersion: number;
                /** @description The day of a daily rule, by the local date of its start; `lifetime` for any other rule. */
                period: string;
                /** @description Value from which the loss or profit counts, with the deposits and withdrawals since that value was measured. In units of the account's currency, with two decimals. */
                reference: Money;
                /** @description Value at which the rule is breached. In units of the account's currency, with two decimals. */
                threshold: Money;
                /** @description Value that was compared. In units of the account's currency, with two decimals. */
                value: Money;
                /** @description Balance plus profit and swap of the open positions. In units of the account's currency, with two decimals. */
                equity: Money;
                /** @description Balance: all booked money, without open positions. In units of the account's currency, with two decimals. */
                balance: Money;
                /**
                 * Format: date-time
                 * @description When the trading server measured the values, UTC.
                 */
                measuredAt: string;
                /** @description What kapi does when the rule is breached. */
                action: components["schemas"]["RiskAction"];
                /** @description Id of the command of the action; null for `notify`. */
                commandId: string | null;
                /** @description Id of the trading server; null if the event concerns no server. */
                serverId: string | null;
                /** @description Number of the account on its server; null if the event concerns no account. */
                accountNumber: string | null;
                /**
                 * Format: date-time
                 * @description When kapi recorded the breach, UTC.
                 */
                recordedAt: string;
                /** @description The evidence of the breach. */
                evidence: components["schemas"]["BreachEvidenceState"];
                /**
                 * Format: uuid
                 * @description Id of the event, a UUID: drop an event whose id you have already processed.
                 */
                eventId: string;
                /**
                 * Format: uuid
                 * @description Id of your organization.
                 */
                organizationId: string;
                /** @description Counts the account's events of all kinds but those of commands and risk, from 1, without a gap, in the order in which they happened; null for events of commands and risk, and for events without an account. */
                accountSequence: number | null;
            };
        };
        /** @description The organization has few credits left. */
        FeedLowBalanceEvent: {
            /**
             * Format: uuid
             * @description Id of the event: the `webhook-id` of its deliveries.
             */
            id: string;
            /** @description Position after this event: send it as `after` to continue. */
            cursor: string;
            /**
             * @description Kind of the event: what happened, and which fields `data` has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "credits.low_balance";
            /**
             * Format: date-time
             * @description When the event happened, UTC.
             */
            timestamp: string;
            /** @description What happened. */
            data: {
                /**
                 * Format: uuid
                 * @description Id of the event, a UUID: drop an event whose id you have already processed.
                 */
                eventId: string;
                /**
                 * Format: uuid
                 * @description Id of your organization.
                 */
                organizationId: string;
                /** @description Id of the trading server; null if the event concerns no server. */
                serverId: string | null;
                /** @description Number of the account on its server; null if the event concerns no account. */
                accountNumber: string | null;
                /** @description Counts the account's events of all kinds but those of commands and risk, from 1, without a gap, in the order in which they happened; null for events of commands and risk, and for events without an account. */
                accountSequence: number | null;
                /** @description Credits that can be spent now. */
                availableCredits: number;
                /** @description Credits at which the balance counts as low. */
                lowBalanceThreshold: number;
            };
        };
        /** @description An event that you asked for, to test an endpoint. */
        FeedTestEvent: {
            /**
             * Format: uuid
             * @description Id of the event: the `webhook-id` of its deliveries.
             */
            id: string;
            /** @description Position after this event: send it as `after` to continue. */
            cursor: string;
            /**
             * @description Kind of the event: what happened, and which fields `data` has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "webhook.test";
            /**
             * Format: date-time
             * @description When the event happened, UTC.
             */
            timestamp: string;
            /** @description What happened. */
            data: {
                /**
                 * Format: uuid
                 * @description Id of the event, a UUID: drop an event whose id you have already processed.
                 */
                eventId: string;
                /**
                 * Format: uuid
                 * @description Id of your organization.
                 */
                organizationId: string;
                /** @description Id of the trading server; null if the event concerns no server. */
                serverId: string | null;
                /** @description Number of the account on its server; null if the event concerns no account. */
                accountNumber: string | null;
                /** @description Counts the account's events of all kinds but those of commands and risk, from 1, without a gap, in the order in which they happened; null for events of commands and risk, and for events without an account. */
                accountSequence: number | null;
                /**
                 * Format: uuid
                 * @description Id of the endpoint.
                 */
                endpointId: string;
            };
        };
        /** @description A command that reached its final state. */
        FeedCommandEvent: {
            /**
             * Format: uuid
             * @description Id of the event: the `webhook-id` of its deliveries.
             */
            id: string;
            /** @description Position after this event: send it as `after` to continue. */
            cursor: string;
            /**
             * @description Kind of the event: what happened, and which fields `data` has. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "command.succeeded" | "command.failed" | "command.expired";
            /**
             * Format: date-time
             * @description When the event happened, UTC.
             */
            timestamp: string;
            /** @description What happened. */
            data: {
                /**
                 * Format: uuid
                 * @description Id of the event, a UUID: drop an event whose id you have already processed.
                 */
                eventId: string;
                /**
                 * Format: uuid
                 * @description Id of your organization.
                 */
                organizationId: string;
                /** @description Id of the trading server; null if the event concerns no server. */
                serverId: string | null;
                /** @description Number of the account on its server; null for a creation until it has succeeded, and for a command on a risk template. */
                accountNumber: string | null;
                /** @description Counts the account's events of all kinds but those of commands and risk, from 1, without a gap, in the order in which they happened; null for events of commands and risk, and for events without an account. */
                accountSequence: number | null;
                /**
                 * Format: uuid
                 * @description Id of the command.
                 */
                commandId: string;
                /** @description Id of the account, a UUID; null if it was unknown when the command was queued. */
                managedAccountId: string | null;
                /** @description What the command does. */
                operation: components["schemas"]["CommandOperation"];
                /** @description The final state. */
                status: components["schemas"]["FinalCommandStatus"];
                /** @description How often kapi has begun to carry the command out. */
                attempts: number;
                /** @description What the command returns; null also for a large result, such as an export: `getCommand` returns it. */
                result: {
                    [key: string]: unknown;
                } | null;
                /** @description Whether the result was too large for the event. */
                resultOmitted: boolean;
                /** @description Why the command failed, for programs; null unless it failed. */
                errorCode: components["schemas"]["CommandErrorCode"] | null;
                /** @description Why the command failed or expired, for people; null otherwise. */
                errorMessage: string | null;
                /** @description Who caused it; null or absent if it was not requested through kapi, or if an earlier release recorded it. */
                createdBy?: components["schemas"]["Actor"] | null;
            };
        };
        /** @description At least one field; missing fields are unchanged. */
        UpdateServerConfiguration: {
            /** @description Leverages that accounts of the server can have, ascending. */
            supportedLeverage?: number[];
            /** @description Leverage that is preselected; null for none. */
            defaultLeverage?: number | null;
            /** @description Currency of all amounts of the account or server. */
            currency?: components["schemas"]["Currency"];
        };
        /** @description A new account. */
        CreateTradingAccount: {
            /** @description Name of the account, 1 to 100 characters. */
            accountName: string;
            /**
             * Format: password
             * @description Password of 8 to 128 characters; without it one is generated.
             */
            password?: string;
            /** @description Balance at the start, 0 to 1,000,000,000. In units of the server's currency, with at most two decimals. */
            initialBalance: Money;
            /** @description Leverage: 100 means 1:100. */
            leverage: number;
            /** @description Your correlation id, 1 to 100 characters. Not unique; commands can be found by it. */
            requestId: string;
        };
        /** @description Up to 100 new accounts. */
        BulkCreateTradingAccounts: {
            /** @description The accounts to create, 1 to 100. */
            accounts: components["schemas"]["CreateTradingAccount"][];
        };
        /** @description `accountName`, `leverage` or both; a missing field is unchanged. */
        UpdateTradingAccount: {
            /** @description Name of the account, 1 to 100 characters. */
            accountName?: string;
            /** @description Leverage: 100 means 1:100. */
            leverage?: number;
            /** @description Your correlation id, 1 to 100 characters. Not unique; commands can be found by it. */
            requestId: string;
        };
        /** @description A request that has only `requestId`. */
        AccountRequest: {
            /** @description Your correlation id, 1 to 100 characters. Not unique; commands can be found by it. */
            requestId: string;
        };
        /** @description The disabling of an account. */
        DisableAccount: {
            /** @description Your correlation id, 1 to 100 characters. Not unique; commands can be found by it. */
            requestId: string;
            /** @description True: after the disabling, all positions are closed and all pending orders cancelled. Needs the scope `risk:manage` too. */
            flatten?: boolean;
        };
        /** @description A new password, or none to have one generated. */
        ResetPassword: {
            /**
             * Format: password
             * @description Password of 8 to 128 characters; without it one is generated.
             */
            password?: string;
            /** @description Your correlation id, 1 to 100 characters. Not unique; commands can be found by it. */
            requestId: string;
        };
        /** @description Which records to export. */
        ExportAccountHistory: {
            /**
             * Format: date-time
             * @description Records at or after this time.
             */
            from?: string;
            /**
             * Format: date-time
             * @description Records at or before this time.
             */
            to?: string;
            /**
             * @description Maximum number of records.
             * @default 1000
             */
            limit?: number;
            /** @description Your correlation id, 1 to 100 characters. Not unique; commands can be found by it. */
            requestId: string;
        };
        /** @description A deposit or a withdrawal. */
        Funds: {
            /** @description Amount of money, above 0 and at most 1,000,000,000. In units of the account's currency, with at most two decimals. */
            amount: Money;
            /** @description Free text, at most 250 characters. */
            description?: string;
            /** @description Your correlation id, 1 to 100 characters. Not unique; commands can be found by it. */
            requestId: string;
        };
        /** @description The risk rules of an account. */
        SetRiskRules: {
            /** @description All rules of the account, 1 to 10. They replace the earlier rules. */
            rules: components["schemas"]["RiskRule"][];
            /** @description Your correlation id, 1 to 100 characters. Not unique; commands can be found by it. */
            requestId: string;
        };
        /** @description The rules of a template, and the accounts that get them. */
        SetRiskTemplate: {
            /** @description The rules, 1 to 10. */
            rules: components["schemas"]["RiskRule"][];
            /** @description The accounts that the template applies to. */
            appliesTo: components["schemas"]["RiskTemplateSelection"];
            /** @description Whether the template applies to accounts that are created, or begin to match, later. */
            newAccounts: boolean;
            /** @description Your correlation id, 1 to 100 characters. Not unique; commands can be found by it. */
            requestId: string;
        };
        /** @description A new endpoint. */
        CreateWebhook: {
            /** @description Address that events are sent to, at most 2,048 characters. */
            url: string;
            /**
             * @description Free text, at most 250 characters.
             * @default
             */
            description?: string;
            /**
             * @description Kinds of events that are sent; null or omitted: all except those of commands.
             * @default null
             */
            kinds?: components["schemas"]["WebhookKind"][] | null;
            /**
             * @description Servers whose events are sent; null or omitted: all.
             * @default null
             */
            serverIds?: string[] | null;
        };
        /** @description At least one field; missing fields are unchanged. */
        UpdateWebhook: {
            /** @description Address that events are sent to, at most 2,048 characters. */
            url?: string;
            /** @description Free text, at most 250 characters. */
            description?: string;
            /** @description Kinds of events that are sent; null or omitted: all except those of commands. */
            kinds?: components["schemas"]["WebhookKind"][] | null;
            /** @description Servers whose events are sent; null or omitted: all. */
            serverIds?: string[] | null;
            /** @description `enabled` also restarts the count of failing days. */
            status?: components["schemas"]["WebhookStatus"];
        };
        /** @description Which events to send again. */
        ReplayWebhook: {
            /**
             * Format: date-time
             * @description Events recorded at or after this time.
             */
            since: string;
            /**
             * Format: date-time
             * @description Events recorded before this time; without it, up to now.
             */
            until?: string;
            /** @description Kinds of events that are sent again. You can also give kinds that the endpoint does not name. Omitted: the endpoint's kinds. */
            kinds?: components["schemas"]["WebhookKind"][];
        };
        /** @description The body of every error. */
        Error: {
            /** @description What went wrong, for people. */
            error: string;
            /** @description Stable code for programs. Each code has a page: `/docs/errors/<code>`. */
            code: string;
            /** @description Names this request in questions to your operator. */
            requestId: string;
            /** @description Present if fields of the request are invalid. */
            issues?: components["schemas"]["Issue"][];
        };
        /** @description One field that is invalid. */
        Issue: {
            /** @description The location: names of fields and positions in arrays, or the name of a header or parameter. */
            path: (string | number)[];
            /** @description Kind of the violation, such as `invalid_type` or `too_small`. */
            code: string;
            /** @description What is wrong with the field. */
            message: string;
        };
        ListCreditUsageQuery: {
            /**
             * @description Number of the page, from 1. With `cursor`, omit `page` or send 1. Records that are added meanwhile shift the pages: read long lists by `cursor`.
             * @default 1
             */
            page?: number;
            /**
             * @description Maximum number of records to return.
             * @default 20
             */
            limit?: number;
            /** @description `nextCursor` of the previous page. The answer is the next page, without repeated or skipped records. Repeat the filters of the first page. */
            cursor?: string;
            /**
             * Format: date-time
             * @description Only requests at or after this time.
             */
            from?: string;
            /**
             * Format: date-time
             * @description Only requests before this time.
             */
            to?: string;
            /** @description Only lines of requests for this operation, as `operation` of the line shows it. */
            operation?: string;
            /** @description Only lines of the request with this `X-Request-Id`. */
            xRequestId?: string;
            /**
             * Format: uuid
             * @description Only lines of this command.
             */
            commandId?: string;
        };
        ListTradingAccountsQuery: {
            /** @description Number of the page, from 1. With `cursor`, omit `page` or send 1. Records that are added meanwhile shift the pages: read long lists by `cursor`. */
            page?: number;
            /** @description Maximum number of records to return. */
            limit?: number;
            /** @description Only records with this status. */
            status?: components["schemas"]["AccountStatus"];
            /** @description Only accounts whose number or name contains this text. */
            search?: string;
            /** @description `nextCursor` of the previous page. The answer is the next page, without repeated or skipped records. Repeat the filters of the first page. */
            cursor?: string;
        };
        ListTradingAccountTransactionsQuery: {
            /**
             * @description Number of the page, from 1. With `cursor`, omit `page` or send 1. Records that are added meanwhile shift the pages: read long lists by `cursor`.
             * @default 1
             */
            page?: number;
            /**
             * @description Maximum number of records to return.
             * @default 20
             */
            limit?: number;
            /** @description `nextCursor` of the previous page. The answer is the next page, without repeated or skipped records. Repeat the filters of the first page. */
            cursor?: string;
            /**
             * Format: date-time
             * @description Only transactions recorded at or after this time.
             */
            from?: string;
            /**
             * Format: date-time
             * @description Only transactions recorded before this time.
             */
            to?: string;
            /** @description Only transactions of this type. */
            type?: components["schemas"]["TransactionType"];
            /** @description Only records of this order. */
            orderId?: string;
            /** @description Only records of this position. */
            positionId?: string;
            /** @description Only transactions of this deal. */
            dealId?: string;
            /**
             * Format: uuid
             * @description Only transactions of this command.
             */
            commandId?: string;
            /** @description Only records with this `requestId`. */
            requestId?: string;
        };
        ListTradingAccountOrdersQuery: {
            /**
             * @description Number of the page, from 1. With `cursor`, omit `page` or send 1. Records that are added meanwhile shift the pages: read long lists by `cursor`.
             * @default 1
             */
            page?: number;
            /**
             * @description Maximum number of records to return.
             * @default 20
             */
            limit?: number;
            /** @description `nextCursor` of the previous page. The answer is the next page, without repeated or skipped records. Repeat the filters of the first page. */
            cursor?: string;
            /**
             * Format: date-time
             * @description Only orders created at or after this time.
             */
            from?: string;
            /**
             * Format: date-time
             * @description Only orders created before this time.
             */
            to?: string;
            /** @description Only records of this instrument, such as EURUSD. */
            symbol?: string;
            /** @description Only records of this side: buy or sell. */
            side?: string;
            /** @description Only records with this status. */
            status?: string;
            /** @description Only orders of this type, such as market, limit or stop. */
            orderType?: string;
        };
        ListAccountPositionsQuery: {
            /**
             * @description Number of the page, from 1. With `cursor`, omit `page` or send 1. Records that are added meanwhile shift the pages: read long lists by `cursor`.
             * @default 1
             */
            page?: number;
            /**
             * @description Maximum number of records to return.
             * @default 20
             */
            limit?: number;
            /** @description `nextCursor` of the previous page. The answer is the next page, without repeated or skipped records. Repeat the filters of the first page. */
            cursor?: string;
            /**
             * @description Only records with this status.
             * @default all
             */
            status?: components["schemas"]["PositionStatusFilter"];
            /**
             * Format: date-time
             * @description Only positions opened at or after this time.
             */
            from?: string;
            /**
             * Format: date-time
             * @description Only positions opened before this time.
             */
            to?: string;
            /** @description Only records of this instrument, such as EURUSD. */
            symbol?: string;
            /** @description Only records of this side: buy or sell. */
            side?: string;
            /** @description Only records of this order. */
            orderId?: string;
        };
        ListAccountDealsQuery: {
            /**
             * @description Number of the page, from 1. With `cursor`, omit `page` or send 1. Records that are added meanwhile shift the pages: read long lists by `cursor`.
             * @default 1
             */
            page?: number;
            /**
             * @description Maximum number of records to return.
             * @default 20
             */
            limit?: number;
            /** @description `nextCursor` of the previous page. The answer is the next page, without repeated or skipped records. Repeat the filters of the first page. */
            cursor?: string;
            /**
             * Format: date-time
             * @description Only deals executed at or after this time.
             */
            from?: string;
            /**
             * Format: date-time
             * @description Only deals executed before this time.
             */
            to?: string;
            /** @description Only records of this instrument, such as EURUSD. */
            symbol?: string;
            /** @description Only records of this side: buy or sell. */
            side?: string;
            /** @description Only deals of this kind. */
            kind?: string;
            /** @description Only records of this order. */
            orderId?: string;
            /** @description Only records of this position. */
            positionId?: string;
        };
        GetCommandQuery: {
            /**
             * @description Seconds to wait for a final state, 0 to 30. A larger number means 30, and an invalid value means 0.
             * @default 0
             */
            wait?: number | string;
        };
        ListCommandsQuery: {
            /**
             * @description Number of the page, from 1. With `cursor`, omit `page` or send 1. Records that are added meanwhile shift the pages: read long lists by `cursor`.
             * @default 1
             */
            page?: number;
            /**
             * @description Maximum number of records to return.
             * @default 20
             */
            limit?: number;
            /** @description `nextCursor` of the previous page. The answer is the next page, without repeated or skipped records. Repeat the filters of the first page. */
            cursor?: string;
            /** @description Only records with this status. */
            status?: components["schemas"]["CommandStatus"];
            /** @description Only commands of this operation. */
            operation?: components["schemas"]["CommandOperation"];
            /** @description Only records of this account. */
            accountNumber?: string;
            /** @description Only records with this `requestId`. */
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
            /** @description Only the commands of the bulk that had this `Idempotency-Key`. */
            bulkIdempotencyKey?: string;
            /** @description Only commands whose idempotency key begins with this text, which is compared literally. If more than 10,000 keys of the server begin with it, the answer is 400. */
            idempotencyKeyPrefix?: string;
            /**
             * @description Only with `bulkIdempotencyKey` or `idempotencyKeyPrefix`: seconds to wait until every command of the page is final, 0 to 30. A larger number means 30, and an invalid value means 0.
             * @default 0
             */
            wait?: number | string;
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
        ListDailyDigestsQuery: {
            /**
             * @description Number of the page, from 1. With `cursor`, omit `page` or send 1. Records that are added meanwhile shift the pages: read long lists by `cursor`.
             * @default 1
             */
            page?: number;
            /**
             * @description Maximum number of records to return.
             * @default 20
             */
            limit?: number;
            /** @description `nextCursor` of the previous page. The answer is the next page, without repeated or skipped records. Repeat the filters of the first page. */
            cursor?: string;
            /**
             * Format: date
             * @description The day in UTC, such as 2026-11-26. It must be over.
             */
            date?: string;
        };
        GetAccountStateQuery: {
            /**
             * Format: date-time
             * @description The time, in RFC 3339 with any offset. Digits after the milliseconds are ignored.
             */
            at?: string;
        };
        DeleteRiskRulesQuery: {
            /** @description Your correlation id, 1 to 100 characters. Not unique; commands can be found by it. */
            requestId?: string;
            /**
             * @description `true`: the account gets the rules of the template that matches it.
             * @constant
             */
            useTemplate?: "true";
        };
        DeleteRiskTemplateQuery: {
            /** @description Your correlation id, 1 to 100 characters. Not unique; commands can be found by it. */
            requestId?: string;
            /** @description `keep`: accounts keep the rules that they have from the template. `remove`: these rules are removed. */
            accountRules?: components["schemas"]["TemplateAccountRules"];
        };
        ListRiskBreachesQuery: {
            /**
             * @description Number of the page, from 1. With `cursor`, omit `page` or send 1. Records that are added meanwhile shift the pages: read long lists by `cursor`.
             * @default 1
             */
            page?: number;
            /**
             * @description Maximum number of records to return.
             * @default 20
             */
            limit?: number;
            /** @description `nextCursor` of the previous page. The answer is the next page, without repeated or skipped records. Repeat the filters of the first page. */
            cursor?: string;
            /**
             * Format: date-time
             * @description Only breaches measured at or after this time.
             */
            from?: string;
            /**
             * Format: date-time
             * @description Only breaches measured before this time.
             */
            to?: string;
            /** @description Only breaches of the rules with this id. */
            ruleId?: string;
        };
        GetIntervalEvidenceQuery: {
            /**
             * Format: date-time
             * @description Beginning of the interval, within the last 24 hours.
             */
            from?: string;
            /**
             * Format: date-time
             * @description End of the interval, inclusive; at most 10 minutes after `from`, and not in the future.
             */
            to?: string;
        };
        ListWebhookDeliveriesQuery: {
            /**
             * @description Number of the page, from 1. With `cursor`, omit `page` or send 1. Records that are added meanwhile shift the pages: read long lists by `cursor`.
             * @default 1
             */
            page?: number;
            /**
             * @description Maximum number of records to return.
             * @default 20
             */
            limit?: number;
            /** @description `nextCursor` of the previous page. The answer is the next page, without repeated or skipped records. Repeat the filters of the first page. */
            cursor?: string;
            /** @description Only records with this status. */
            status?: components["schemas"]["DeliveryStatus"];
            /** @description Only deliveries of this kind of event. */
            type?: components["schemas"]["WebhookKind"];
            /**
             * Format: date-time
             * @description Only deliveries created at or after this time.
             */
            from?: string;
            /**
             * Format: date-time
             * @description Only deliveries created before this time.
             */
            to?: string;
            /**
             * Format: uuid
             * @description Only deliveries of this event.
             */
            eventId?: string;
        };
        ListEventsQuery: {
            /** @description `next` of the previous answer, or `now`. */
            after?: string;
            /**
             * @description Maximum number of records to return.
             * @default 100
             */
            limit?: number;
            /** @description Only events of these kinds, separated by commas; without it, all kinds except those of commands. Repeating the parameter for each kind works too. */
            kinds?: components["schemas"]["WebhookKind"][];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type ActorType = components['schemas']['ActorType'];
export type Currency = components['schemas']['Currency'];
export type ServerStatus = components['schemas']['ServerStatus'];
export type ServerEnvironment = components['schemas']['ServerEnvironment'];
export type AccountStatus = components['schemas']['AccountStatus'];
export type CommandOperation = components['schemas']['CommandOperation'];
export type CommandStatus = components['schemas']['CommandStatus'];
export type FinalCommandStatus = components['schemas']['FinalCommandStatus'];
export type CommandErrorCode = components['schemas']['CommandErrorCode'];
export type TransactionType = components['schemas']['TransactionType'];
export type PositionStatus = components['schemas']['PositionStatus'];
export type AccountEventStatus = components['schemas']['AccountEventStatus'];
export type PasswordKind = components['schemas']['PasswordKind'];
export type WebhookStatus = components['schemas']['WebhookStatus'];
export type WebhookDisabledReason = components['schemas']['WebhookDisabledReason'];
export type DeliveryStatus = components['schemas']['DeliveryStatus'];
export type PositionStatusFilter = components['schemas']['PositionStatusFilter'];
export type RiskAction = components['schemas']['RiskAction'];
export type RiskBasis = components['schemas']['RiskBasis'];
export type DailyLossBasis = components['schemas']['DailyLossBasis'];
export type RiskTemplateStatus = components['schemas']['RiskTemplateStatus'];
export type RiskTemplateProgress = components['schemas']['RiskTemplateProgress'];
export type TemplateAccountRules = components['schemas']['TemplateAccountRules'];
export type WebhookKind = components['schemas']['WebhookKind'];
export type Actor = components['schemas']['Actor'];
export type Wallet = components['schemas']['Wallet'];
export type CreditPrices = components['schemas']['CreditPrices'];
export type CreditUsage = components['schemas']['CreditUsage'];
export type Server = components['schemas']['Server'];
export type TradingAccount = components['schemas']['TradingAccount'];
export type AccountCredentials = components['schemas']['AccountCredentials'];
export type AccountPasswords = components['schemas']['AccountPasswords'];
export type AccountCreateResult = components['schemas']['AccountCreateResult'];
export type AccountUpdateResult = components['schemas']['AccountUpdateResult'];
export type AccountStatusResult = components['schemas']['AccountStatusResult'];
export type AccountDeleteResult = components['schemas']['AccountDeleteResult'];
export type PasswordResetResult = components['schemas']['PasswordResetResult'];
export type FundsResult = components['schemas']['FundsResult'];
export type AccountDisableResult = components['schemas']['AccountDisableResult'];
export type AccountCloseOnlyResult = components['schemas']['AccountCloseOnlyResult'];
export type AccountFlattenResult = components['schemas']['AccountFlattenResult'];
export type ClosedPosition = components['schemas']['ClosedPosition'];
export type RiskRulesResult = components['schemas']['RiskRulesResult'];
export type RiskSetTemplateResult = components['schemas']['RiskSetTemplateResult'];
export type RiskDeleteTemplateResult = components['schemas']['RiskDeleteTemplateResult'];
export type Command = components['schemas']['Command'];
export type CommandEnvelope = components['schemas']['CommandEnvelope'];
export type PasswordResetEnvelope = components['schemas']['PasswordResetEnvelope'];
export type Transaction = components['schemas']['Transaction'];
export type Order = components['schemas']['Order'];
export type Position = components['schemas']['Position'];
export type Deal = components['schemas']['Deal'];
export type AccountMetricSnapshot = components['schemas']['AccountMetricSnapshot'];
export type OpenPosition = components['schemas']['OpenPosition'];
export type StoredEquity = components['schemas']['StoredEquity'];
export type AccountState = components['schemas']['AccountState'];
export type ExportRecord = components['schemas']['ExportRecord'];
export type HistoryExport = components['schemas']['HistoryExport'];
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
export type AccountStateAnswer = components['schemas']['AccountStateAnswer'];
export type RiskLimit = components['schemas']['RiskLimit'];
export type RiskRule = components['schemas']['RiskRule'];
export type AccountRiskRules = components['schemas']['AccountRiskRules'];
export type RiskBreach = components['schemas']['RiskBreach'];
export type BreachEvidenceState = components['schemas']['BreachEvidenceState'];
export type BreachEvidence = components['schemas']['BreachEvidence'];
export type IntervalEvidence = components['schemas']['IntervalEvidence'];
export type ValuationEvidence = components['schemas']['ValuationEvidence'];
export type SampleEvidence = components['schemas']['SampleEvidence'];
export type EvidenceLimit = components['schemas']['EvidenceLimit'];
export type EvidenceUnit = components['schemas']['EvidenceUnit'];
export type EvidenceReference = components['schemas']['EvidenceReference'];
export type EvidenceSide = components['schemas']['EvidenceSide'];
export type EvidencePart = components['schemas']['EvidencePart'];
export type MissingReason = components['schemas']['MissingReason'];
export type EvidenceRule = components['schemas']['EvidenceRule'];
export type EvidenceBreach = components['schemas']['EvidenceBreach'];
export type EvidencePosition = components['schemas']['EvidencePosition'];
export type MissingEvidence = components['schemas']['MissingEvidence'];
export type EvidenceChain = components['schemas']['EvidenceChain'];
export type EvidenceSignature = components['schemas']['EvidenceSignature'];
export type RiskTemplate = components['schemas']['RiskTemplate'];
export type RiskTemplateAccounts = components['schemas']['RiskTemplateAccounts'];
export type RiskTemplateAnswer = components['schemas']['RiskTemplateAnswer'];
export type RiskTemplatesAnswer = components['schemas']['RiskTemplatesAnswer'];
export type EvidenceStatus = components['schemas']['EvidenceStatus'];
export type TransactionsDigest = components['schemas']['TransactionsDigest'];
export type DealsDigest = components['schemas']['DealsDigest'];
export type AccountDigest = components['schemas']['AccountDigest'];
export type DigestsAnswer = components['schemas']['DigestsAnswer'];
export type RiskRulesAnswer = components['schemas']['RiskRulesAnswer'];
export type RiskBreachesAnswer = components['schemas']['RiskBreachesAnswer'];
export type RiskRulesTemplate = components['schemas']['RiskRulesTemplate'];
export type RiskTemplateSelection = components['schemas']['RiskTemplateSelection'];
export type WebhookEndpoint = components['schemas']['WebhookEndpoint'];
export type WebhookDelivery = components['schemas']['WebhookDelivery'];
export type DeliveryAttempt = components['schemas']['DeliveryAttempt'];
export type FeedEvent = components['schemas']['FeedEvent'];
export type WebhookEvent = components['schemas']['WebhookEvent'];
export type WebhookAnswer = components['schemas']['WebhookAnswer'];
export type WebhooksAnswer = components['schemas']['WebhooksAnswer'];
export type WebhookSecretAnswer = components['schemas']['WebhookSecretAnswer'];
export type DeletedWebhookAnswer = components['schemas']['DeletedWebhookAnswer'];
export type WebhookTestAnswer = components['schemas']['WebhookTestAnswer'];
export type WebhookReplayAnswer = components['schemas']['WebhookReplayAnswer'];
export type WebhookDeliveriesAnswer = components['schemas']['WebhookDeliveriesAnswer'];
export type WebhookDeliveryAnswer = components['schemas']['WebhookDeliveryAnswer'];
export type EventsAnswer = components['schemas']['EventsAnswer'];
export type AccountCreateCommand = components['schemas']['AccountCreateCommand'];
export type AccountUpdateCommand = components['schemas']['AccountUpdateCommand'];
export type AccountEnableCommand = components['schemas']['AccountEnableCommand'];
export type AccountDisableCommand = components['schemas']['AccountDisableCommand'];
export type AccountArchiveCommand = components['schemas']['AccountArchiveCommand'];
export type AccountDeleteCommand = components['schemas']['AccountDeleteCommand'];
export type AccountFlattenCommand = components['schemas']['AccountFlattenCommand'];
export type AccountCloseOnlyCommand = components['schemas']['AccountCloseOnlyCommand'];
export type AccountPasswordResetCommand = components['schemas']['AccountPasswordResetCommand'];
export type AccountInvestorPasswordResetCommand = components['schemas']['AccountInvestorPasswordResetCommand'];
export type AccountHistoryExportCommand = components['schemas']['AccountHistoryExportCommand'];
export type FinanceDepositCommand = components['schemas']['FinanceDepositCommand'];
export type FinanceWithdrawCommand = components['schemas']['FinanceWithdrawCommand'];
export type RiskSetRulesCommand = components['schemas']['RiskSetRulesCommand'];
export type RiskDeleteRulesCommand = components['schemas']['RiskDeleteRulesCommand'];
export type RiskSetTemplateCommand = components['schemas']['RiskSetTemplateCommand'];
export type RiskDeleteTemplateCommand = components['schemas']['RiskDeleteTemplateCommand'];
export type TransactionRecord = components['schemas']['TransactionRecord'];
export type OrderRecord = components['schemas']['OrderRecord'];
export type PositionRecord = components['schemas']['PositionRecord'];
export type DealRecord = components['schemas']['DealRecord'];
export type DailyLossRule = components['schemas']['DailyLossRule'];
export type MaxLossRule = components['schemas']['MaxLossRule'];
export type ProfitTargetRule = components['schemas']['ProfitTargetRule'];
export type AccountEvent = components['schemas']['AccountEvent'];
export type PasswordChangedEvent = components['schemas']['PasswordChangedEvent'];
export type OrderEvent = components['schemas']['OrderEvent'];
export type PositionEvent = components['schemas']['PositionEvent'];
export type PositionClosedEvent = components['schemas']['PositionClosedEvent'];
export type DealEvent = components['schemas']['DealEvent'];
export type TransactionEvent = components['schemas']['TransactionEvent'];
export type MarginEvent = components['schemas']['MarginEvent'];
export type RiskEvent = components['schemas']['RiskEvent'];
export type EvidenceEvent = components['schemas']['EvidenceEvent'];
export type LowBalanceEvent = components['schemas']['LowBalanceEvent'];
export type TestEvent = components['schemas']['TestEvent'];
export type CommandEvent = components['schemas']['CommandEvent'];
export type FeedAccountEvent = components['schemas']['FeedAccountEvent'];
export type FeedPasswordChangedEvent = components['schemas']['FeedPasswordChangedEvent'];
export type FeedOrderEvent = components['schemas']['FeedOrderEvent'];
export type FeedPositionEvent = components['schemas']['FeedPositionEvent'];
export type FeedPositionClosedEvent = components['schemas']['FeedPositionClosedEvent'];
export type FeedDealEvent = components['schemas']['FeedDealEvent'];
export type FeedTransactionEvent = components['schemas']['FeedTransactionEvent'];
export type FeedMarginEvent = components['schemas']['FeedMarginEvent'];
export type FeedRiskEvent = components['schemas']['FeedRiskEvent'];
export type FeedEvidenceEvent = components['schemas']['FeedEvidenceEvent'];
export type FeedLowBalanceEvent = components['schemas']['FeedLowBalanceEvent'];
export type FeedTestEvent = components['schemas']['FeedTestEvent'];
export type FeedCommandEvent = components['schemas']['FeedCommandEvent'];
export type UpdateServerConfiguration = components['schemas']['UpdateServerConfiguration'];
export type CreateTradingAccount = components['schemas']['CreateTradingAccount'];
export type BulkCreateTradingAccounts = components['schemas']['BulkCreateTradingAccounts'];
export type UpdateTradingAccount = components['schemas']['UpdateTradingAccount'];
export type AccountRequest = components['schemas']['AccountRequest'];
export type DisableAccount = components['schemas']['DisableAccount'];
export type ResetPassword = components['schemas']['ResetPassword'];
export type ExportAccountHistory = components['schemas']['ExportAccountHistory'];
export type Funds = components['schemas']['Funds'];
export type SetRiskRules = components['schemas']['SetRiskRules'];
export type SetRiskTemplate = components['schemas']['SetRiskTemplate'];
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
export type ListDailyDigestsQuery = components['schemas']['ListDailyDigestsQuery'];
export type GetAccountStateQuery = components['schemas']['GetAccountStateQuery'];
export type DeleteRiskRulesQuery = components['schemas']['DeleteRiskRulesQuery'];
export type DeleteRiskTemplateQuery = components['schemas']['DeleteRiskTemplateQuery'];
export type ListRiskBreachesQuery = components['schemas']['ListRiskBreachesQuery'];
export type GetIntervalEvidenceQuery = components['schemas']['GetIntervalEvidenceQuery'];
export type ListWebhookDeliveriesQuery = components['schemas']['ListWebhookDeliveriesQuery'];
export type ListEventsQuery = components['schemas']['ListEventsQuery'];
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
