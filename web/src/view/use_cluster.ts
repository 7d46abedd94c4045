// The nodes and cells as the asked node sees them, loaded again every second while their view is open.

import { useState } from "preact/hooks";
import type { Cluster } from "../api/shapes";
import { usePage } from "./page_context";
import { useRepeated, type Repeated } from "./use_repeated";

export interface LoadedCluster extends Repeated {
    // Null before the first answer.
    cluster: Cluster | null;
}

export function useCluster(): LoadedCluster {
    const { api } = usePage();
    const [cluster, setCluster] = useState<Cluster | null>(null);
    const repeated = useRepeated(async (signal) => {
        setCluster(await api.get<Cluster>("cluster", signal));
        return true;
    }, null);
    return { cluster, ...repeated };
}
