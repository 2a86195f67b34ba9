// Opens files over the page. The page stays as it is: a frame above it has a page of its own, whose server is the
// worker of the recording.
//
//   page ── read() ──► worker;  page ── frame ──► boot.js ── enter() ──► the worker answers as a server would
//
// Both pages call offer() once their panels are there; the page in the frame calls enter() before. An opened file has
// no access to the server or the session.
import { button, make } from "./{{elements.js}}";
import { read, sizeOf } from "./{{recordings.js}}";

const bridge = globalThis.watchscopeBridge;
// Codes of events, as bridge.rs has them.
const OPENED = 2, MESSAGE = 3, CLOSED = 4;
// The interval in milliseconds at which new records of the covered page are counted.
const COUNT_MS = 1000;
// The most letters of a file's name that are shown and put into an address.
const MOST_NAME = 120;
// In the frame: the functions and facts of the page around it.
const around = parent === self ? undefined : parent.watchscopeOpening;

const find = (selector) => document.querySelector(selector);
const inAddress = ({ name }) => name.slice(0, MOST_NAME);
const nameOf = (file) => (file.name.length > MOST_NAME ? `${inAddress(file)}…` : file.name);

// Shows a notice under the header, with what is wrong and what to do. It stays until it is closed or replaced.
const notify = ({ what, advice }, kind = "error") => {
  find("[data-part='notice']")?.remove();
  const notice = make(
    "div",
    { class: `notice ${kind}`, role: "alert", "data-part": "notice" },
    make("p", {}, make("b", {}, what), make("span", {}, advice)),
    make("button", { class: "close", "aria-label": "Close", onclick: () => notice.remove() }, "×"),
  );
  find("[data-part='file']").append(notice);
};

// Asks the person; promises false after Esc, or if another question replaces it.
const ask = (question, words, yes) =>
  new Promise((resolve) => {
    const answered = () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    };
    const dialog = make(
      "dialog",
      {
        class: "ask", "data-part": "ask", "aria-label": question, onclose: answered,
        // The page must not handle these keys.
        onkeydown: (event) => event.stopPropagation(),
      },
      make("b", {}, question),
      make("p", {}, words),
      make(
        "p",
        { class: "answers" },
        button(yes, () => dialog.close("yes"), { class: "control first", autofocus: true }),
        button(["Cancel ", make("kbd", {}, "Esc")], () => dialog.close("")),
      ),
    );
    find(".ask")?.close("");
    document.body.append(dialog);
    dialog.showModal();
  });

// Notes that a person wrote over a recording are only in its page, until an exported recording has them all. The page's
// body has the number of those that would be lost (panels/mount.rs).
const hasUnsaved = (page) => Number(page?.body?.dataset.unsaved) > 0;

// The page around the frame

// The open file: its frame, file and worker.
let shown;
// The last open file, for the browser's forward button.
let last;
// The number of entries in the browser's history that name places in the file; the page itself is the entry before
// them.
let depth = 0;
// The place in the file that the address names.
let placed = "";
let uncover, count;
// Whether the person agreed to lose the notes of the open file.
let mayLose = false;

const isLesson = () => globalThis.watchscopeLesson !== undefined;
const isReplay = () => document.body.dataset.replay !== undefined;

// `#open=NAME&PLACE`
const address = (file, fragment) => `#open=${encodeURIComponent(inAddress(file))}${fragment && `&${fragment}`}`;
const linkOf = (url) => {
  const [, name, fragment] = /#open=([^&]*)&?(.*)$/s.exec(url) ?? [];
  try {
    return name !== undefined && { name: inAddress({ name: decodeURIComponent(name) }), fragment };
  } catch {
    return { name: "the recording", fragment };
  }
};

const staysAsItIs = () => {
  if (isReplay()) return "The recording that is shown now stays as it is.";
  const cluster = find(".cluster b")?.textContent;
  return `The live view${cluster ? ` of ${cluster}` : ""} stays connected and keeps its place.`;
};

