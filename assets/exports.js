// Exports by their worker, and the parts that dialogs share.
import { make } from "./{{elements.js}}";

// Starts the worker. `ask` promises its answer. `end` stops it; requests still open then are never answered.
export const hire = (progress) => {
  const worker = new Worker(new URL("./{{export-worker.js}}", import.meta.url), { type: "module" });
  const answers = new Map();
  let asked = 0;
  worker.onmessage = ({ data }) => {
    if (data.of !== undefined) return progress(data);
    const [resolve, reject] = answers.get(data.id) ?? [];
    answers.delete(data.id);
    if (data.why === undefined) resolve?.(data);
    else reject?.(new Error(data.why));
  };
  worker.onerror = () => {
    for (const [, reject] of answers.values()) reject(new Error("its program could not be loaded"));
    answers.clear();
  };
  return {
    ask: (what, with_, handed = []) =>
      new Promise((resolve, reject) => {
        answers.set((asked += 1), [resolve, reject]);
        worker.postMessage({ do: what, id: asked, ...with_ }, handed);
      }),
    end: () => worker.terminate(),
  };
};

// Returns what the page shows: the opened file, or the hash of a served recording.
export const shownBy = async (around) => {
  if (around) return { file: around.file, isEnded: around.about.isEnded };
  try {
    const { source } = await (await fetch("session")).json();
    return { hash: source };
  } catch {
    return {};
  }
};

// Returns the address of a picture that holds the picture itself, so that no request is made for it.
export const inPlace = (svg) => `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
let styles;
export const loadStyles = () =>
  (styles ??= new Promise((resolve) => {
    const href = new URL("./{{export.css}}", import.meta.url).href;
    document.head.append(make("link", { rel: "stylesheet", href, onload: resolve, onerror: resolve }));
  }));
