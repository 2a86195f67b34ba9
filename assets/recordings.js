// Recordings by their worker, and files for the browser's downloads.

// The time in milliseconds after which a download's address is released; the browser has begun with it by then.
const DOWNLOAD_MS = 10_000;

// Gives a file to the browser's downloads.
export const download = (bytes, name, type = "application/octet-stream") => {
  const url = URL.createObjectURL(bytes instanceof Blob ? bytes : new Blob([bytes], { type }));
  const link = document.createElement("a");
  [link.href, link.download] = [url, name];
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), DOWNLOAD_MS);
};

// Tells the page that a file has all notes that it had when it had made `kept` of them.
export const tellSaved = (kept, name) => {
  Object.assign(document.body.dataset, { saved: kept, savedIn: name });
  dispatchEvent(new Event("notes-saved"));
};

// Returns the time in the name of a file: `20261127-031148`, in UTC.
export const stampOf = (us) =>
  new Date(us / 1e3).toISOString().replace(/\.\d+Z$/, "").replace(/[-:]/g, "").replace("T", "-");

export const sizeOf = (bytes) => {
  const [unit, of] = bytes < 1e6 ? ["kB", 1e3] : bytes < 1e9 ? ["MB", 1e6] : ["GB", 1e9];
  return bytes < 1e3 ? `${bytes} bytes` : `${(bytes / of).toFixed(bytes < 10 * of ? 1 : 0)} ${unit}`;
};

// Starts a worker. `tell` gets its unrequested messages; `ask` promises an answer.
const hire = (tell) => {
  const worker = new Worker(new URL("./{{recording-worker.js}}", import.meta.url), { type: "module" });
  const answers = new Map();
  let asked = 0;
  const hired = {
    tell,
    say: (what, with_) => worker.postMessage({ do: what, ...with_ }),
    ask: (what, with_, handed = []) =>
      new Promise((resolve) => {
        answers.set((asked += 1), resolve);
        worker.postMessage({ do: what, id: asked, ...with_ }, handed);
      }),
    end() {
      hired.tell = () => {};
      worker.terminate();
    },
  };
  worker.onmessage = ({ data }) => {
    const { id } = data;
    if (id === undefined) return hired.tell(data);
    answers.get(id)?.(data);
    answers.delete(id);
  };
  // The worker could not be loaded.
  worker.onerror = () => hired.tell({ failed: "its program could not be loaded" });
  return hired;
};

// Reads as much of a file as opening needs. Returns its worker and its facts, or what is wrong with it.
export const read = (file) =>
  new Promise((resolve) => {
    const refuse = (refused) => {
      worker.end();
      resolve({ refused });
    };
    const worker = hire(({ opened, refused, failed }) => {
      if (opened) resolve({ worker, about: opened });
      else if (refused) refuse(refused);
      else if (failed) refuse({ what: `${file.name} cannot be opened: ${failed}.`, advice: "Reload the page, and open the file again." });
    });
    worker.say("open", { file });
  });

// Saves the records between two times as a file that the browser downloads, from chapters in the order of their
// records, and notes. Returns the number of notes in the file; throws if it cannot be saved.
export const save = async (name, fromUs, toUs, chapters, notes) => {
  let worker;
  try {
    const failed = new Promise((resolve) => {
      worker = hire(resolve);
    });
    const handed = chapters.map(({ buffer }) => buffer);
    const made = worker.ask("save", { fromUs, toUs, chapters, notes }, handed);
    const { bytes, count, why, failed: error } = await Promise.race([made, failed]);
    if (!bytes) throw new Error(why ?? error);
    download(bytes, name);
    return count;
  } finally {
    worker?.end();
  }
};