// Opens one of these files at a place; `tell` shows a notice. The page shows the old content until the file can be
// read.
const open = async (files, tell, { fragment = "", isAsked = false } = {}) => {
  const [file] = files;
  if (files.length > 1) {
    const several = "watchscope replay FILE… shows several files of one log.";
    tell({ what: "Only one recording is opened at a time.", advice: `Open ${nameOf(file)} alone. ${several}` });
  }
  if (files.length !== 1) return;
  const words = `${sizeOf(file.size)}, read here in this page; nothing is uploaded. ${staysAsItIs()}`;
  const needsNoAnswer = isAsked || shown || isLesson();
  if (!needsNoAnswer && !await ask(`Open ${nameOf(file)}?`, words, "Open")) return;
  if (!await mayClose()) return;
  const { worker, about, refused } = await read(file);
  if (refused) tell(refused);
  else show(file, worker, about, fragment);
};

const namePlace = (file, fragment, isNew) => {
  depth += isNew ? 1 : 0;
  placed = fragment;
  history[isNew ? "pushState" : "replaceState"]({ opened: depth }, "", address(file, fragment));
};

const show = (file, worker, about, fragment) => {
  shown?.frame.remove();
  shown?.worker.end();
  uncover ??= cover();
  globalThis.watchscopeOpening = {
    file,
    worker,
    about,
    isLive: !isLesson() && !isReplay(),
    isLesson: isLesson(),
    open,
    close: leave,
    counts: (told) => {
      count = told;
    },
    // The frame has no address bar: this page's bar names its places, until the file is closed.
    place: (fragment, isNew) => depth > 0 && namePlace(file, fragment, isNew),
  };
  namePlace(file, fragment, depth === 0);
  // The frame has another address than the page: browsers do not show a page within itself.
  const frame = make("iframe", { class: "opened", title: nameOf(file), src: `./?opened#${fragment}` });
  frame.addEventListener("load", () => frame.contentWindow.focus());
  [shown, last] = [{ file, frame, worker }, file];
  document.title = `${nameOf(file)} – watchscope`;
  document.body.append(frame);
};

// Covers the page: it still takes in its server's messages, but drawing and changes of the address bar wait. Returns
// the function that ends that.
const cover = () => {
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
  globalThis.watchscopeLesson?.pause();
  const page = find(".page"), { title } = document, { place } = bridge;
  page.inert = true;
  let fragment;
  bridge.place = (latest) => {
    fragment = latest;
  };
  const { requestAnimationFrame } = globalThis, steps = [];
  globalThis.requestAnimationFrame = (step) => steps.push(step);
  const head = () => JSON.parse(globalThis.watchscope.summary()).head;
  let known = head(), came = 0;
  const timer = setInterval(() => {
    const now = head();
    // A new run counts from 1.
    came += now < known ? now : now - known;
    known = now;
    count?.(came);
  }, COUNT_MS);
  return () => {
    clearInterval(timer);
    page.inert = false;
    globalThis.requestAnimationFrame = requestAnimationFrame;
    for (const step of steps) requestAnimationFrame(step);
    document.title = title;
    bridge.place = place;
    if (fragment !== undefined) bridge.place(fragment, false);
    document.getElementById("chart").focus();
  };
};

// Whether closing the open file would lose notes; then the person is asked.
const isLost = () => Boolean(shown) && !mayLose && hasUnsaved(shown.frame.contentDocument);
const mayClose = async () => !isLost() || ask(
  `Close ${nameOf(shown.file)} without its notes?`,
  "You wrote notes that are in this page only. A recording that you export has them.",
  "Close",
);
// Goes back to the page as it was.
const leave = async () => {
  mayLose = await mayClose();
  if (mayLose) history.go(-depth);
};
// Stays if the address leads out of a file whose notes would be lost. A new history entry names the file until the
// person has answered; the entry before it is where the person wanted to go.
const stay = async (link, state) => {
  depth = link ? (state?.opened ?? depth + 1) : 0;
  namePlace(shown.file, placed, true);
  mayLose = await mayClose();
  if (mayLose) history.back();
};

const hide = () => {
  mayLose = false;
  shown.frame.remove();
  shown.worker.end();
  uncover();
  [shown, uncover, count, depth] = [undefined, undefined, undefined, 0];
};

// Asks the person for the file that a link names.
const askForLinked = async ({ name, fragment }) => {
  depth = 0;
  history.replaceState(null, "", location.pathname + location.search);
  const words = "The link leads into this recording. It is read here, in this page; nothing is uploaded.";
  if (await ask(`Open ${name}?`, words, "Choose the file")) choose(notify, { fragment, isAsked: true });
};

