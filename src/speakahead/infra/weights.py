"""The model's way into the weights cache: once for each content.

A model is a set of files; its prefix has the hash of their names and contents. Objects appear in
S3 complete or not at all, so one that is there and has the right size is the right one, and an
upload that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from boto3.exceptions import Boto3Error
from boto3.s3.transfer import TransferConfig

from speakahead.assets import ModelDirectory
from speakahead.assets.integrity import installed_voices, sha256_of
from speakahead.assets.manifest import VOICE_SUFFIX, VOICES_FOLDER
from speakahead.infra.account import Account, aws_errors
from speakahead.infra.errors import DeploymentFailed

_TRANSFER = TransferConfig(multipart_chunksize=16 * 1024 * 1024, max_concurrency=4)


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """What an endpoint needs of a model.

    Attributes:
        files: by their paths in ``/opt/ml/model``.
        prefix: below which they are kept, with a slash at the end.
        size: of all, in bytes.
    """

    files: dict[str, Path]
    prefix: str
    size: int


def model_files(name: str, model: ModelDirectory, prepared: Path) -> ModelFiles:
    """The published weights, the voices, and the parts that were prepared from the weights.

    Args:
        name: of the model.
        model: where it lies.
        prepared: directory with its parts; see ``kokoro.prepare``.

    Raises:
        DeploymentFailed: a file cannot be read.
    """
    files = {model.weights.name: model.weights}
    for voice in installed_voices(model.path):
        path = f"{VOICES_FOLDER}/{voice}{VOICE_SUFFIX}"
        files[path] = model.path / path
    for part in sorted(prepared.iterdir()):
        files[f"prepared/{prepared.name}/{part.name}"] = part
    digest = hashlib.sha256()
    size = 0
    try:
        for path, file in sorted(files.items()):
            digest.update(f"{sha256_of(file)}  {path}\n".encode())
            size += file.stat().st_size
    except OSError:
        raise DeploymentFailed(
            "The model's files cannot be read; `speakahead models verify` says which."
        ) from None
    return ModelFiles(files, f"models/{name}/{digest.hexdigest()[:32]}/", size)


def upload(
    account: Account,
    bucket: str,
    model: ModelFiles,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Put what is missing into the cache; returns how many bytes that was.

    Args:
        account: that the bucket is in.
        bucket: the weights cache.
        model: its files.
        progress: told about bytes that have arrived or were there already; called by several
            threads.

    Raises:
        DeploymentFailed: a file cannot be read or sent. What was sent stays for the next try.
    """
    s3 = account.client("s3")
    report = progress or (lambda count: None)
    with aws_errors():
        pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=model.prefix)
        there = {
            entry["Key"]: entry["Size"] for page in pages for entry in page.get("Contents", ())
        }
        sent = 0
        for path, file in model.files.items():
            key, size = model.prefix + path, file.stat().st_size
            if there.get(key) == size:
                report(size)
                continue
            try:
                s3.upload_file(
                    str(file),
                    bucket,
                    key,
                    ExtraArgs={"ChecksumAlgorithm": "SHA256"},
                    Callback=report,
                    Config=_TRANSFER,
                )
            except (Boto3Error, OSError):
                raise DeploymentFailed(
                    f"{path} could not be sent to S3; what was sent is kept, so try again."
                ) from None
            sent += size
    return sent


def empty(account: Account, bucket: str) -> int:
    """Remove all objects of the cache, with all their versions; returns how many there were."""
    s3 = account.client("s3")
    count = 0
    with aws_errors():
        for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket):
            entries = [*page.get("Versions", ()), *page.get("DeleteMarkers", ())]
            keys = [{"Key": entry["Key"], "VersionId": entry["VersionId"]} for entry in entries]
            if keys:
                s3.delete_objects(Bucket=bucket, Delete={"Objects": keys, "Quiet": True})
                count += len(keys)
    return count
