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


def sql(port, statement, database="postgres"):
    done = subprocess.run(["psql", "-h", "127.0.0.1", "-p", str(port), "-U", "muster", "-d", database, "-tAqc", statement],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return done.stdout.strip()


def until_synchronous(port):
    for _ in range(10 * PATIENCE_S):
        if sql(port, "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == "1":
            # Commits wait only once the checkpointer has read the setting, too. It does so before it begins a checkpoint.
            sql(port, "CHECKPOINT")
            return
        time.sleep(0.1)
    raise RuntimeError("the standby does not follow")


class Engine:
    """Made and started; `end()` removes it."""

    def __init__(self, shared_buffers="16MB"):
        self.programs = programs()
        self.shared_buffers = shared_buffers
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
                   f"-c shared_buffers={self.shared_buffers}", "-c max_connections=60", *settings]
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
        return sql(self.port, statement, database)

    def database(self):
        """The name of a new one."""
        self.databases += 1
        name = f"muster_{self.databases}"
        self.sql(f"CREATE DATABASE {name}")
        return name

    def recycle_log(self):
        """As after some time of use: commits write into segments of the log that are there, and wait for no new file."""
        for _ in range(4):
            self.sql("SELECT pg_logical_emit_message(true, 'muster', 'next'); SELECT pg_switch_wal()")
        self.sql("CHECKPOINT")

    def url(self, database, user="muster"):
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"


class Standby:
    """A synchronous standby of an engine, made from it and started."""

    def __init__(self, primary):
        self.primary = primary
        self.port = free_port()
        self.folder = primary.folder / f"standby-{self.port}"
        self.follow(primary.port)
        # Only the running one is told: its next start is without a standby.
        primary.stop()
        primary.start("-c synchronous_standby_names=*")
        until_synchronous(primary.port)

    def follow(self, port):
        """Copies the primary at that port, and follows it."""
        self.primary.run("pg_basebackup", "-h", "127.0.0.1", "-p", str(port), "-U", "muster", "-D", str(self.folder), "-R", "-c", "fast")
        with open(self.folder / "postgresql.auto.conf", "a", encoding="utf-8") as settings:
            settings.write("wal_retrieve_retry_interval = 100\n")
        self.control("start", "-l", str(self.primary.folder / "standby.log"), "-o",
                     f"-c port={self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.primary.folder} "
                     f"-c shared_buffers={self.primary.shared_buffers} -c max_connections=60")

    def control(self, *arguments):
        subprocess.run([*self.primary.owner, str(self.primary.programs / "pg_ctl"), "-D", str(self.folder), "-w", "-t", str(PATIENCE_S),
                        *arguments], cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       timeout=2 * PATIENCE_S, check=False)

    def promote(self):
        self.control("promote")

    def stop(self):
        """As by its own kill -9."""
        self.control("stop", "-m", "immediate")

    end = stop


class EnginePair:
    """A primary and its synchronous standby at two ports that stay; the standby may take over any number of times."""

    def __init__(self):
        self.engine = Engine()
        try:
            # The first of them is the primary.
            self.places = [Standby(self.engine)]
            self.places.append(_Place(self.engine))
            self.promote()
            self.mend()
        except BaseException:
            self.end()
            raise

    @property
    def port(self):
        return self.places[0].port

    def url(self, database):
        ports = sorted(place.port for place in self.places)
        return f"postgresql://muster@127.0.0.1:{ports[0]},127.0.0.1:{ports[1]}/{database}?target_session_attrs=read-write"

    def database(self, name):
        sql(self.port, f"CREATE DATABASE {name}")
        return name

    def fail_over(self):
        """The primary dies, and its standby takes its place."""
        self.places.reverse()
        self.promote()

    def promote(self):
        self.places[1].stop()
        self.places[0].promote()

    def mend(self):
        """Makes the dead one a standby. Commits wait for it from then on."""
        dead = self.places[1]
        shutil.rmtree(dead.folder)
        dead.follow(self.port)
        sql(self.port, "ALTER SYSTEM SET synchronous_standby_names = '*'")
        sql(self.port, "SELECT pg_reload_conf()")
        until_synchronous(self.port)

    def end(self):
        for place in getattr(self, "places", []):
            place.stop()
        self.engine.end()


class _Place(Standby):
    """Where an engine was, for a standby of the next."""

    def __init__(self, engine):
        self.primary, self.port, self.folder = engine, engine.port, pathlib.Path(engine.data())
