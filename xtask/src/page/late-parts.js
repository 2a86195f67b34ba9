// Loads the late parts of the page, each linked to the first, then tells whether it is there. It takes the place of the
// loader that wasm_split_cli_support writes, and stands at the end of wasm-bindgen's glue, whose `wasm` are the exports of
// the first part.
const tellWhether = async (loading, tell, told) => {
  let isLoaded = true;
  try {
    // What is loaded late, after a failure of another, would be linked beside what a new attempt loads.
    const settled = await Promise.allSettled(loading());
    const failed = settled.find(({ status }) => status === "rejected");
    if (failed) throw failed.reason;
  } catch (error) {
    isLoaded = false;
    console.error(error);
  }
  wasm.__indirect_function_table.get(tell)(told, isLoaded);
};
const part = (url) => WebAssembly.instantiateStreaming(globalThis.watchscopeWay.wasm(url), { __wasm_split: wasm });
// With the second part come what the third has in common with it, and the styles of all panels.
const loadSecondPart = (tell, told) => {
  // The texts of the failures are fetched when somebody asks for one.
  globalThis.watchscopeTexts = new URL("./{{findings.json}}", import.meta.url).href;
  return tellWhether(() => [
    part(new URL("./{{frontend_second.wasm}}", import.meta.url)),
    part(new URL("./{{frontend_shared.wasm}}", import.meta.url)),
    loadStyles(new URL("./{{panels.css}}", import.meta.url)),
  ], tell, told);
};
const loadThirdPart = (tell, told) =>
  tellWhether(() => [part(new URL("./{{frontend_third.wasm}}", import.meta.url))], tell, told);
// Panels without their styles would be seen for a moment.
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
