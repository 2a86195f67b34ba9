// The export of a page in one file, in place of the dialog: a recording of the marked range.
import { save, stampOf, tellSaved } from "./{{recordings.js}}";

export const show = async ({ form, marked, notes: count }, hand, notify) => {
  // The key can request other forms, but the file lacks their program.
  if (form !== "wscope" || !marked) return;
  const [fromUs, toUs] = marked, { kept } = document.body.dataset;
  try {
    const [chapters, notes] = await hand(fromUs, toUs);
    const name = `watchscope-${stampOf(fromUs)}.wscope`;
    const saved = await save(name, fromUs, toUs, chapters, notes);
    // The file has the notes that only this page had.
    if (kept && saved >= count) tellSaved(kept, name);
  } catch ({ message }) {
    notify({ what: `The range was not saved: ${message}.`, advice: "Mark another one." });
  }
};
