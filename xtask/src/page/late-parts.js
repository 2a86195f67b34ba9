// Loads the late parts of the page, each linked to the first, and reports to the page whether that worked. It replaces
// the loader that wasm_split_cli_support writes. It stands at the end of wasm-bindgen's glue, whose `wasm` are the
// exports of the first part. Behind it stands `modules`: the modules that each part adds.
const tellWhether = async (loading, tell, told) => {
  let isLoaded = true;
  try {
    // Waits for all: a module that came after another one's failure would be linked beside those of a new attempt.
    const settled = await Promise.allSettled(loading());
    const failed = settled.find(({ status }) => status === "rejected");
    if (failed) throw failed.reason;
  } catch (error) {
    isLoaded = false;
    console.error(error);
  }
  wasm.__indirect_function_table.get(tell)(told, isLoaded);
};
const link = (module) =>
  WebAssembly.instantiateStreaming(globalThis.watchscopeBridge.wasm(new URL(module, import.meta.url)), { __wasm_split: wasm });
const part = (name) => (tell, told) => tellWhether(() => modules[name].map(link), tell, told);
// The second part comes with the styles of all panels. A worker has no document for them.
const secondPart = (tell, told) => {
  // The texts of the failures are fetched at their first use.
  globalThis.watchscopeTexts = new URL("./{{findings.json}}", import.meta.url).href;
  return tellWhether(() => [
    ...modules.second.map(link),
    globalThis.document && loadStyles(new URL("./{{panels.css}}", import.meta.url)),
  ], tell, told);
};
// Waits for the styles: panels without them would be visible for a moment.
function loadStyles(url) {
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = url;
  return new Promise((resolve, reject) => {
    link.onload = resolve;
    link.onerror = () => {
      link.remove();
      reject(new Error(`failed to load ${url}`));
    };
    document.head.append(link);
  });
}
