import { useLayoutEffect, useState } from "preact/hooks";
import { usePage, useStore } from "./page_context";
import { useDialog } from "./use_dialog";

const REASON_CHARACTERS_MAX = 100;

export function ConfirmDialog() {
    const { confirmation } = usePage();
    const question = useStore(confirmation.question);
    const [reason, setReason] = useState("");
    const dialog = useDialog(question !== null);
    useLayoutEffect(() => setReason(question?.reason ?? ""), [question]);

    const cancelled = (event: Event) => {
        event.preventDefault();
        confirmation.answer(null);
    };
    const confirmed = (event: Event) => {
        event.preventDefault();
        confirmation.answer(reason.trim());
    };

    return (
        <dialog ref={dialog} aria-labelledby="confirm-title" onCancel={cancelled}>
            {question !== null && (
                <form onSubmit={confirmed}>
                    <h2 id="confirm-title">{question.title}</h2>
                    <p>{question.text}</p>
                    <label>
                        {question.reason === "" ? "Reason (optional)" : "Reason"}
                        <input
                            type="text"
                            autoComplete="off"
                            maxLength={REASON_CHARACTERS_MAX}
                            value={reason}
                            onInput={(event) => setReason(event.currentTarget.value)}
                        />
                    </label>
                    <div class="buttons">
                        <button type="button" onClick={() => confirmation.answer(null)}>
                            Leave it
                        </button>
                        <button type="submit" class={question.hurts ? "main hurts" : "main"}>
                            {question.action}
                        </button>
                    </div>
                </form>
            )}
        </dialog>
    );
}
