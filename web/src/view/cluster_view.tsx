// The nodes that share a store: which one is looked at, which are there, and who owns what.

import type { Cluster } from "../api/shapes";
import { count, foreign } from "../model/format";
import { DataTable, type Column } from "./data_table";
import { Moment } from "./moment";
import { useMayOperate, usePage } from "./page_context";
import { StatusMark } from "./status_mark";
import { useCluster } from "./use_cluster";

type Node = Cluster["nodes"][number];
type Cell = Cluster["cells"][number];

export function ClusterView() {
    const { cluster, error, reload } = useCluster();
    const { actions } = usePage();
    const may = useMayOperate();
    if (cluster === null) return <p class="note">{error ?? "Loading…"}</p>;
    const move = async (cell: string, node: string) => {
        if (await actions.moveCell(cell, node)) reload();
    };
    return (
        <>
            <p class="note">
                This page is of node <strong>{foreign(cluster.node)}</strong>.{" "}
                {cluster.problem !== undefined
                    ? `The database does not answer: ${foreign(cluster.problem)}`
                    : cluster.engine_ms === undefined
                      ? "It is alone, with a store of its own."
                      : `The database answers in ${cluster.engine_ms.toFixed(1)} ms.`}
                {error !== null && ` ${error}`}
            </p>
            <section class="panel" aria-label="Nodes">
                <DataTable
                    caption="nodes"
                    columns={nodeColumns(cluster, may, move)}
                    rows={cluster.nodes}
                    rowKey={(node) => node.name}
                    first={{ column: "name", descending: false }}
                    subject="nodes"
                    empty="No node is known."
                />
            </section>
            <section class="panel" aria-label="Cells">
                <DataTable
                    caption="cells"
                    columns={cellColumns(cluster)}
                    rows={cluster.cells}
                    rowKey={(cell) => cell.name}
                    first={{ column: "name", descending: false }}
                    subject="cells"
                    empty="No cell is known."
                />
            </section>
        </>
    );
}

function nodeColumns(cluster: Cluster, may: boolean, move: (cell: string, node: string) => Promise<void>): Column<Node>[] {
    const all: Column<Node>[] = [
        { name: "name", label: "Node", value: (node) => node.name, show: (node) => `${foreign(node.name)}${node.name === cluster.node ? " (this one)" : ""}` },
        {
            name: "alive",
            label: "State",
            value: (node) => (node.alive ? 1 : 0),
            show: (node) => (
                <span class="status">
                    <StatusMark tone={node.alive ? "ok" : "bad"} /> {node.alive ? "alive" : "lost"}
                </span>
            ),
        },
        {
            name: "owns",
            label: "Owns",
            value: (node) => cellsOf(cluster, node).length,
            show: (node) => cellsOf(cluster, node).map((name) => foreign(name)).join(", ") || "–",
        },
        { name: "address", label: "Address", value: (node) => node.address, show: (node) => foreign(node.address) },
        { name: "version", label: "Version", value: (node) => node.version, show: (node) => foreign(node.version), wide: true },
    ];
    if (may && cluster.nodes.length > 1)
        all.push({
            name: "move",
            label: "Move",
            show: (node) =>
                cluster.cells
                    .filter((cell) => node.alive && cell.owner !== node.name)
                    .map((cell) => (
                        <button key={cell.name} type="button" onClick={() => void move(cell.name, node.name)} aria-label={`Move ${foreign(cell.name)} to ${foreign(node.name)}`}>
                            Move {foreign(cell.name)} here
                        </button>
                    )),
        });
    return all;
}

function cellsOf(cluster: Cluster, node: Node): string[] {
    return cluster.cells.filter((cell) => cell.owner === node.name).map((cell) => cell.name);
}

// Until another node takes it, the cell of a lost node has that one's name.
function ownerOf(cluster: Cluster, cell: Cell) {
    if (cell.owner === "") return <strong>nobody</strong>;
    const isLost = cluster.nodes.some((node) => node.name === cell.owner && !node.alive);
    if (!isLost) return foreign(cell.owner);
    return (
        <span class="status">
            <StatusMark tone="bad" /> <strong>{foreign(cell.owner)} (lost)</strong>
        </span>
    );
}

function contentsOf(cell: Cell): string {
    const parts = cell.regions.length > 0 ? [`regions ${cell.regions.join(", ")}`] : [];
    if (cell.players) parts.push("players");
    return parts.join(", ");
}

const cellColumns = (cluster: Cluster): Column<Cell>[] => [
    { name: "name", label: "Cell", value: (cell) => cell.name, show: (cell) => foreign(cell.name) },
    { name: "owner", label: "Owner", value: (cell) => cell.owner, show: (cell) => ownerOf(cluster, cell) },
    { name: "has", label: "Has", value: contentsOf, show: contentsOf, wide: true },
    { name: "since", label: "Since", value: (cell) => cell.since_ms, show: (cell) => (cell.owner === "" ? "–" : <Moment at={cell.since_ms} />) },
    { name: "term", label: "Term", value: (cell) => cell.term, show: (cell) => count(cell.term), numeric: true },
    { name: "batch", label: "Batch", value: (cell) => cell.batch, show: (cell) => count(cell.batch), numeric: true, wide: true },
];
