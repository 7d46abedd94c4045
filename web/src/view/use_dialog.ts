import { useEffect, useRef } from "preact/hooks";

// A modal dialog that is open while `open` is true. The browser keeps the focus inside, and gives it back afterwards.
export function useDialog(open: boolean) {
    const dialog = useRef<HTMLDialogElement>(null);
    useEffect(() => {
        const element = dialog.current;
        if (element === null) return;
        if (open && !element.open) element.showModal();
        if (!open && element.open) element.close();
    }, [open]);
    return dialog;
}
