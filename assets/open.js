// Opens files over the page. The page stays as it is: a frame lies over it, with a page of its own whose server is the
// worker of the recording.
//
//   page ── read() ──► worker;  page ── frame ──► boot.js ── enter() ──► the worker answers as a server would
//
// Both pages call offer() once their panels are there; the one in the frame calls enter() before. An opened file has no
// way to the server or the session.
import { button, make } from "./{{elements.js}}";
import { read, sizeOf } from "./{{recordings.js}}";

const way = globalThis.watchscopeWay;
// These numbers say to the page what happened; bridge.rs has the same.
const OPENED = 2, MESSAGE = 3, CLOSED = 4;
// How often the page behind the frame is asked what came meanwhile, in milliseconds.
const COUNT_MS = 1000;
// Letters of a file's name that are shown and put into an address.
const MOST_NAME = 120;
// In the frame: what the page around it says of the file, and does for it.
const around = parent === self ? undefined : parent.watchscopeOpening;

const find = (selector) => document.querySelector(selector);
const inAddress = ({ name }) => name.slice(0, MOST_NAME);
const nameOf = (file) => (file.name.length > MOST_NAME ? `${inAddress(file)}…` : file.name);

// A notice stands under the header until it is closed, or something else is said: what is wrong and where, and what to do.
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

// Asks; the answer is false after Esc, and where something else is asked.
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
        // The keys of the page are not meant.
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

// Notes that a person wrote over a recording are in its page only, until a recording is exported that has them all. The
// page's body says how many were written (panels/notes.rs), and how many of these are in a file (export-dialog.js).
const hasUnsaved = (page) => page?.body?.dataset.unsaved !== page?.body?.dataset.saved;

// The page around the frame

// What is open: the frame, its file and its worker.
let shown;
// The file that was open last, for the browser's button forward.
let last;
// How many entries of the browser's history name places in the file: the entry before them is the page as it was.
let depth = 0;
// The place in the file that the address names.
let placed = "";
let uncover, count;
// The person agreed to lose the notes of the file that is open.
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

// Opens one of these files at a place; `tell` is where a notice of it stands. What is shown stays until it can be read.
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
    worker,
    about,
    isLive: !isLesson() && !isReplay(),
    isLesson: isLesson(),
    open,
    close: leave,
    counts: (told) => {
      count = told;
    },
    // The frame has no address bar: this page's names its places, until the file is closed.
    place: (fragment, isNew) => depth > 0 && namePlace(file, fragment, isNew),
  };
  namePlace(file, fragment, depth === 0);
  // An address of its own: browsers do not show a page within itself.
  const frame = make("iframe", { class: "opened", title: nameOf(file), src: `./?opened#${fragment}` });
  frame.addEventListener("load", () => frame.contentWindow.focus());
  [shown, last] = [{ file, frame, worker }, file];
  document.title = `${nameOf(file)} – watchscope`;
  document.body.append(frame);
};

// The page takes in on behind the frame what its server sends. What it would draw or write into the address bar waits.
// Returns what ends that.
const cover = () => {
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
  globalThis.watchscopeLesson?.pause();
  const page = find(".page"), { title } = document, { place } = way;
  page.inert = true;
  let fragment;
  way.place = (latest) => {
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
    way.place = place;
    if (fragment !== undefined) way.place(fragment, false);
    document.getElementById("chart").focus();
  };
};

// Whether the file that is open may be closed: a person who wrote notes over it is asked.
const isLost = () => Boolean(shown) && !mayLose && hasUnsaved(shown.frame.contentDocument);
const mayClose = async () => !isLost() || ask(
  `Close ${nameOf(shown.file)} without its notes?`,
  "You wrote notes that are in this page only. A recording that you export has them.",
  "Close",
);
// Back to the page as it was.
const leave = async () => {
  mayLose = await mayClose();
  if (mayLose) history.go(-depth);
};
// The address leads out of the file whose notes would be lost. A new entry behind it names the file again until the person
// has answered; the entry before that is where the person wanted to go.
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

// Asks for the file that a link leads into.
const askForLinked = async ({ name, fragment }) => {
  depth = 0;
  history.replaceState(null, "", location.pathname + location.search);
  const words = "The link leads into this recording. It is read here, in this page; nothing is uploaded.";
  if (await ask(`Open ${name}?`, words, "Choose the file")) choose(notify, { fragment, isAsked: true });
};

// The browser went back or forward, or a link was pasted. The page's own listener does not hear of places in a file.
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
    // A link that was pasted has no number yet.
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

// Takes the place of the server; returns what it would say of the session.
export const enter = () => {
  const { worker } = around;
  document.documentElement.classList.add("opened-file");
  let reader = 0;
  worker.tell = (said) => {
    if (said.bytes && said.reader === reader) way.tell(MESSAGE, said.bytes);
    if (!said.failed) return;
    way.tell(CLOSED);
    notify({ what: `The file is not read any further: ${said.failed}.`, advice: "Open it again." });
  };
  Object.assign(way, {
    open() {
      reader += 1;
      worker.say("read", { number: reader });
      queueMicrotask(() => way.tell(OPENED));
    },
    // The page's memory lies under them: a copy.
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

// The line under the header: which file it is.
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
  // A test puts a file into it.
  find("[data-part='file-field']")?.remove();
  field.dataset.part = "file-field";
  document.body.append(field);
  field.click();
};
const opens = (files, tell, how) => (around ?? { open }).open([...files], tell, how);

// Over the page while something is dragged above it.
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
    ({ show }) => show(facts, hand, notify),
    () => notify({ what: "The dialog could not be loaded.", advice: "Reload the page." }),
  );

// Offers to open and to export, once the panels are there.
export const offer = () => {
  way.export = showOver(() => import("./{{export-dialog.js}}"));
  way.charts = showOver(() => import("./{{charts-dialog.js}}"));
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