// The browser went back or forward, or a link was pasted. The page's own listener must not get places in a file.
const traverse = (event) => {
  const link = linkOf(location.href);
  if (!shown && !link) return;
  event.stopImmediatePropagation();
  const isOfShown = shown && link?.name === inAddress(shown.file);
  if (!isOfShown && isLost()) {
    stay(link, event.state);
  } else if (!link) {
    hide();
  } else if (isOfShown) {
    [mayLose, placed] = [false, link.fragment];
    // A pasted link has no number yet.
    depth = event.state?.opened ?? depth + 1;
    history.replaceState({ opened: depth }, "", location.href);
    const { contentWindow } = shown.frame;
    contentWindow.history.replaceState(null, "", `#${link.fragment}`);
    contentWindow.dispatchEvent(new contentWindow.PopStateEvent("popstate"));
  } else {
    if (shown) hide();
    if (event.state?.opened && last && link.name === inAddress(last)) {
      depth = event.state.opened;
      open([last], notify, { fragment: link.fragment, isAsked: true });
    } else {
      askForLinked(link);
    }
  }
};

// In the frame

// Bodies come from the file.
const body = async (worker, name) => {
  const at = name.lastIndexOf(".");
  const { status, bytes, why } = await worker.ask("body", { epoch: name.slice(0, at), seq: Number(name.slice(at + 1)) });
  return new Response(bytes ?? why, { status });
};

// Searches the file; the response has the lines that a server would send. The next search ends the one before.
let searches = 0, hearSearch;
const search = (worker, query, signal) => {
  const number = ++searches;
  worker.say("search", { number, text: query.get("q"), before: query.get("before") ?? undefined });
  return new Response(new ReadableStream({
    start(lines) {
      let isOpen = true;
      const end = () => {
        if (isOpen) lines.close();
        isOpen = false;
      };
      hearSearch = ({ searched, bytes, why, isOver }) => {
        if (searched !== number || !isOpen) return;
        // The array is of the page around the frame; the page in it takes only its own.
        if (bytes) lines.enqueue(new Uint8Array(bytes));
        if (why) lines.enqueue(new TextEncoder().encode(`${JSON.stringify({ type: "failed", why })}\n`));
        if (why || isOver) end();
      };
      signal?.addEventListener("abort", () => {
        if (number === searches) worker.say("search", {});
        end();
      });
    },
  }));
};

// Takes the server's place. Returns the answer that a server would give about the session.
export const enter = () => {
  const { worker } = around;
  document.documentElement.classList.add("opened-file");
  let reader = 0;
  // No server answers here.
  const { fetch } = globalThis;
  globalThis.fetch = async (asked, options) => {
    const query = /^api\/search\?(.*)$/.exec(asked)?.[1];
    return query === undefined ? fetch(asked, options) : search(worker, new URLSearchParams(query), options?.signal);
  };
  worker.tell = (said) => {
    if (said.searched !== undefined) hearSearch?.(said);
    if (said.bytes && said.reader === reader) bridge.tell(MESSAGE, said.bytes);
    if (!said.failed) return;
    hearSearch?.({ searched: searches, why: said.failed });
    bridge.tell(CLOSED);
    notify({ what: `The file is not read any further: ${said.failed}.`, advice: "Open it again." });
  };
  Object.assign(bridge, {
    open() {
      reader += 1;
      worker.say("read", { number: reader });
      queueMicrotask(() => bridge.tell(OPENED));
    },
    // The bytes lie in the page's memory, so a copy is sent.
    send: (bytes) => worker.say("message", { number: reader, bytes: bytes.slice() }),
    close() {
      reader += 1;
    },
    place: around.place,
    object: (name) => body(worker, name),
    notes: async () => (await worker.ask("notes")).bytes ?? new Uint8Array(),
  });
  return { product: "watchscope", protocol: 2, instance: "opened", session: true };
};

const minute = (us) => new Date(us / 1e3).toISOString().replace("T", " ").slice(0, 16);
const second = (us) => new Date(us / 1e3).toISOString().slice(11, 19);
const whenOf = ({ fromUs, toUs }) => {
  if (minute(fromUs) === minute(toUs)) return `${minute(fromUs).slice(0, 10)} ${second(fromUs)} – ${second(toUs)} UTC`;
  const to = minute(toUs), isOneDay = minute(fromUs).slice(0, 10) === to.slice(0, 10);
  return `${minute(fromUs)} – ${isOneDay ? to.slice(11) : to} UTC`;
};
const FORMS = { recorded: "", copy: "copy", extract: "extract", later: "" };

