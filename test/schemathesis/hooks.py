"""What no document can say of a valid request: keys are used once, and some values depend on the server's state.

Only valid requests are changed, and only within their schema; wrong ones go out as Schemathesis makes them.
"""

import os
import uuid

import schemathesis
from schemathesis import GenerationMode

SUPPORTED = 100


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.meta is not None and case.meta.generation.mode is GenerationMode.NEGATIVE:
        return
    if case.headers is not None and "Idempotency-Key" in case.headers:
        case.headers["Idempotency-Key"] = str(uuid.uuid4())
    path = case.operation.path
    if case.method.upper() == "DELETE" or path.endswith("/delete"):
        case.path_parameters["accountNumber"] = os.environ["SPARE_ACCOUNT"]
    body = case.body
    if not isinstance(body, dict):
        return
    items = body["accounts"] if isinstance(body.get("accounts"), list) else [body]
    for item in items:
        if isinstance(item, dict) and "leverage" in item:
            item["leverage"] = SUPPORTED
    if isinstance(body.get("supportedLeverage"), list):
        body["supportedLeverage"] = [*body["supportedLeverage"][1:], SUPPORTED]
        body["supportedLeverage"] = sorted(set(body["supportedLeverage"]))
    if body.get("defaultLeverage") is not None:
        body["defaultLeverage"] = SUPPORTED
    if "from" in body and "to" in body:
        del body["from"]
