// Deflating as every browser does it: raw deflate (RFC 1951).

export const FORMAT = "deflate-raw";

export const streamed = (bytes, through) => new Blob([bytes]).stream().pipeThrough(through);

export const deflated = async (bytes) => {
  const stream = streamed(bytes, new CompressionStream(FORMAT));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};
