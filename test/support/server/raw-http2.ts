/**
 * HTTP/2 frames written by hand, for traffic that no well-behaved client sends.
 * RFC 9113 §4.1, §6.
 */

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

export const FRAME = {
  data: 0,
  headers: 1,
  resetStream: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const END_STREAM = 1;
export const END_HEADERS = 4;

export function frame(type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)) {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** The preface and empty SETTINGS, with which every client begins. */
export const HELLO = Buffer.concat([PREFACE, frame(FRAME.settings, 0, 0)]);

/** `GET / https` with an authority, from HPACK's static table and one literal (RFC 7541). */
export const GET_ROOT = Buffer.from([0x82, 0x84, 0x87, 0x41, 0x01, 0x78]);

/**
 * A literal field that is in no table; name and value of at most 126 bytes each (RFC 7541 §6.2.2).
 */
export function literalField(name: string, value: string) {
  return Buffer.concat([Buffer.of(0), stringLiteral(name), stringLiteral(value)]);
}

function stringLiteral(text: string) {
  const bytes = Buffer.from(text, 'latin1');
  return Buffer.concat([Buffer.of(bytes.length), bytes]);
}

export function uint32(value: number) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** The type and payload of each frame that a server sent. */
function framesOf(bytes: Buffer): { readonly type: number; readonly payload: Buffer }[] {
  const frames = [];
  for (let at = 0; at + 9 <= bytes.length; ) {
    const length = bytes.readUIntBE(at, 3);
    frames.push({ type: bytes.readUInt8(at + 3), payload: bytes.subarray(at + 9, at + 9 + length) });
    at += 9 + length;
  }
  return frames;
}

/** The error codes of the GOAWAY frames that a server sent. */
export function goawayCodes(received: string) {
  return goaways(received).map((payload) => payload.readUInt32BE(4));
}

/** The last stream ids of the GOAWAY frames that a server sent. */
export function lastStreams(received: string) {
  return goaways(received).map((payload) => payload.readUInt32BE(0));
}

function goaways(received: string) {
  return framesOf(Buffer.from(received, 'latin1'))
    .filter(({ type }) => type === FRAME.goaway)
    .map(({ payload }) => payload);
}
