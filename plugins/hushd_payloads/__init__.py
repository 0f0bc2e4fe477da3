"""Payload formats: a bare number, and JSON."""

from collections.abc import Iterator

from hushd.plugin import Decoder, hookimpl
from hushd_payloads import json_payload, number


@hookimpl
def hushd_decoders() -> Iterator[Decoder]:
    """Offer the decoders of this plugin."""
    yield Decoder("number", "the payload is a decimal number: 63.2", number.build)
    yield Decoder("json", "a number in a JSON payload: json:path.to.field", json_payload.build)
