"""Adapts requests that are valid by the OpenAPI document to rules that the document cannot express.

For example, each request needs a new idempotency key, and some values are valid only in a certain state of kapi.

The hooks change only valid requests, and only within their schema. Schemathesis sends invalid requests unchanged.
"""

import json
import os
import urllib.request
import uuid

import schemathesis
from schemathesis import GenerationMode

SUPPORTED_LEVERAGE = 100
MAX_ENDPOINTS = 20
WEBHOOKS = "/api/v1/management/webhooks"
TIMEOUT_S = 10


def request(method, path):
    headers = {"Authorization": os.environ["AUTHORIZATION"]}
    asked = urllib.request.Request(os.environ["BASE_URL"] + path, method=method, headers=headers)
    with urllib.request.urlopen(asked, timeout=TIMEOUT_S) as answer:
        return json.load(answer)


def make_room_for_an_endpoint():
    """Deletes the oldest endpoints, so that the organization can create one more."""
    endpoints = request("GET", WEBHOOKS)["endpoints"]
    for endpoint in endpoints[: max(0, len(endpoints) - MAX_ENDPOINTS + 1)]:
        request("DELETE", WEBHOOKS + "/" + endpoint["id"])


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.meta is not None and case.meta.generation.mode is GenerationMode.NEGATIVE:
        return
    if case.headers is not None and "Idempotency-Key" in case.headers:
        case.headers["Idempotency-Key"] = str(uuid.uuid4())
    path = case.operation.path
    if case.method.upper() == "DELETE" or path.endswith("/delete"):
        case.path_parameters["accountNumber"] = os.environ["SPARE_ACCOUNT"]
    if case.query and "after" in case.query:
        # Cursors are opaque: apart from "now", only cursors from the feed are valid.
        case.query["after"] = "now"
    if case.method.upper() == "POST" and path == WEBHOOKS:
        make_room_for_an_endpoint()
    body = case.body
    if not isinstance(body, dict):
        return
    if path.startswith(WEBHOOKS):
        # kapi's settings decide which `url` is allowed. A disabled endpoint rejects test events.
        if "url" in body:
            body["url"] = "https://backend.example.com/kapi"
        if "status" in body:
            body["status"] = "enabled"
    items = body["accounts"] if isinstance(body.get("accounts"), list) else [body]
    for item in items:
        if isinstance(item, dict) and "leverage" in item:
            item["leverage"] = SUPPORTED_LEVERAGE
    if isinstance(body.get("supportedLeverage"), list):
        body["supportedLeverage"] = [*body["supportedLeverage"][1:], SUPPORTED_LEVERAGE]
        body["supportedLeverage"] = sorted(set(body["supportedLeverage"]))
    if body.get("defaultLeverage") is not None:
        body["defaultLeverage"] = SUPPORTED_LEVERAGE
    # `from` must be before `to`, so the body keeps only `to`.
    if "from" in body and "to" in body:
        del body["from"]
