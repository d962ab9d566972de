"""What lies on the disk: run folders, checkpoints, manifests, locks, configuration files."""

from regulargpt.storage.atomic import FormatError, StorageError
from regulargpt.storage.checkpoint import Checkpoint
from regulargpt.storage.environment import environment
from regulargpt.storage.folder import RunFolder
from regulargpt.storage.lock import LockedError
from regulargpt.storage.manifest import IntegrityError
from regulargpt.storage.signals import StopRequested

__all__ = [
    "Checkpoint",
    "FormatError",
    "IntegrityError",
    "LockedError",
    "RunFolder",
    "StopRequested",
    "StorageError",
    "environment",
]
