"""Lists the blocks of recordings, as docs/recordings.md describes them; Python 3, standard library only.

    python3 read_recording.py FILE...

Prints one JSON object a line: for each block its number, offset, tag and lengths, whether its checksum is right, and how
many frames of each kind or how many notes it holds. It decodes no fields of records. A file is read header by header; its index is listed
like any other block.
"""

import json
import struct
import sys
import zlib

MAGIC = b"\x89WSR\r\n\x1a\n"
FILE_HEADER_BYTES = 12
HEADER_BYTES = 20
MAX_STORED_BYTES = 65 << 20
MAX_RAW_BYTES = 64 << 20
FRAME_HEADER_BYTES = 10


class NotARecording(Exception):
    """The file is no recording that this program reads."""


def read_header(file, at):
    """The tag, lengths and checksum of the header at a byte; None if there is none."""
    header = file[at : at + HEADER_BYTES]
    if len(header) < HEADER_BYTES:
        return None
    tag, zeros, stored, raw, checksum, own = struct.unpack("<1s3sIIII", header)
    is_sensible = (
        b"A" <= tag <= b"Z"
        and zeros == b"\0\0\0"
        and stored <= MAX_STORED_BYTES
        and raw <= MAX_RAW_BYTES
        and zlib.crc32(header[:16]) == own
    )
    return (tag.decode(), stored, raw, checksum) if is_sensible else None


def inflate(deflated, raw):
    """The inflated bytes, if they are as many as stated."""
    inflating = zlib.decompressobj(-15)
    inflated = inflating.decompress(deflated, raw + 1)
    if len(inflated) != raw or not inflating.eof:
        raise ValueError("it inflates to another length")
    return inflated


def count_frames(frames):
    """How many frames of each kind there are; each frame's checksum must be right."""
    counts = {}
    while frames:
        kind, _version, length, checksum = struct.unpack_from("<1sBII", frames)
        payload = frames[FRAME_HEADER_BYTES : FRAME_HEADER_BYTES + length]
        if len(payload) != length or zlib.crc32(payload) != checksum:
            raise ValueError("a frame is damaged")
        counts[kind.decode()] = counts.get(kind.decode(), 0) + 1
        frames = frames[FRAME_HEADER_BYTES + length :]
    return counts


def read_varint(payload, at):
    """A number and where it ends."""
    value, shift = 0, 0
    while True:
        byte = payload[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def count_notes(payload):
    """How many notes there are; each must be there to its last byte."""
    count, at = 0, 0
    while at < len(payload):
        length, at = read_varint(payload, at)
        at, count = at + length, count + 1
    if at != len(payload):
        raise ValueError("a note is cut")
    return count


def frames_of(tag, payload, raw):
    """The frames that a block holds; None if it is of a tag without frames."""
    if tag in "OS":
        return payload[8:]
    if tag != "C":
        return None
    summary_length, summary_checksum = struct.unpack_from("<II", payload, 8)
    summary = payload[16 : 16 + summary_length]
    if zlib.crc32(summary) != summary_checksum:
        raise ValueError("the summary is damaged")
    return inflate(payload[16 + summary_length :], raw)


def blocks(file):
    """What there is to say of each block."""
    if file[:8] != MAGIC or len(file) < FILE_HEADER_BYTES:
        raise NotARecording("this is no watchscope recording")
    (version,) = struct.unpack_from("<I", file, 8)
    if version != 1:
        raise NotARecording(f"the recording has format version {version}")
    at, number = FILE_HEADER_BYTES, 0
    while at < len(file):
        header = read_header(file, at)
        if header is None and len(file) - at >= HEADER_BYTES:
            begin = at
            while at < len(file) and read_header(file, at) is None:
                at += 1
            yield {"block": number, "offset": begin, "skipped": at - begin}
            number += 1
            continue
        end = at + HEADER_BYTES + (header[1] if header else 0)
        if header is None or end > len(file):
            yield {"cut": at}
            return
        tag, stored, raw, checksum = header
        payload = file[at + HEADER_BYTES : end]
        entry = {"block": number, "offset": at, "tag": tag, "stored": stored, "raw": raw}
        entry["ok"] = zlib.crc32(payload) == checksum
        if entry["ok"]:
            frames = frames_of(tag, payload, raw)
            if frames is not None:
                entry["frames"] = count_frames(frames)
            if tag == "N":
                entry["notes"] = count_notes(payload)
        yield entry
        at, number = end, number + 1


def main():
    for path in sys.argv[1:]:
        with open(path, "rb") as opened:
            file = opened.read()
        try:
            for entry in blocks(file):
                print(json.dumps(entry, separators=(",", ":")))
        except NotARecording as error:
            sys.exit(f"{path}: {error}")


if __name__ == "__main__":
    main()
