// The export of a page in one file, in place of the dialog: a recording of the marked range.
import { save, stampOf } from "./{{recordings.js}}";

export const show = async ({ form, marked, notes: count }, hand, notify) => {
  // The key can request other forms, but the file lacks their program.
  if (form !== "wscope" || !marked) return;
  const [fromUs, toUs] = marked, { unsaved } = document.body.dataset;
  try {
    const [chapters, notes] = await hand(fromUs, toUs);
    const saved = await save(`watchscope-${stampOf(fromUs)}.wscope`, fromUs, toUs, chapters, notes);
    // The file has the notes that only this page had (open.js).
    if (unsaved && saved >= count) document.body.dataset.saved = unsaved;
  } catch ({ message }) {
    notify({ what: `The range was not saved: ${message}.`, advice: "Mark another one." });
  }
};
