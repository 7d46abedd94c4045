// Who may do what here, who is kept out, and who did what.

import { AuditPanel } from "./audit_panel";
import { BlocksPanel } from "./blocks_panel";
import { OperatorsPanel } from "./operators_panel";

export function AccessView() {
    return (
        <>
            <AuditPanel />
            <BlocksPanel />
            <OperatorsPanel />
        </>
    );
}
