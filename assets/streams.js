// Deflating as every browser does it: raw deflate (RFC 1951).

export const FORMAT = "deflate-raw";

export const streamed = (bytes, through) => new Blob([bytes]).stream().pipeThrough(through);

const deflated = async (bytes) => {
  const stream = streamed(bytes, new CompressionStream(FORMAT));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};

// Runs a machine to its end: each step takes in deflated bytes, and returns the next to deflate.
export const deflatedBy = async (step) => {
  let raw = step();
  while (raw) raw = step(await deflated(raw));
};
