"""A machine whose date and disk can be bent: the storm's preload library, and the block of memory that tells it what to do.

The block is that of storm/fault_block.h.
"""

import mmap
import pathlib
import shutil
import struct
import tempfile

from muster_peer import Daemon
from served import Served

FIELDS = {"date_offset_ms": ("<q", 0), "sync_delay_ms": ("<i", 8), "sync_fails": ("<i", 12), "disk_full": ("<i", 16)}
BLOCK_BYTES = 48


class FaultyMachine(Served):
    """A daemon on such a machine; all is well until a fault is set."""

    library = ""  # the preload library

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.synced = self.folder / "synced"  # what a power loss leaves of the store
        self.synced.mkdir()
        with open(self.folder / "faults", "wb+") as file:
            file.truncate(BLOCK_BYTES)
            self.block = mmap.mmap(file.fileno(), BLOCK_BYTES)
        self.addCleanup(self.block.close)
        self.daemon = Daemon(self.muster, folder.name, LD_PRELOAD=self.library, STORM_FAULTS=str(self.folder / "faults"),
                             STORM_STORE=str(self.folder / "muster.db"), STORM_SYNCED=str(self.synced), **self.settings)
        self.addCleanup(self.end)

    def end(self):
        self.set(sync_delay_ms=0)
        super().end()

    def set(self, **faults):
        for name, value in faults.items():
            form, at = FIELDS[name]
            self.block[at:at + struct.calcsize(form)] = struct.pack(form, value)

    def lose_power(self):
        """The process is gone, and so is all that was not synced."""
        self.daemon.process.kill()
        self.daemon.process.wait()
        for file in self.folder.glob("muster.db*"):
            file.unlink()
        for file in self.synced.glob("muster.db*"):
            shutil.copy(file, self.folder / file.name)
