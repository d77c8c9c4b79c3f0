"""HTTP requests to the API server. Only this module calls the client of the `kubernetes` package.

Calls block, with timeouts. Thread-safe.
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
"""Name of the operator in requests and Events."""
JSON: Final = "application/json"
METADATA: Final = f"{JSON};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
"""Media type of an object with only its metadata."""
METADATA_LIST: Final = f"{JSON};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

_CONNECT_SECONDS: Final = 5.0
_READ_SECONDS: Final = 30.0
_CONNECTIONS: Final = 32
_VERBS: Final = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Connection(NamedTuple):
    """Connection parameters of the API server, for another client in the same process.

    Attributes:
        server: its URL.
        ca, certificate, key: paths of PEM files; None: none.
        verify: whether the server's certificate is checked.
        server_name: server name that the certificate must match; None: the host name of the URL.
        proxy: URL of a proxy; None: none.
    """

    server: str
    ca: str | None
    certificate: str | None
    key: str | None
    verify: bool
    server_name: str | None
    proxy: str | None


class ApiServer:
    """Client of one API server.

    Args:
        configuration: configuration of the client.
        on_request: called after each request with its verb, its kind, and the HTTP status (0: no answer).
        timeouts: seconds to connect, and seconds to wait for a response.
    """

    def __init__(
        self,
        configuration: Configuration,
        *,
        on_request: Callable[[str, str, int], None] = lambda verb, kind, code: None,
        timeouts: tuple[float, float] = (_CONNECT_SECONDS, _READ_SECONDS),
    ) -> None:
        self._configuration = configuration
        # Retry once, since an idle connection may have been closed; a request that changes an object is retried only if
        # nothing was sent. All other retries are up to the caller.
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
        """Return a client for the API server of this pod's cluster, or of a kubeconfig file.

        Args:
            kubeconfig: path of the file; None: this pod's service account is used.
            context: context in the file; None: its current one.
            more: as for the constructor.

        Raises:
            ConfigError: there is no service account, or the file cannot be read or is incomplete.
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
            where = "the service account of this pod" if kubeconfig is None else str(kubeconfig)
            hint = " Outside of a cluster, set --kubeconfig." if kubeconfig is None else ""
            raise ConfigError(Problem(where, f"gives no access to an API server: {e}.{hint}")) from e
        except OSError as e:
            raise ConfigError(Problem(str(kubeconfig), f"cannot be read: {e.strerror}")) from e
        return cls(configuration, **more)

    def within_seconds(self, connect: float, read: float) -> "ApiServer":
        """Return a client of the same API server with other timeouts."""
        return ApiServer(self._configuration, on_request=self._on_request, timeouts=(connect, read))

    def without_credentials(self) -> "ApiServer":
        """Return a client of the same API server without credentials: each request must have its own."""
        own = self._configuration
        bare = Configuration()
        bare.host, bare.proxy, bare.no_proxy = own.host, own.proxy, own.no_proxy
        bare.ssl_ca_cert, bare.verify_ssl, bare.tls_server_name = own.ssl_ca_cert, own.verify_ssl, own.tls_server_name
        return ApiServer(bare, on_request=self._on_request, timeouts=self._timeouts)

    @property
    def connection(self) -> Connection:
        c = self._configuration
        return Connection(
            c.host, c.ssl_ca_cert, c.cert_file, c.key_file, bool(c.verify_ssl), c.tls_server_name, c.proxy
        )

    def authorization(self) -> str | None:
        """Return the current `Authorization` header; the token of a service account is read again every minute."""
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
        authorization: str | None = None,
    ) -> Answer:
        """Send a request, and return the response, including an error response.

        Args:
            method: HTTP method.
            kind: kind of the object, for `on_request`.
            path: absolute path.
            doing: prefix of the message of an error, such as `Reading Pod a/b`.
            body: body, which is sent as JSON; None: none.
            content_type: content type of the body.
            query: query parameters, which are not quoted yet.
            verb: verb for `on_request`; empty: that of the method.
            accept: media type of the response.
            authorization: `Authorization` header; None: that of this process.

        Raises:
            Unavailable: there was no response.
        """
        headers = {"Accept": f"{accept}, */*", "User-Agent": COMPONENT}
        try:
            if (authorization := authorization or self.authorization()) is not None:
                headers["Authorization"] = authorization
        except (ConfigException, OSError) as e:
            raise Unavailable(f"{doing}: cannot read the credentials: {e}") from e
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
        """Count a request of another client of this process."""
        self._on_request(verb, kind, code)

    def close(self) -> None:
        self._rest.close()


def _cause(error: BaseException) -> str:
    """Return the innermost cause of an error of urllib3, without URL and class names."""
    inner: object = error
    while isinstance(getattr(inner, "reason", None), BaseException):
        inner = inner.reason  # type: ignore[attr-defined]
    text = str(inner).rpartition("): ")[2].removeprefix("Failed to establish a new connection: ")
    return text or type(error).__name__
