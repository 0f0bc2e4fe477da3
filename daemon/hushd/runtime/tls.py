"""TLS towards the broker: whom to trust, and what to say when trust is not to be had."""

import ssl
from typing import NamedTuple

from hushd.config.records import Tls

#: OpenSSL's verify codes (``man openssl-verification-options``) -> what to do
_WAYS_OUT = {
    9: "it is not valid yet: check the clock of this machine, then the broker's certificate",
    10: "renew the broker's certificate, or check the clock of this machine",
    18: "name the certificate itself as mqtt.tls.ca if it is the right one",
    19: "name the certificate authority that signed it as mqtt.tls.ca",
    20: "name the certificate authority that signed it as mqtt.tls.ca",
    21: "name the certificate authority that signed it as mqtt.tls.ca",
    62: "connect by a name that the broker's certificate holds",
    64: "connect by an address or a name that the broker's certificate holds",
}

_NOT_TLS = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"}
NO_TLS = "does the broker speak TLS on this port? check mqtt.port"


class _Tidy(ssl.SSLSocket):
    """Closes itself when the handshake fails; paho leaves that to the garbage collector."""

    def do_handshake(self, block: bool = False) -> None:
        try:
            super().do_handshake(block)
        except BaseException:
            self.close()
            raise


class Trouble(NamedTuple):
    """Why there is no encrypted connection, and the way out."""

    reason: str
    hint: str


def context(tls: Tls) -> ssl.SSLContext:
    """Return a context made of the files as they are now: a renewed one counts at once.

    Raises:
        OSError: a file cannot be read, or holds no certificate or key.
    """
    made = ssl.create_default_context(cafile=None if tls.ca is None else str(tls.ca))
    made.sslsocket_class = _Tidy
    if tls.cert is not None:
        # a key with a passphrase has nobody to ask here: better an error than a prompt
        made.load_cert_chain(tls.cert, tls.key, password=lambda: "")
    if tls.insecure:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    return made


def explain(exc: ssl.SSLError) -> Trouble:
    """Return what a failed handshake means."""
    if isinstance(exc, ssl.SSLCertVerificationError):
        hint = _WAYS_OUT.get(exc.verify_code, "see mqtt.tls in the configuration")
        return Trouble(exc.verify_message, hint)
    reason = (exc.reason or str(exc)).replace("_", " ").lower()
    if isinstance(exc, ssl.SSLEOFError) or exc.reason in _NOT_TLS:
        return Trouble(reason, NO_TLS)
    if "certificate required" in reason or "handshake failure" in reason:
        return Trouble(reason, "the broker may want a certificate: mqtt.tls.cert and key")
    return Trouble(reason, "see the broker's log")
