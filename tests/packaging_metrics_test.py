#!/usr/bin/env python3
"""The Grafana dashboard and the alert rules name only metrics, labels and label values that a running daemon has.

    packaging_metrics_test.py PATH_TO_MUSTER [unittest arguments]
"""

import json
import pathlib
import re
import struct
import unittest

import served
from muster_peer import Matchmaker, GameServer, Player

ROOT = pathlib.Path(__file__).resolve().parent.parent
DASHBOARD = ROOT / "packaging/grafana/muster.json"
ALERTS = ROOT / "packaging/prometheus/alerts.yml"
GUIDE = ROOT / "docs/guides/troubleshoot.md"
FOREIGN = {"up"}  # Prometheus makes it
TARGET_LABELS = {"job", "instance"}  # Prometheus adds them

METRIC = re.compile(r"\b((?:muster_\w+)|up)\b(?:\s*\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)\s*(=~|!=|!~|=)\s*"([^"]*)"')
GROUPING = re.compile(r"\b(?:by|on)\s*\(([^)]*)\)")


def dashboard():
    return json.loads(DASHBOARD.read_text(encoding="utf-8"))


def dashboard_queries():
    board = dashboard()
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            # label_values(SELECTOR, LABEL)
            yield f"variable {variable['name']}", variable["query"]
    for annotation in board["annotations"]["list"]:
        yield f"annotation {annotation['name']}", annotation["expr"]


def alerts():
    """Name and expression of each rule. The file is kept so plain that this reads it; promtool reads it all."""
    rules = re.split(r"^      - alert: ", ALERTS.read_text(encoding="utf-8"), flags=re.M)[1:]
    for rule in rules:
        expression = re.search(r"^        expr: (?:\|\n((?: {10}.*\n)+)|(.*)\n)", rule, re.M)
        yield rule.split("\n", 1)[0], expression[1] or expression[2], rule


class Family:
    def __init__(self, kind):
        self.kind = kind
        self.labels = set()
        self.values = {}  # of each label


def families(text):
    """What /metrics offers, by the names that queries may use."""
    found = {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            name, kind = line.split()[2:4]
            for suffix in ("_bucket", "_sum", "_count") if kind == "histogram" else ("",):
                found[name + suffix] = Family(kind)
        elif not line.startswith("#"):
            name, labels = re.match(r"(\w+)(?:\{(.*)\})? ", line).groups()
            family = found[name]
            for label, value in re.findall(r'(\w+)="([^"]*)"', labels or ""):
                family.labels.add(label)
                family.values.setdefault(label, set()).add(value)
    return found


class Metrics(served.Served):
    # So that a player who says nothing is soon lost to a ping timeout.
    settings = {"MUSTER_PLAYERS_PING_INTERVAL": "100ms", "MUSTER_PLAYERS_PING_TIMEOUT": "300ms"}

    def setUp(self):
        super().setUp()
        self.make_every_labelled_series()
        self.known = families(self.get("/metrics")[1])

    def make_every_labelled_series(self):
        """Series with a reason exist from its first time on, so each that a query names has to happen."""
        server = GameServer(self.daemon.ports["servers"], 27015)
        self.addCleanup(server.close)
        matchmaker = Matchmaker(self.daemon.ports["matchmakers"])
        self.addCleanup(matchmaker.close)
        matchmaker.request(1)
        server.expect(0x1004)
        matchmaker.send(0x2007, struct.pack("<i", 1))  # withdrawn before the server has answered
        matchmaker.expect(0x2003)
        server.expect(0x100D)
        silent = Player(self.daemon.ports["players"], "ann")
        self.addCleanup(silent.close)
        self.assertEqual(silent.closed_for(), "Ping timeout")
        refused = Player(self.daemon.ports["players"], "\x07")
        self.addCleanup(refused.close)
        self.assertEqual(refused.refused, "Invalid name")
        self.assertEqual(server.validate(1, 7, "no such token"), "Invalid match token")
        for wanted in ("allocation_cancelled", "ping_timeout", "invalid_name", "invalid_match_token"):
            self.soon(lambda wanted=wanted: wanted in self.get("/metrics")[1], f"no series has {wanted}")

    def check(self, where, query):
        used = []
        for name, selector in METRIC.findall(query):
            used.append(name)
            if name in FOREIGN:
                continue
            self.assertIn(name, self.known, f"{where}: /metrics has no {name} (histograms are asked by _bucket)")
            family = self.known[name]
            for label, how, value in MATCHER.findall(selector):
                if label in TARGET_LABELS:
                    continue
                self.assertIn(label, family.labels, f"{where}: {name} has no label {label}")
                if "$" not in value:
                    self.assertTrue(any(re.fullmatch(value, each) for each in family.values[label]),
                                    f"{where}: {name} has no {label} {value}, only {sorted(family.values[label])}")
        self.assertTrue(used, f"{where}: names no metric")
        for group in GROUPING.findall(query):
            for label in re.findall(r"\w+", group):
                self.assertTrue(label in TARGET_LABELS or any(label in self.known[name].labels for name in used
                                                              if name in self.known),
                                f"{where}: no metric of the query has a label {label}")
        return used

    def test_a13_the_dashboard_names_only_metrics_that_exist(self):
        used = set()
        for where, query in dashboard_queries():
            used.update(self.check(where, query))
        for wanted in ("muster_allocation_seconds_bucket", "muster_player_rtt_seconds_bucket", "muster_servers",
                       "muster_sessions_closed_total", "muster_store_commit_seconds_bucket", "muster_connections"):
            self.assertIn(wanted, used)

    def test_f11_the_alerts_name_only_metrics_that_exist(self):
        for name, expression, _ in alerts():
            self.check(name, expression)

    def test_a_metric_or_label_that_does_not_exist_is_found(self):
        for query in ("rate(muster_no_such_total[5m])", 'muster_servers{colour="red"}', 'muster_servers{status="fine"}',
                      "rate(muster_allocation_seconds[5m])", "sum by (colour) (muster_servers)"):
            with self.subTest(query), self.assertRaises(AssertionError):
                self.check("made up", query)


class Files(unittest.TestCase):
    def test_every_alert_has_a_severity_texts_and_a_place_in_the_guide(self):
        names = [name for name, _, _ in alerts()]
        self.assertGreater(len(names), 10)
        self.assertEqual(len(names), len(set(names)))
        headings = {heading.lower() for heading in re.findall(r"^#+ (\w+)$", GUIDE.read_text(encoding="utf-8"), re.M)}
        for name, _, rule in alerts():
            with self.subTest(name):
                self.assertRegex(rule, r"labels: \{severity: (critical|warning)\}")
                self.assertRegex(rule, r'summary: "')
                self.assertRegex(rule, r'description: "')
                self.assertIn(f"runbook: docs/guides/troubleshoot.md#{name.lower()}\n", rule)
                self.assertIn(name.lower(), headings, "the guide has no such heading")

    def test_the_dashboards_panels_have_ids_of_their_own_and_do_not_overlap(self):
        taken, ids = {}, set()
        for panel in dashboard()["panels"]:
            self.assertNotIn(panel["id"], ids)
            ids.add(panel["id"])
            at = panel["gridPos"]
            self.assertLessEqual(at["x"] + at["w"], 24, panel["title"])
            for cell in ((x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])):
                self.assertNotIn(cell, taken, f"{panel['title']} lies over {taken.get(cell)}")
                taken[cell] = panel["title"]
            if panel["type"] != "row":
                self.assertTrue(panel["description"] and panel["targets"], panel["title"])


if __name__ == "__main__":
    served.main()
