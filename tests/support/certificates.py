"""An authority of one's own, and certificates that it signed: for servers on the loopback."""

import ssl
import subprocess
from pathlib import Path

_KEY = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"


class Authority:
    """Signs certificates; ``ca`` is what trusts them."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self._folder = folder
        self.ca = folder / f"{name}.pem"
        self._key = folder / f"{name}.key"
        extensions = ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign"]
        _openssl(
            f"req -x509 {_KEY} -days 2 -out {self.ca.name} -keyout {self._key.name}",
            *("-subj", f"/CN=hushd test {name}"),
            *[word for extension in extensions for word in ("-addext", extension)],
            folder=folder,
        )

    def issue(
        self, host: str = "localhost", *, days: int = 2, begins: int = 0
    ) -> tuple[Path, Path]:
        """Return certificate and key of a server or client called *host*.

        It is valid for *days*, and *begins* in so many: then ``faketime`` is needed.
        """
        certificate, key, request, extensions = (
            self._folder / f"{self.ca.stem}-{host}.{end}" for end in ("crt", "key", "csr", "ext")
        )
        extensions.write_text(
            f"subjectAltName=DNS:{host}\nbasicConstraints=critical,CA:FALSE\n"
            "keyUsage=critical,digitalSignature\nextendedKeyUsage=serverAuth,clientAuth\n"
            "subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n"
        )
        _openssl(
            f"req {_KEY} -subj /CN={host} -keyout {key.name} -out {request.name}",
            folder=self._folder,
        )
        _openssl(
            f"x509 -req -in {request.name} -CA {self.ca.name} -CAkey {self._key.name}"
            f" -CAcreateserial -days {days} -extfile {extensions.name} -out {certificate.name}",
            folder=self._folder,
            begins=begins,
        )
        return certificate, key

    def server(self, host: str = "localhost") -> ssl.SSLContext:
        """Return what a server called *host* proves itself with."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.issue(host))
        return context


def _openssl(words: str, *more: str, folder: Path, begins: int = 0) -> None:
    program = ["faketime", "-f", f"+{begins}d", "openssl"] if begins else ["openssl"]
    done = subprocess.run(
        [*program, *words.split(), *more], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
