"""Calls kapi through the client that openapi-python-client generates. mypy checks this file strictly."""

import os
import time
from collections.abc import Callable
from uuid import UUID, uuid4

from kapi_api import AuthenticatedClient
from kapi_api.api.accounts import create_trading_account, update_trading_account
from kapi_api.api.commands import get_command
from kapi_api.api.finance import deposit_account_funds
from kapi_api.api.history import export_account_history, list_trading_account_transactions
from kapi_api.api.servers import update_server_configuration
from kapi_api.api.webhooks import list_events
from kapi_api.models import (
    AccountCreateCommand,
    AccountCreateResult,
    AccountHistoryExportCommand,
    AccountPasswords,
    AccountUpdateCommand,
    AccountUpdateResult,
    CommandAnswer,
    CommandEnvelope,
    CreateTradingAccount,
    Currency,
    Error,
    EventsAnswer,
    ExportAccountHistory,
    FeedTransactionEvent,
    FinanceDepositCommand,
    FinanceDepositCommandPayload,
    Funds,
    FundsResult,
    HistoryExport,
    ServerAnswer,
    TransactionRecord,
    TransactionsAnswer,
    TransactionType,
    UpdateServerConfiguration,
    UpdateTradingAccount,
    WebhookKind,
)
from kapi_api.types import UNSET, Unset

SERVER = UUID(os.environ["KAPI_SERVER"])
client = AuthenticatedClient(
    base_url=os.environ["KAPI_URL"], token=os.environ["KAPI_KEY"], prefix="Management", timeout=None
)
DEADLINE_S = 20
PAUSE_S = 0.1
# The number of the account that `create` makes.
account = ""


def check(name: str, run: Callable[[], None]) -> None:
    """Runs a check, and prints `ok <name>`, or `FAILED <name>` with the reason."""
    try:
        run()
        print(f"ok {name}")
    except Exception as error:  # noqa: BLE001
        print(f"FAILED {name}: {error!r}")


def final_command(queued: object) -> CommandAnswer:
    assert isinstance(queued, CommandEnvelope), queued
    answer = get_command.sync(queued.command.id, client=client, wait=20)
    assert isinstance(answer, CommandAnswer), answer
    return answer


def create() -> None:
    global account
    body = CreateTradingAccount(account_name="python", initial_balance=1000, leverage=100, request_id="create")
    queued = create_trading_account.sync(SERVER, client=client, body=body, idempotency_key=str(uuid4()))
    assert isinstance(queued, CommandEnvelope) and isinstance(queued.credentials, AccountPasswords), queued
    assert len(queued.credentials.trading_password) >= 8
    command = final_command(queued).command
    assert isinstance(command, AccountCreateCommand) and isinstance(command.result, AccountCreateResult), command
    account = command.result.account_number


def deposit() -> None:
    body = Funds(amount=250.5, request_id="deposit")
    queued = deposit_account_funds.sync(SERVER, account, client=client, body=body, idempotency_key=str(uuid4()))
    command = final_command(queued).command
    assert isinstance(command, FinanceDepositCommand) and isinstance(command.result, FundsResult), command
    assert command.result.balance_after == 1250.5, command
    assert isinstance(command.payload, FinanceDepositCommandPayload) and command.payload.amount == 250.5, command


def transactions() -> None:
    kind = TransactionType.DEPOSIT
    page = list_trading_account_transactions.sync(SERVER, account, client=client, limit=10, type_=kind)
    assert isinstance(page, TransactionsAnswer), page
    shown = [(row.type_, row.amount, row.currency) for row in page.transactions]
    assert shown == [(TransactionType.DEPOSIT, 250.5, Currency.USD)], shown
    assert page.pagination.total == 1, page.pagination


def walk() -> None:
    # The client also sends `page=1`, the default in the document, with each cursor.
    amounts: list[float] = []
    cursor: str | Unset = UNSET
    while True:
        page = list_trading_account_transactions.sync(SERVER, account, client=client, limit=1, cursor=cursor)
        assert isinstance(page, TransactionsAnswer), page
        amounts += [row.amount for row in page.transactions]
        if page.pagination.next_cursor is None:
            break
        cursor = page.pagination.next_cursor
    assert amounts == [250.5, 1000], amounts


def patch_account() -> None:
    body = UpdateTradingAccount(account_name="Renamed", request_id="update")
    queued = update_trading_account.sync(SERVER, account, client=client, body=body, idempotency_key=str(uuid4()))
    command = final_command(queued).command
    assert isinstance(command, AccountUpdateCommand) and isinstance(command.result, AccountUpdateResult), command
    assert command.result.account_name == "Renamed", command


def patch_server() -> None:
    body = UpdateServerConfiguration(default_leverage=100)
    answer = update_server_configuration.sync(SERVER, client=client, body=body)
    assert isinstance(answer, ServerAnswer) and answer.server.default_leverage == 100, answer


def issues() -> None:
    body = Funds(amount=-1, request_id="wrong")
    answer = deposit_account_funds.sync_detailed(SERVER, account, client=client, body=body, idempotency_key="wrong")
    error = answer.parsed
    assert answer.status_code == 400 and isinstance(error, Error) and isinstance(error.issues, list), answer
    assert (error.code, error.issues[0].path) == ("VALIDATION_FAILED", ["amount"]), error
    assert error.request_id == answer.headers["x-request-id"], error


def export() -> None:
    body = ExportAccountHistory(limit=1000, request_id="export")
    queued = export_account_history.sync(SERVER, account, client=client, body=body, idempotency_key=str(uuid4()))
    command = final_command(queued).command
    assert isinstance(command, AccountHistoryExportCommand) and isinstance(command.result, HistoryExport), command
    balances = [record.balance_after for record in command.result.records if isinstance(record, TransactionRecord)]
    assert balances == [1250.5, 1000], command.result.records


def amounts_in_feed() -> list[float]:
    # The generator repeats the parameter for each kind, although the document says `explode: false`.
    kinds = [WebhookKind.TRANSACTION_RECORDED, WebhookKind.ACCOUNT_UPDATED]
    answer = list_events.sync(client=client, kinds=kinds, limit=100)
    assert isinstance(answer, EventsAnswer), answer
    events = [event for event in answer.events if isinstance(event, FeedTransactionEvent)]
    return sorted(event.data.amount for event in events if event.data.account_number == account)


def feed() -> None:
    # An event is in the feed soon after its command is final.
    deadline = time.monotonic() + DEADLINE_S
    while (amounts := amounts_in_feed()) != [250.5, 1000]:
        assert time.monotonic() < deadline, amounts
        time.sleep(PAUSE_S)


check("create an account, and read the typed result", create)
check("deposit, and read the typed result", deposit)
check("list the transactions", transactions)
check("walk two pages by cursor", walk)
check("change the account by PATCH", patch_account)
check("change the server by PATCH", patch_server)
check("read the issues of a 400", issues)
check("export the history, and tell its records apart", export)
check("read the feed, and tell its events apart", feed)
