// What a page in one file exports, in place of the dialog: a recording of the marked range.
import { save } from "./{{recordings.js}}";

const nameOf = (fromUs) => {
  const when = new Date(fromUs / 1e3).toISOString().replace(/\.\d+Z$/, "").replace(/[-:]/g, "").replace("T", "-");
  return `watchscope-${when}.wscope`;
};

export const show = async ({ form, marked }, hand, notify) => {
  // Its key asks for other forms, whose program is not in the file.
  if (form !== "wscope" || !marked) return;
  const [fromUs, toUs] = marked;
  try {
    const [chapters, notes] = await hand(fromUs, toUs);
    await save(nameOf(fromUs), fromUs, toUs, chapters, notes);
  } catch ({ message }) {
    notify({ what: `The range was not saved: ${message}.`, advice: "Mark another one." });
  }
};
