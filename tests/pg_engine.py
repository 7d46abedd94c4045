"""A PostgreSQL of a test's own: Debian's package, in a folder of the test's, on loopback, gone at the end."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from free_ports import free_port

PATIENCE_S = 60


def programs():
    """Where Debian keeps the newest version's programs; None when there are none."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


class Engine:
    """Made and started; `end()` removes it."""

    def __init__(self):
        self.programs = programs()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-pg-"))
        self.port = free_port()
        self.databases = 0
        # The engine refuses to be root's.
        self.owner = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if self.owner:
            shutil.chown(self.folder, "postgres")
        self.run("initdb", "-D", self.data(), "-U", "muster", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")
        hba = self.folder / "data/pg_hba.conf"
        hba.write_text("host all careful 127.0.0.1/32 scram-sha-256\n" + hba.read_text())
        self.start()

    def data(self):
        return str(self.folder / "data")

    def run(self, program, *arguments, check=True):
        done = subprocess.run([*self.owner, str(self.programs / program), *arguments], cwd="/", stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S)
        if check and done.returncode != 0:
            raise RuntimeError(f"{program}: {done.stdout}")
        return done

    def start(self, *settings):
        options = [f"-c port={self.port}", "-c listen_addresses=127.0.0.1", f"-c unix_socket_directories={self.folder}",
                   "-c shared_buffers=16MB", "-c max_connections=60", *settings]
        # Its output goes to its log: a pipe of ours would never end.
        subprocess.run([*self.owner, str(self.programs / "pg_ctl"), "-D", self.data(), "-l", str(self.folder / "log"), "-w", "-t",
                        str(PATIENCE_S), "start", "-o", " ".join(options)], cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=True, timeout=2 * PATIENCE_S)

    def stop(self):
        """As by its own kill -9."""
        self.run("pg_ctl", "-D", self.data(), "-m", "immediate", "stop", check=False)

    def end(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def revive(self, standby):
        """After a test that ended the primary: without its standby, as before."""
        standby.end()
        self.stop()
        self.start()

    def sql(self, statement, database="postgres"):
        done = subprocess.run(["psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", "muster", "-d", database, "-tAqc", statement],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return done.stdout.strip()

    def database(self):
        """The name of a new one."""
        self.databases += 1
        name = f"muster_{self.databases}"
        self.sql(f"CREATE DATABASE {name}")
        return name

    def url(self, database, user="muster"):
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"


class Standby:
    """A synchronous standby of an engine, made from it and started."""

    def __init__(self, primary):
        self.primary = primary
        self.port = free_port()
        self.folder = primary.folder / f"standby-{self.port}"
        primary.run("pg_basebackup", "-h", "127.0.0.1", "-p", str(primary.port), "-U", "muster", "-D", str(self.folder), "-R", "-c", "fast")
        with open(self.folder / "postgresql.auto.conf", "a", encoding="utf-8") as settings:
            settings.write("wal_retrieve_retry_interval = 100\n")
        self.control("start", "-l", str(primary.folder / "standby.log"), "-o",
                     f"-c port={self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={primary.folder} "
                     "-c shared_buffers=16MB -c max_connections=60")
        # Only the running one is told: its next start is without a standby.
        primary.stop()
        primary.start("-c synchronous_standby_names=*")
        for _ in range(600):
            if primary.sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == "1":
                return
            time.sleep(0.1)
        raise RuntimeError("the standby does not follow")

    def control(self, *arguments):
        subprocess.run([*self.primary.owner, str(self.primary.programs / "pg_ctl"), "-D", str(self.folder), "-w", "-t", str(PATIENCE_S),
                        *arguments], cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       timeout=2 * PATIENCE_S, check=False)

    def promote(self):
        self.control("promote")

    def end(self):
        self.control("stop", "-m", "immediate")
