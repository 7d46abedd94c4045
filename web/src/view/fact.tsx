// One fact of a list of facts: what it is, and its value. Stands in a <dl>.

export function Fact({ label, children }: { label: string; children: preact.ComponentChildren }) {
    return (
        <div>
            <dt>{label}</dt>
            <dd>{children}</dd>
        </div>
    );
}
