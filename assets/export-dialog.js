// The export dialog: which records go into which file, how the file looks, and which names in it are hidden.
//
//   page ── facts, hand() ──► dialog ── frames, wishes ──► export-worker.js ──► facts, preview, file
//
// The worker makes everything that the dialog shows of an export, with the code that makes the file.
import { button, make } from "./{{elements.js}}";
import { hire, inPlace, loadStyles, shownBy } from "./{{exports.js}}";
import { download, sizeOf, stampOf, tellSaved } from "./{{recordings.js}}";

// A form's name, use, ending and type. `isText`: it can be copied as text.
const FORMS = {
  svg: { name: "SVG", use: "a wiki, a document, print: sharp at any size", type: "image/svg+xml", isText: true },
  png: { name: "PNG", use: "a slide or a chat", type: "image/png" },
  html: { name: "HTML", use: "one file to open and click, from a mail or a disk", type: "text/html" },
  report: { name: "Report", use: "paper or PDF: picture, findings, timeline, charts", ending: "html", type: "text/html" },
  charts: { name: "Charts", use: "eight pictures: streams, ends, gaps, lag, rates", ending: "svg", type: "image/svg+xml" },
  md: { name: "Markdown", use: "a timeline to paste into a postmortem", type: "text/markdown", isText: true },
  csv: { name: "CSV", use: "a sheet: one line a record", type: "text/csv", isText: true },
  jsonl: { name: "JSON lines", use: "jq and scripts", type: "application/jsonl", isText: true },
  trace: { name: "Perfetto trace", use: "ui.perfetto.dev, beside your own traces", type: "application/octet-stream" },
  wscope: { name: "Recording", use: "opens here and in watchscope replay", type: "application/octet-stream" },
};
const PARTS = ["names", "namespaces", "labels", "uids", "addresses", "nodes", "cluster"];
const LANES = { page: "As on the page", all: "All rows", findings: "With findings" };
const SIZES = ["1920 × 1080", "3840 × 2160"];
// The pause in milliseconds between the last change and its preview.
const WAIT_MS = 150;
// The least and the most px of a picture's width; the most also of its height.
const LEAST_PX = 320, MOST_PX = 8192;
// The key under which the last choice of hidden names is kept.
const HIDE_KEY = "watchscope-hide";

// Times, in microseconds

