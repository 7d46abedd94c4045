#!/usr/bin/env python3
"""Prometheus itself reads the alert rules, their tests and the queries of the Grafana dashboard. Exit 77 without a promtool.

    packaging_promtool_test.py FOLDER      a folder that may keep promtool
"""

import pathlib
import re
import subprocess
import sys
import tempfile

from packaging_metrics_test import dashboard_queries

HERE = pathlib.Path(__file__).resolve().parent.parent / "packaging/prometheus"


def run(what, *command):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=60)
    if result.returncode != 0:
        sys.exit(f"failed: {what}\n{result.stdout}{result.stderr}")
    print(f"ok: {what}")
    return result.stdout


def queries_as_rules():
    """A rules file of the dashboard's queries: that is what promtool can check."""
    lines = ["groups:", "  - name: dashboard", "    rules:"]
    for number, (where, query) in enumerate(dashboard_queries()):
        if where.startswith("variable"):
            continue  # label_values() is Grafana's own
        query = query.replace("$__rate_interval", "5m")
        query = re.sub(r"\$\w+", "x", query)
        lines += [f"      - record: dashboard:{number}", f"        expr: '{query}'"]
    return "\n".join(lines) + "\n"


def main():
    found = subprocess.run([str(HERE / "promtool.sh"), sys.argv[1]], stdout=subprocess.PIPE, text=True, timeout=120)
    if found.returncode != 0:
        sys.exit(found.returncode)
    promtool = found.stdout.strip()
    run("the alert rules are good", promtool, "check", "rules", HERE / "alerts.yml")
    run("the alert rules alert when they should", promtool, "test", "rules", HERE / "alerts_test.yml")
    run("the scrape config is good", promtool, "check", "config", "--syntax-only", HERE / "scrape.yml")
    with tempfile.TemporaryDirectory() as folder:
        rules = pathlib.Path(folder) / "dashboard.yml"
        rules.write_text(queries_as_rules(), encoding="utf-8")
        said = run("the dashboard's queries are good", promtool, "check", "rules", "--lint=none", rules)
    count = int(re.search(r"(\d+) rules found", said)[1])
    if count < 50:
        sys.exit(f"failed: only {count} queries were checked")


if __name__ == "__main__":
    main()
