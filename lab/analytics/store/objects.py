"""Object stores that speak S3: where one is, and how it is reached. Executors import this.

An address is `s3://bucket/folder`. Everything else is configured by the environment, as for other programs:
AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, and AWS_ENDPOINT_URL for a store that is not
Amazon's.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import pyarrow.fs as pafs

from broker_core.texts import Rejection

if TYPE_CHECKING:
    from obstore.store import S3Config, S3Store

SCHEME = "s3://"
DEFAULT_REGION = "us-east-1"
CONNECT_TIMEOUT_S = 5
REQUEST_TIMEOUT_S = 30
RETRIES = 4
RETRY_TIMEOUT_S = 20
_NO_BUCKET = "NoSuchBucket"


class PlaceError(Rejection):
    """An object store cannot be used as it was asked to be: there is none, it does not answer, or it refuses."""

    status = 503


def is_object_store(place: str) -> bool:
    """Whether a place is in an object store, and not a folder. Raises PlaceError for a scheme that is not known."""
    scheme, separator, _ = place.partition("://")
    if separator and f"{scheme}{separator}" != SCHEME:
        raise PlaceError("refusal.place_scheme", place=place, scheme=scheme)
    return bool(separator)


class Address(NamedTuple):
    """A bucket, and what the names of objects in it begin with; `folder` has no slash at its ends."""

    bucket: str
    folder: str

    @classmethod
    def of(cls, place: str) -> "Address":
        """Raises PlaceError for a place without a bucket."""
        bucket, _, folder = place.removeprefix(SCHEME).partition("/")
        if not bucket:
            raise PlaceError("refusal.place_bucket", place=place)
        return cls(bucket, folder.strip("/"))

    def __str__(self) -> str:
        return f"{SCHEME}{self.bucket}/{self.folder}" if self.folder else f"{SCHEME}{self.bucket}"

    def at(self, name: str) -> str:
        """What an object is called in its bucket."""
        return "/".join(filter(None, (self.folder, name.strip("/"))))


def endpoint() -> str:
    """The address of the store; empty for Amazon's."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""


def _region() -> str:
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or DEFAULT_REGION


def filesystem() -> pafs.S3FileSystem:
    """As pyarrow reads it: paths are `bucket/name`."""
    return _filesystem(endpoint(), _region())


@cache
def _filesystem(endpoint: str, region: str) -> pafs.S3FileSystem:
    scheme, _, host = endpoint.rpartition("://")
    return pafs.S3FileSystem(
        region=region,
        **({"endpoint_override": host.rstrip("/"), "scheme": scheme or "https"} if host else {}),
        connect_timeout=CONNECT_TIMEOUT_S,
        request_timeout=REQUEST_TIMEOUT_S,
        retry_strategy=pafs.AwsStandardS3RetryStrategy(max_attempts=RETRIES),
    )


def client(address: Address) -> "S3Store":
    """For what pyarrow cannot: to create an object only where there is none. Raises PlaceError without obstore."""
    try:
        from obstore.store import S3Store
    except ImportError:
        raise PlaceError("refusal.place_packages", place=str(address)) from None
    where = endpoint()
    config: S3Config = {"region": _region()}
    if where:
        config |= {"endpoint": where, "virtual_hosted_style_request": False}
    return S3Store(
        address.bucket,
        config=config,
        client_options={
            "connect_timeout": f"{CONNECT_TIMEOUT_S}s",
            "timeout": f"{REQUEST_TIMEOUT_S}s",
            "allow_http": where.startswith("http://"),
        },
        retry_config={"max_retries": RETRIES, "retry_timeout": timedelta(seconds=RETRY_TIMEOUT_S)},
    )


@contextmanager
def translated_errors(place: str) -> Iterator[None]:
    """The errors of an object store, whichever of its two clients has met them: what is not there is a
    FileNotFoundError, what is there already a FileExistsError, and all other failures are Refusals.
    """
    try:
        yield
    except FileNotFoundError as error:
        if _NO_BUCKET in str(error):
            raise _failed(place, error) from error
        raise
    except (FileExistsError, PlaceError):
        raise
    except OSError as error:
        raise _failed(place, error) from error
    except Exception as error:
        # Those of obstore, which is an extra: its classes are known once it has raised one.
        known = {base.__name__ for base in type(error).__mro__ if base.__module__.startswith("obstore")}
        if "NotFoundError" in known and _NO_BUCKET not in str(error):
            raise FileNotFoundError(str(error)) from error
        if "AlreadyExistsError" in known:
            raise FileExistsError(str(error)) from error
        if known:
            raise _failed(place, error) from error
        raise


def _failed(place: str, error: BaseException) -> PlaceError:
    """An object store has not done what it was asked."""
    if _NO_BUCKET in str(error):
        return PlaceError("refusal.place_no_bucket", place=place, bucket=Address.of(place).bucket)
    problem = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
    return PlaceError("refusal.place_failed", place=place, problem=problem)


def folder_at(place: str) -> "Folder":
    """A folder of this machine or of an object store, to be read. Raises PlaceError for a place that cannot be one."""
    return ObjectPath(Address.of(place)) if is_object_store(place) else Path(place)


class ObjectPath:
    """A name in an object store, for reading, with what of `Path` readers of recordings use."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._path = "/".join(filter(None, address))

    def __str__(self) -> str:
        return str(self._address)

    def __truediv__(self, name: str) -> "ObjectPath":
        return ObjectPath(Address(self._address.bucket, self._address.at(name)))

    @property
    def name(self) -> str:
        return self._path.rpartition("/")[2]

    @property
    def stem(self) -> str:
        return self.name.rpartition(".")[0] or self.name

    @property
    def parent(self) -> "ObjectPath":
        return ObjectPath(Address(self._address.bucket, self._address.folder.rpartition("/")[0]))

    def is_dir(self) -> bool:
        with translated_errors(str(self)):
            return bool(filesystem().get_file_info(self._path).type == pafs.FileType.Directory)

    def is_file(self) -> bool:
        with translated_errors(str(self)):
            return bool(filesystem().get_file_info(self._path).type == pafs.FileType.File)

    def glob(self, pattern: str) -> list["ObjectPath"]:
        """What is in this folder and has a name that ends as `pattern`, `*.log`, does."""
        with translated_errors(str(self)):
            found = filesystem().get_file_info(pafs.FileSelector(self._path, allow_not_found=True))
        names = (one.base_name for one in found)
        return [self / name for name in names if name.endswith(pattern.removeprefix("*"))]

    def open(self, mode: str = "rb") -> BinaryIO:
        with translated_errors(str(self)):
            stream: BinaryIO = filesystem().open_input_file(self._path)
        return stream

    def written_s(self) -> float:
        """When it was written: seconds of wall time. Raises FileNotFoundError."""
        with translated_errors(str(self)):
            info = filesystem().get_file_info(self._path)
        if info.mtime_ns is None:
            raise FileNotFoundError(str(self))
        return float(info.mtime_ns) / 1e9

    def read_bytes(self) -> bytes:
        with translated_errors(str(self)), filesystem().open_input_file(self._path) as stream:
            data: bytes = stream.read()
        return data


Folder = Path | ObjectPath
"""A folder or a file, to be read."""


def inside(folder: Folder, pattern: str = "*") -> list[Folder]:
    """What is in a folder, in order of names: all, or what ends as a pattern, `*.log`, does. Nothing where there is no
    folder.
    """
    found: list[Folder] = [*folder.glob(pattern)]
    return sorted(found, key=str)