// Writes the line under the header, which names the file.
const writeLine = () => {
  const { about, isLive, isLesson } = around;
  const from = about.cluster?.name && ` from ${about.cluster.name}`;
  const parts = [
    FORMS[about.form],
    about.withheld.length > 0 && `without ${about.withheld.join(", ")}`,
    about.hidden.length > 0 && `hidden: ${about.hidden.join(", ")}`,
  ].filter(Boolean);
  const came = make("span", { class: "quiet" });
  around.counts((records) => {
    came.textContent = records > 0 ? `${records.toLocaleString("en")} new` : "";
  });
  const back = isLive ? "Back to live" : isLesson ? "Close" : "Back";
  const line = make(
    "div",
    { class: "file-line", "data-part": "file-line" },
    make("b", { title: about.name }, nameOf(about)),
    make("span", { class: "file-when" }, `${whenOf(about)}, by watchscope ${about.watchscope}${from || ""}`),
    parts.length > 0 && make("b", { class: "file-form" }, parts.join(", ")),
    make("span", { class: "space" }),
    button("Open another", undefined, { "data-part": "open", title: "Open another recording" }),
    button([make("b", {}, back), isLive && came], () => around.close(), { "data-part": "back" }),
  );
  find("[data-part='file']").prepend(line);
  if (about.notice) notify(about.notice, "warn");
};

// In both

const choose = (tell, how) => {
  const field = make("input", { type: "file", accept: ".wscope", hidden: true, onchange: () => opens(field.files, tell, how) });
  // Tests put a file into the field.
  find("[data-part='file-field']")?.remove();
  field.dataset.part = "file-field";
  document.body.append(field);
  field.click();
};
const opens = (files, tell, how) => (around ?? { open }).open([...files], tell, how);

// Shown over the page while something is dragged above it.
const target = () => {
  const words = around || isLesson() ? "" : " You are asked first.";
  return make(
    "div",
    { class: "drop", "data-part": "drop" },
    make("b", {}, "Drop to open a recording"),
    make("p", {}, "It is read here, in this page; nothing is uploaded."),
    make("p", { class: "quiet" }, isLesson() ? "The lesson waits." : `What is shown now stays as it is.${words}`),
  );
};
const listenToDrops = () => {
  let over;
  const hasFiles = ({ dataTransfer }) => dataTransfer?.types.includes("Files");
  const on = (name, heard) => addEventListener(name, (event) => hasFiles(event) && heard(event));
  const end = () => {
    over?.remove();
    over = undefined;
  };
  on("dragenter", () => {
    if (over) return;
    over = target();
    document.body.append(over);
  });
  on("dragover", (event) => {
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
  });
  on("dragleave", ({ relatedTarget }) => relatedTarget === null && end());
  on("drop", (event) => {
    event.preventDefault();
    end();
    opens(event.dataTransfer.files, notify);
  });
};

const showOver = (dialog) => (facts, hand) =>
  dialog().then(
    ({ show }) => show(facts, hand, notify, around),
    () => notify({ what: "The dialog could not be loaded.", advice: "Reload the page." }),
  );

// Offers opening and exporting, once the panels are there.
export const offer = () => {
  bridge.export = showOver(() => import("./{{export-dialog.js}}"));
  bridge.charts = showOver(() => import("./{{charts-dialog.js}}"));
  listenToDrops();
  // The browser asks, in its own words.
  addEventListener("beforeunload", (event) => {
    if ([document, shown?.frame.contentDocument].some(hasUnsaved)) event.preventDefault();
  });
  document.addEventListener("click", ({ target }) => target.closest?.("[data-part='open']") && choose(notify));
  if (around) {
    writeLine();
    return;
  }
  addEventListener("popstate", traverse, { capture: true });
  addEventListener("hashchange", (event) => {
    if (linkOf(event.oldURL) || linkOf(event.newURL)) event.stopImmediatePropagation();
  }, { capture: true });
  const link = linkOf(location.href);
  if (link) askForLinked(link);
};
