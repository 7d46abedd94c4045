import { usePage, useStore } from "./page_context";

export function NoticeList() {
    const { notices } = usePage();
    const shown = useStore(notices.shown);
    return (
        <div class="notices" role="log" aria-live="polite" aria-label="Messages">
            {shown.map(({ id, failed, text }) => (
                <p key={id} class={failed ? "notice bad" : "notice ok"}>
                    <span>
                        {failed && <strong>Failed: </strong>}
                        {text}
                    </span>
                    <button type="button" class="quiet" aria-label={`Dismiss: ${text}`} onClick={() => notices.dismiss(id)}>
                        ✕
                    </button>
                </p>
            ))}
        </div>
    );
}
