// What a page in one file exports, in place of the dialog: a recording of the marked range.
import { save, stampOf } from "./{{recordings.js}}";

export const show = async ({ form, marked, notes: count }, hand, notify) => {
  // Its key asks for other forms, whose program is not in the file.
  if (form !== "wscope" || !marked) return;
  const [fromUs, toUs] = marked, { unsaved } = document.body.dataset;
  try {
    const [chapters, notes] = await hand(fromUs, toUs);
    const saved = await save(`watchscope-${stampOf(fromUs)}.wscope`, fromUs, toUs, chapters, notes);
    // Notes that only this page has are in a file now (open.js).
    if (unsaved && saved >= count) document.body.dataset.saved = unsaved;
  } catch ({ message }) {
    notify({ what: `The range was not saved: ${message}.`, advice: "Mark another one." });
  }
};
