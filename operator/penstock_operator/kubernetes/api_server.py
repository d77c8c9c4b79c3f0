"""The API server: how it is reached, and what it answers. The only module that calls the `kubernetes` package.

Calls block, with time limits, and may come from many threads.
"""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

import urllib3
from kubernetes.client.configuration import Configuration
from kubernetes.client.exceptions import ApiException
from kubernetes.client.rest import RESTClientObject
from kubernetes.config.config_exception import ConfigException
from kubernetes.config.incluster_config import load_incluster_config

from penstock.errors import ConfigError, Problem
from penstock_operator.errors import Unavailable
from penstock_operator.kubernetes.api_errors import Answer
from penstock_operator.kubernetes.kinds import Kind

__all__ = ["COMPONENT", "JSON", "METADATA", "METADATA_LIST", "ApiServer", "Connection"]

COMPONENT: Final = "penstock-operator"
"""As what this process makes itself known."""
JSON: Final = "application/json"
METADATA: Final = f"{JSON};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
"""An object without its body."""
METADATA_LIST: Final = f"{JSON};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

_CONNECT_SECONDS: Final = 5.0
_READ_SECONDS: Final = 30.0
_CONNECTIONS: Final = 32
_VERBS: Final = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Connection(NamedTuple):
    """How to reach the API server, for another client of the same process.

    Attributes:
        server: its URL.
        ca, certificate, key: files; None: none.
        verify: whether its certificate is checked.
        server_name: that the certificate is for; None: the host's.
        proxy: a URL.
    """

    server: str
    ca: str | None
    certificate: str | None
    key: str | None
    verify: bool
    server_name: str | None
    proxy: str | None


class ApiServer:
    """One API server.

    Args:
        configuration: of the client.
        on_request: told of every answer: verb, kind, HTTP status or 0.
        timeouts: seconds to connect, seconds to wait for an answer.
    """

    def __init__(
        self,
        configuration: Configuration,
        *,
        on_request: Callable[[str, str, int], None] = lambda verb, kind, code: None,
        timeouts: tuple[float, float] = (_CONNECT_SECONDS, _READ_SECONDS),
    ) -> None:
        self._configuration = configuration
        # One more try on a connection that was closed while it lay idle; of requests that change something only where
        # nothing had been sent. Everything else is tried again by who asked.
        configuration.retries = urllib3.Retry(
            total=1, status=0, redirect=0, allowed_methods={"GET"}, respect_retry_after_header=False
        )
        configuration.connection_pool_maxsize = _CONNECTIONS
        self._rest = RESTClientObject(configuration)
        self._on_request = on_request
        self._timeouts = timeouts
        self._credentials = threading.Lock()

    @classmethod
    def connect(cls, *, kubeconfig: Path | None = None, context: str | None = None, **more: Any) -> "ApiServer":
        """That of the cluster that this pod runs in, or of a kubeconfig file; `more` as the constructor takes it.

        Raises:
            ConfigError: there is neither, or the file does not say enough.
        """
        configuration = Configuration()
        try:
            if kubeconfig is None:
                load_incluster_config(configuration)  # type: ignore[no-untyped-call]
            else:
                from kubernetes.config.kube_config import load_kube_config

                load_kube_config(  # type: ignore[no-untyped-call]
                    str(kubeconfig), context=context, client_configuration=configuration, persist_config=False
                )
        except ConfigException as e:
            where = "in this pod" if kubeconfig is None else str(kubeconfig)
            hint = " Outside of a cluster give --kubeconfig." if kubeconfig is None else ""
            raise ConfigError(Problem(where, f"holds no access to an API server: {e}.{hint}")) from e
        except OSError as e:
            raise ConfigError(Problem(str(kubeconfig), f"cannot be read: {e.strerror}")) from e
        return cls(configuration, **more)

    @property
    def connection(self) -> Connection:
        """How it is reached."""
        c = self._configuration
        return Connection(
            c.host, c.ssl_ca_cert, c.cert_file, c.key_file, bool(c.verify_ssl), c.tls_server_name, c.proxy
        )

    def authorization(self) -> str | None:
        """The `Authorization` header as of now; a service account's token is read again every minute."""
        with self._credentials:
            token = self._configuration.get_api_key_with_prefix("BearerToken", alias="authorization")
        if token is not None:
            return str(token)
        return str(self._configuration.get_basic_auth_token()) if self._configuration.username else None

    def request(
        self,
        method: str,
        kind: Kind,
        path: str,
        doing: str,
        *,
        body: Mapping[str, Any] | None = None,
        content_type: str = JSON,
        query: Mapping[str, str] | None = None,
        verb: str = "",
        accept: str = JSON,
    ) -> Answer:
        """Ask; whatever was answered, an error as well.

        Args:
            method: of HTTP.
            kind: of object that it is about, for who counts.
            path: from the root.
            doing: what this is, for errors: `Reading Pod a/b`.
            body: sent as JSON.
            content_type: of the body.
            query: not yet quoted.
            verb: for who counts; empty: the method's.
            accept: in which form the answer is wanted.

        Raises:
            Unavailable: there was no answer.
        """
        headers = {"Accept": f"{accept}, */*", "User-Agent": COMPONENT}
        try:
            if (authorization := self.authorization()) is not None:
                headers["Authorization"] = authorization
        except (ConfigException, OSError) as e:
            raise Unavailable(f"{doing}: the credentials cannot be read: {e}") from e
        if body is not None:
            headers["Content-Type"] = content_type
        url = self._configuration.host.rstrip("/") + path + (f"?{urlencode(query)}" if query else "")
        code = 0
        try:
            response = self._rest.request(  # type: ignore[no-untyped-call]
                method, url, headers=headers, body=None if body is None else dict(body), _request_timeout=self._timeouts
            )
            answer = Answer(response.status, response.headers, response.read())
            code = answer.code
        except (urllib3.exceptions.HTTPError, ApiException, OSError) as e:
            raise Unavailable(f"{doing}: no answer from {self._configuration.host}: {_cause(e)}") from e
        finally:
            self._on_request(verb or _VERBS[method], kind.kind, code)
        return answer

    def count(self, verb: str, kind: str, code: int) -> None:
        """Tell of a request that another client of this process made."""
        self._on_request(verb, kind, code)

    def close(self) -> None:
        """Let go of the connections."""
        self._rest.close()


def _cause(error: BaseException) -> str:
    """What lies under urllib3's layers, without the URL and the names of its classes."""
    inner: object = error
    while isinstance(getattr(inner, "reason", None), BaseException):
        inner = inner.reason  # type: ignore[attr-defined]
    text = str(inner).rpartition("): ")[2].removeprefix("Failed to establish a new connection: ")
    return text or type(error).__name__