const DAY_US = 86_400e6;
const iso = (us) => new Date(us / 1e3).toISOString();
const clock = (us) => iso(us).slice(11, 23);
const date = (us) => iso(us).slice(0, 10);
// Parses `03:11:48.000`, or a time with a date before it; NaN if the text is no time.
const timeOf = (text, dayUs) => {
  const [, day, time] = /^\s*(\d{4}-\d\d-\d\d[ T])?\s*(\d\d?:\d\d(?::\d\d(?:\.\d{1,6})?)?)\s*Z?\s*$/.exec(text) ?? [];
  if (!time) return NaN;
  const [hours, minutes, seconds = 0] = time.split(":").map(Number);
  const base = day ? Date.parse(`${day.trim().replace("T", "")}T00:00:00Z`) * 1e3 : Math.floor(dayUs / DAY_US) * DAY_US;
  return base + Math.round((hours * 3600 + minutes * 60 + seconds) * 1e6);
};
const lasted = (us) => {
  if (us < 1e6) return `${Math.round(us / 1e3)} ms`;
  const seconds = Math.round(us / 1e6), [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const parts = [hours && `${hours} h`, minutes && `${minutes} min`, !hours && seconds % 60 && `${seconds % 60} s`];
  return parts.filter(Boolean).join(" ");
};
const counted = (count, what) => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : what.endsWith("h") ? "es" : "s"}`;

const drawn = (svg) =>
  new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => resolve(image);
    image.onerror = () => reject(new Error("the browser cannot draw the picture"));
    image.src = inPlace(svg);
  });
const rastered = async (svg) => {
  const image = await drawn(svg);
  const canvas = make("canvas", { width: image.naturalWidth, height: image.naturalHeight });
  canvas.getContext("2d").drawImage(image, 0, 0);
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  if (!blob) throw new Error("the browser made no PNG of the picture");
  return blob;
};

const kept = () => {
  try {
    return (localStorage.getItem(HIDE_KEY) ?? "").split(",").filter((part) => PARTS.includes(part));
  } catch {
    return [];
  }
};
const keep = (parts) => {
  try {
    localStorage.setItem(HIDE_KEY, parts.join(","));
  } catch {}
};

// Returns radio buttons in a row, one of them chosen.
const choice = (name, words, options, chosen, choose) =>
  make(
    "fieldset",
    { class: "choice" },
    make("legend", { class: "unseen" }, words),
    ...Object.entries(options).map(([value, label]) =>
      make(
        "label",
        {},
        make("input", { type: "radio", name, value, checked: value === chosen, onchange: () => choose(value) }),
        make("span", {}, label),
      ),
    ),
  );
const row = (label, ...children) => make("div", { class: "row-of" }, make("span", { class: "label" }, label), ...children);

// Opens the dialog for an export's facts; `hand` promises the frames between two times, and all notes.
export const show = async (of, hand, _notify, around) => {
  await loadStyles();
  document.querySelector("dialog.export")?.close();
  const ranges = { ...(of.marked && { marked: "Selected" }), view: "In view", loaded: "All loaded" };
  const state = {
    form: of.form,
    range: of.marked ? "marked" : "view",
    ...spanned(of.marked ?? of.view),
    lanes: "page",
    title: "",
    isDark: false,
    size: SIZES[0],
    hide: new Set(),
  };
  // `isReady`: the preview shows the present choice. `exportsSoon`: an export was requested before, and follows then.
  let worker, handed, timer, latest, isMaking = false, isWanted = false, isReady = false, exportsSoon = false;

  // Elements

  const form = (key) => FORMS[state.form][key];
  const sizes = Object.fromEntries(Object.keys(FORMS).map((key) => [key, make("span", { class: "num quiet" })]));
  const forms = make(
    "fieldset",
    { class: "forms" },
    make("legend", {}, make("span", {}, "Form"), make("span", { class: "quiet" }, "size")),
    ...Object.entries(FORMS).map(([key, { name, use }]) =>
      make(
        "label",
        {},
        make("input", { type: "radio", name: "form", value: key, checked: key === state.form, onchange: () => change({ form: key }) }),
        make("b", {}, name),
        make("span", { class: "use" }, use),
        sizes[key],
      ),
    ),
  );
  const field = (label, edge) =>
    make("input", {
      type: "text", class: "time num", "aria-label": label, spellcheck: false, autocomplete: "off",
      onchange: ({ target }) => {
        const us = timeOf(target.value, state[edge]);
        if (!Number.isNaN(us)) change({ range: undefined, [edge]: us });
        else writeRange();
      },
    });
  const from = field("From, in UTC", "fromUs"), to = field("To, in UTC", "toUs");
  const length = make("span", { class: "quiet num" });
  const chosenRange = choice("range", "Which range", ranges, state.range, (range) => change({ range, ...spanned(of[range]) }));
  const title = make("input", {
    type: "text", class: "title", "aria-label": "Title", maxlength: 200, autocomplete: "off",
    oninput: ({ target }) => change({ title: target.value.trim() }),
  });
  const other = make("input", {
    type: "text", class: "size num", "aria-label": "Width and least height, in px", placeholder: "1280 × 720", autocomplete: "off",
    onchange: ({ target }) => change({ size: target.value }),
  });
  const page = `${Math.round(innerWidth)} × ${Math.round(innerHeight)}`;
  const chosenSize = choice(
    "size", "How large",
    { [SIZES[0]]: SIZES[0], [SIZES[1]]: SIZES[1], [page]: "As the page", other: "Other" },
    state.size,
    (size) => {
      other.hidden = size !== "other";
      if (size !== "other") change({ size });
      else other.focus();
    },
  );
  other.hidden = true;
  const titled = row("Title", title);
  const ofPictures = [
    row("Theme", choice("theme", "Which theme", { light: "Light", dark: "Dark" }, "light", (theme) => change({ isDark: theme === "dark" }))),
    row("Size", chosenSize, other),
  ];
  const counts = {}, boxes = {};
  const parts = make(
    "div",
    { class: "parts" },
    ...PARTS.map((part) => {
      counts[part] = make("span", { class: "quiet num" });
      boxes[part] = make("input", {
        type: "checkbox", name: "hide", value: part,
        onchange: ({ target }) => {
          state.hide[target.checked ? "add" : "delete"](part);
          change({});
        },
      });
      return make("label", {}, boxes[part], make("span", {}, part), counts[part]);
    }),
    make("label", { class: "none" }, make("input", { type: "checkbox", disabled: true }), make("span", {}, "bodies"), make("span", { class: "quiet" }, "in no form")),
  );
  const setHidden = (hidden) => {
    state.hide = new Set(hidden);
    for (const part of PARTS) boxes[part].checked = state.hide.has(part);
    change({});
  };
  const link = (words, onclick) => make("button", { type: "button", class: "inline-action", onclick }, words);
  const examples = make("dl", { class: "examples" });
  const examplesNote = make("p", { class: "quiet" }, "Also inside longer names and messages. Drawn anew each time this dialog opens.");
  const shown = make("div", { class: "preview", "data-part": "preview", tabindex: 0, role: "group", "aria-label": "Preview" });
  const scale = make("span", { class: "quiet num" });
  const has = make("p", { class: "has", "data-part": "export-counts", role: "status" });
  const whole = link("Look at it in full", () => lookAtAll());
  const leftOut = make("ul", {});
  const notHidden = make("p", { "data-part": "not-hidden" });
  const progress = make("progress", { max: 1, hidden: true, "aria-label": "Progress" });
  const progressWords = make("span", { class: "quiet num" });
  const stop = button("Stop", () => stopWork(), { hidden: true, "data-part": "stop" });
  const name = make("span", { class: "quiet file-name" });
  const copy = button("Copy", () => copyIt(), { hidden: true, "data-part": "copy" });
  const run = button([make("b", {}, "Export"), make("kbd", {}, "Ctrl ↵")], () => exportIt(), { class: "control first", "data-part": "run", disabled: true });
  const dialog = make(
    "dialog",
    {
      class: "export", "data-part": "export-dialog", "aria-label": "Export",
      onclose: () => closed(),
      onkeydown: (event) => {
        // The page must not handle these keys.
        event.stopPropagation();
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) exportIt();
      },
    },
    make(
      "header",
      {},
      make("h2", {}, "Export"),
      make("span", { class: "quiet of" }, [of.cluster, of.namespaces].filter(Boolean).join(" / "), `, ${date(state.fromUs)} UTC`),
      button(["Close ", make("kbd", {}, "Esc")], () => dialog.close()),
    ),
    make(
      "div",
      { class: "left" },
      forms,
      make(
        "section",
        { class: "what" },
        row("Range", from, make("span", { class: "quiet" }, "to"), to, length, chosenRange),
        row("Lanes", choice("lanes", "Which lanes", LANES, state.lanes, (lanes) => change({ lanes }))),
        titled,
        ...ofPictures,
      ),
      make(
        "section",
        { class: "hide" },
        make(
          "h3",
          {},
          "Hide",
          make("span", { class: "space" }),
          link("All", () => setHidden(PARTS)),
          link("None", () => setHidden([])),
          kept().length > 0 && link("As last time", () => setHidden(kept())),
        ),
        parts,
        examples,
        examplesNote,
      ),
    ),
    make(
      "div",
      { class: "right" },
      make("h3", {}, "Preview, as it will be", make("span", { class: "space" }), scale),
      shown,
      make("div", { class: "has-row" }, has, whole),
      make("section", {}, make("h3", {}, "Left out"), leftOut),
      make("section", {}, make("h3", {}, "Not hidden"), notHidden),
    ),
    make("footer", {}, progressWords, progress, stop, make("span", { class: "space" }), name, copy, run),
  );

  // The choice

  const writeRange = () => {
    const isOneDay = date(state.fromUs) === date(state.toUs) && date(state.fromUs) === date(of.loaded[1]);
    const write = (us) => (isOneDay ? clock(us) : `${date(us)} ${clock(us)}`);
    [from.value, to.value] = [write(state.fromUs), write(state.toUs)];
    from.classList.toggle("long", !isOneDay);
    to.classList.toggle("long", !isOneDay);
    length.textContent = state.toUs > state.fromUs ? lasted(state.toUs - state.fromUs) : "empty";
    for (const input of chosenRange.querySelectorAll("input")) input.checked = input.value === state.range;
  };
  const writeForm = () => {
    const isPicture = ["svg", "png", "html", "report", "charts"].includes(state.form);
    // The other forms are data, in which nobody reads a title.
    titled.hidden = !isPicture && state.form !== "md";
    for (const of_ of ofPictures) of_.hidden = !isPicture;
    ofPictures[1].hidden ||= !["svg", "png"].includes(state.form);
    run.firstChild.textContent = `Export ${form("name")}`;
    copy.hidden = !canCopy();
    name.textContent = fileName();
  };
  // Firefox before 127 lacks one of these, and so does a page without a secure context.
  const canCopy = () =>
    Boolean(navigator.clipboard) && (form("isText") || (state.form === "png" && typeof ClipboardItem !== "undefined"));
  // A file's name is seen by more people than its content, so it leaves out a hidden cluster name.
  const fileName = (what) => {
    const of_ = state.hide.has("cluster") || !of.cluster ? "watchscope" : of.cluster.replace(/[^\w.-]+/g, "-").slice(0, 60);
    return `${[of_, stampOf(state.fromUs), what].filter(Boolean).join("-")}.${form("ending") ?? state.form}`;
  };
  const change = (of_) => {
    Object.assign(state, of_);
    writeRange();
    writeForm();
    setReady(false);
    clearTimeout(timer);
    timer = setTimeout(refresh, WAIT_MS);
  };
  const sidesOf = (text) => {
    const [width, height] = text.split(/[^\d]+/).map(Number);
    const within = (px, least) => Math.min(MOST_PX, Math.max(least, px || 0));
    return { widthPx: within(width, LEAST_PX), heightPx: within(height, 200) };
  };
  const wish = () => ({
    fromUs: state.fromUs, toUs: state.toUs, lanes: state.lanes, choices: of.choices, filter: of.filter,
    hide: [...state.hide], title: state.title, isDark: state.isDark,
    ...sidesOf(state.size),
    zoneOffsetMin: -new Date().getTimezoneOffset(),
  });

  // Work

  const onProgress = ({ done, of: all }) => {
    progress.value = done / all;
    progressWords.textContent = done < all ? `${done} of ${all} chapters` : "Making it";
  };
  const busy = (words) => {
    isMaking = Boolean(words);
    progress.removeAttribute("value");
    progress.hidden = stop.hidden = !words;
    progressWords.textContent = words;
    run.disabled = !latest || isMaking;
    copy.disabled = run.disabled;
  };
  const setReady = (is) => {
    isReady = is;
    // Tests wait for this state.
    dialog.dataset.state = is ? "ready" : "waiting";
  };
  const refuse = (words) => {
    [latest, exportsSoon] = [undefined, false];
    setReady(true);
    shown.replaceChildren(make("p", { class: "none", role: "alert" }, words));
    has.textContent = scale.textContent = "";
    whole.hidden = true;
    busy("");
  };
  // Makes the worker hold the records of the range; the frames of a range are handed over once.
  const bringRecords = async () => {
    const { fromUs, toUs } = state;
    if (worker && handed && handed[0] === fromUs && handed[1] === toUs) return;
    handed = undefined;
    busy("Loading the range");
    const [chapters, notes] = await hand(fromUs, toUs);
    worker ??= hire(onProgress);
    const buffers = chapters.map(({ buffer }) => buffer);
    const source = await shownBy(around);
    await worker.ask("records", { fromUs: of.loaded[0], toUs: of.loaded[1], chapters, notes, shown: source }, buffers);
    handed = [fromUs, toUs];
  };
  // Makes the present choice for the preview. Of several changes meanwhile, only the last is made.
  const refresh = async () => {
    clearTimeout(timer);
    timer = undefined;
    if (isMaking) {
      isWanted = true;
      return;
    }
    // A later change is made after this one.
    isWanted = false;
    if (!(state.fromUs < state.toUs)) {
      refuse(`Nothing in ${clock(state.fromUs)} – ${clock(state.toUs)}. Choose a range.`);
      return;
    }
    busy("Making the preview");
    const wanted = { ...state, hide: [...state.hide] };
    const by = ++turn;
    try {
      await bringRecords();
      busy("Making the preview");
      const made = await worker.ask("make", { wish: wish(), form: state.form });
      if (by !== turn) return;
      latest = { ...made, form: wanted.form };
      write(latest);
      busy("");
      // A change that came meanwhile is made first.
      if (!isWanted && timer === undefined) setReady(true);
      if (isReady && exportsSoon) {
        exportsSoon = false;
        exportIt();
        return;
      }
    } catch (error) {
      if (by !== turn) return;
      refuse(`${sentence(error)} ${ADVICE[wanted.lanes] ?? "Choose another range."}`);
    }
    goOn();
  };
  // Makes the change that came meanwhile.
  const goOn = () => {
    if (!isWanted) return;
    isWanted = false;
    refresh();
  };
  let turn = 0;
  const ADVICE = { findings: "Choose other lanes, or another range." };
  const stopWork = () => {
    turn += 1;
    worker?.end();
    [worker, handed, latest, isWanted] = [undefined, undefined, undefined, false];
    refuse("Stopped. Change something, or look again.");
    shown.append(button("Look again", refresh));
  };

  // Output

  const write = ({ facts, preview, form: of_ }) => {
    title.placeholder = facts.title;
    const pictures = (preview.pictures ?? []).map((svg) => make("img", { src: inPlace(svg), alt: facts.title }));
    if (preview.pictures) shown.replaceChildren(...pictures);
    else if (preview.lines) shown.replaceChildren(make("pre", {}, preview.lines));
    else shown.replaceChildren(make("p", { class: "none" }, of_ === "trace" ? "Perfetto shows it: tracks for watches, connections and objects." : "It has too many records to be shown before it is exported."));
    shown.classList.toggle("many", pictures.length > 1);
    whole.hidden = pictures.length === 0;
    scale.textContent = "";
    if (pictures.length === 1) {
      const [picture] = pictures;
      picture.onload = () => {
        const share = picture.clientWidth / picture.naturalWidth;
        scale.textContent = `${picture.naturalWidth} × ${picture.naturalHeight}, here at ${Math.round(share * 100)} %`;
      };
    }
    const parts_ = [
      counted(facts.watches, "watch"), counted(facts.changes, "change"),
      facts.findings > 0 && counted(facts.findings, "finding"), facts.notes > 0 && counted(facts.notes, "note"),
      counted(facts.records, "record"),
    ];
    has.textContent = parts_.filter(Boolean).join(", ");
    if (preview.bytes !== undefined) sizes[of_].textContent = sizeOf(preview.bytes);
    for (const { part, count } of facts.parts) if (counts[part]) counts[part].textContent = count > 0 ? count.toLocaleString("en") : "";
    examples.replaceChildren(
      ...facts.examples.map(({ name: old, becomes }) => make("div", {}, make("dt", { title: old }, old), make("dd", { title: becomes }, becomes))),
    );
    examples.hidden = examplesNote.hidden = facts.examples.length === 0;
    const hidesNames = state.hide.size > 0;
    leftOut.replaceChildren(
      ...[
        state.lanes === "findings" && "Watches that no finding concerns.",
        state.lanes === "page" && of.filter && !hidesNames && isDrawn(of_) && `Lanes that the filter ${of.filter} hides.`,
        state.lanes === "page" && hidesNames && "What you opened, closed and filtered: it would show which pseudonym is whose.",
        "Bodies of objects.",
        "Values of Secrets: they are in no file, ever.",
      ].filter(Boolean).map((words) => make("li", {}, words)),
    );
    const words = facts.notHidden.join(", ");
    notHidden.textContent = `${words[0].toUpperCase()}${words.slice(1)}.`;
  };
  const isDrawn = (of_) => ["svg", "png", "report"].includes(of_);
  const lookAtAll = () => {
    const images = [...shown.querySelectorAll("img")].map((image) => image.cloneNode());
    const full = make("dialog", { class: "full", "aria-label": "The picture in full", onclose: () => full.remove(), onclick: () => full.close(), onkeydown: (event) => event.stopPropagation() }, ...images);
    document.body.append(full);
    full.showModal();
  };

  // Files

  const fileOf = async () => {
    const { form } = state;
    const { file } = await worker.ask("file", { form });
    return form === "png" ? rastered(file) : file;
  };
  const exportIt = async () => {
    if (!isReady) {
      exportsSoon = true;
      return;
    }
    if (run.disabled) return;
    const { type } = FORMS[state.form], made = fileName();
    // If so, the file has the notes that only this page had (open.js); not if some are out of its range or hidden.
    const hasNotes = state.form === "wscope" && state.hide.size === 0 && latest.facts.notes >= of.notes;
    const { kept } = document.body.dataset;
    busy(`Making ${made}`);
    keep([...state.hide]);
    const by = ++turn;
    try {
      const file = await fileOf();
      if (by !== turn) return;
      if (Array.isArray(file)) file.forEach((svg, at) => download(svg, fileName(`chart-${at + 1}`), type));
      else download(file, made, type);
      if (kept && hasNotes) tellSaved(kept, made);
      busy("");
      progressWords.textContent = Array.isArray(file) ? `Exported ${file.length} charts` : `Exported ${made}`;
      goOn();
    } catch (error) {
      if (by === turn) refuse(`${sentence(error)} It was not exported.`);
    }
  };
  const copyIt = async () => {
    if (copy.disabled) return;
    busy("Copying");
    try {
      const file = await fileOf();
      if (state.form === "png") await navigator.clipboard.write([new ClipboardItem({ "image/png": file })]);
      else await navigator.clipboard.writeText(typeof file === "string" ? file : new TextDecoder().decode(file));
      busy("");
      progressWords.textContent = "Copied";
    } catch (error) {
      busy("");
      progressWords.textContent = `Not copied: ${error.message}`;
    }
  };
  // Work that is under way goes on, but nothing of it is shown any more.
  const closed = () => {
    clearTimeout(timer);
    dialog.remove();
    const idle = worker;
    if (!isMaking) idle?.end();
    else setTimeout(() => idle?.end(), 600_000);
    document.getElementById("chart")?.focus();
  };

  document.body.append(dialog);
  dialog.showModal();
  dialog.querySelector("input[name='form']:checked").focus();
  busy("");
  change({});
};

const spanned = ([fromUs, toUs]) => ({ fromUs, toUs });
const sentence = ({ message }) => `${message[0].toUpperCase()}${message.slice(1)}${message.endsWith(".") ? "" : "."}`;
