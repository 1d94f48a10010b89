/**
 * The part of SPDY/3.1 that Kubernetes uses for exec, attach and port-forward: streams with headers and data
 * over one upgraded connection. Flow control is left out, since neither kubectl nor the API server uses it.
 * Headers are sent as stored deflate blocks, which need no compressor state.
 * https://www.chromium.org/spdy/spdy-protocol/spdy-protocol-draft3-1/
 */
import { EventEmitter } from 'node:events';
import { Duplex } from 'node:stream';
import { constants, inflateSync } from 'node:zlib';

const SYN_STREAM = 1;
const SYN_REPLY = 2;
const RST_STREAM = 3;
const PING = 6;
const GOAWAY = 7;
const VERSION = 3;
const FIN = 1;
const FRAME_HEADER = 8;

/** The compression dictionary of section 2.6.10.1: words preceded by their lengths, then plain text. */
const WORDS =
  'options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow authorization cache-control connection content-base content-encoding content-language content-length content-location content-md5 content-range content-type date etag expect expires from host if-match if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie keep-alive origin';
const TEXT =
  '100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.';
const DICTIONARY = Buffer.concat([
  ...WORDS.split(' ').map((word) => counted(Buffer.from(word.replace('_', ' ')))),
  Buffer.from(TEXT),
]);
/** A zlib header that names the dictionary by its Adler-32 checksum. */
const ZLIB_HEADER = Buffer.from([0x78, 0xbb, 0xe3, 0xc6, 0xa7, 0xc2]);

function counted(bytes: Buffer) {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

export type SpdyHeaders = Readonly<Record<string, string>>;

/** One stream: reading yields the data of the peer, writing sends data to it, `end()` closes our half. */
export class SpdyStream extends Duplex {
  readonly id: number;
  readonly headers: SpdyHeaders;
  readonly #connection: SpdyConnection;

  constructor(connection: SpdyConnection, id: number, headers: SpdyHeaders) {
    super({ allowHalfOpen: true });
    this.#connection = connection;
    this.id = id;
    this.headers = headers;
  }

  override _read() {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void) {
    this.#connection.sendData(this.id, chunk, false, done);
  }

  override _final(done: (error?: Error | null) => void) {
    this.#connection.sendData(this.id, Buffer.alloc(0), true, done);
  }
}

interface ConnectionEvents {
  stream: [SpdyStream];
  close: [];
}

/** The server's side of a connection. Emits `stream` for each stream of the peer, after accepting it. */
export class SpdyConnection extends EventEmitter<ConnectionEvents> {
  readonly #socket: Duplex;
  readonly #streams = new Map<number, SpdyStream>();
  #received = Buffer.alloc(0);
  /** All compressed headers so far: each block continues the previous one. */
  #compressed = Buffer.alloc(0);
  #inflated = 0;
  #repliedBefore = false;

  constructor(socket: Duplex, head: Buffer) {
    super();
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('error', () => socket.destroy());
    socket.on('end', () => socket.end());
    socket.on('close', () => {
      for (const stream of this.#streams.values()) stream.destroy();
      this.emit('close');
    });
    if (head.length > 0) socket.unshift(head);
  }

  sendData(id: number, data: Buffer, last: boolean, done: (error?: Error | null) => void) {
    if (!this.#socket.writable) {
      done();
      return;
    }
    const header = Buffer.alloc(FRAME_HEADER);
    header.writeUInt32BE(id, 0);
    header.writeUInt32BE(data.length, 4);
    header.writeUInt8(last ? FIN : 0, 4);
    this.#socket.write(Buffer.concat([header, data]), done);
  }

  /** Ends the connection after everything that was written has been sent. */
  end() {
    this.#control(GOAWAY, Buffer.alloc(8));
    this.#socket.end();
  }

  #receive(chunk: Buffer) {
    this.#received = Buffer.concat([this.#received, chunk]);
    for (;;) {
      if (this.#received.length < FRAME_HEADER) return;
      const length = this.#received.readUIntBE(5, 3);
      if (this.#received.length < FRAME_HEADER + length) return;
      const frame = this.#received.subarray(0, FRAME_HEADER + length);
      this.#received = this.#received.subarray(FRAME_HEADER + length);
      this.#handle(frame);
    }
  }

  #handle(frame: Buffer) {
    const payload = frame.subarray(FRAME_HEADER);
    const last = (frame.readUInt8(4) & FIN) !== 0;
    if ((frame.readUInt8(0) & 0x80) === 0) {
      const stream = this.#streams.get(frame.readUInt32BE(0));
      if (payload.length > 0) stream?.push(payload);
      if (last) stream?.push(null);
      return;
    }
    switch (frame.readUInt16BE(2)) {
      case SYN_STREAM:
        this.#open(payload, last);
        break;
      case RST_STREAM:
        this.#streams.get(payload.readUInt32BE(0))?.destroy();
        break;
      case PING:
        this.#control(PING, payload);
        break;
    }
  }

  #open(payload: Buffer, last: boolean) {
    const id = payload.readUInt32BE(0);
    const stream = new SpdyStream(this, id, this.#readHeaders(payload.subarray(10)));
    stream.on('error', () => stream.destroy());
    stream.once('close', () => this.#streams.delete(id));
    this.#streams.set(id, stream);
    if (last) stream.push(null);
    const target = Buffer.alloc(4);
    target.writeUInt32BE(id);
    this.#control(SYN_REPLY, Buffer.concat([target, this.#emptyHeaders()]));
    this.emit('stream', stream);
  }

  #readHeaders(block: Buffer): SpdyHeaders {
    this.#compressed = Buffer.concat([this.#compressed, block]);
    const all = inflateSync(this.#compressed, {
      dictionary: DICTIONARY,
      finishFlush: constants.Z_SYNC_FLUSH,
    });
    let at = this.#inflated;
    this.#inflated = all.length;
    const next = () => {
      const length = all.readUInt32BE(at);
      const text = all.toString('utf8', at + 4, at + 4 + length);
      at += 4 + length;
      return text;
    };
    const count = all.readUInt32BE(at);
    at += 4;
    const headers: Record<string, string> = {};
    for (let i = 0; i < count; i++) {
      const name = next();
      headers[name.toLowerCase()] = next();
    }
    return headers;
  }

  /** No headers: a count of zero in a stored block, then an empty block that makes Go's reader return it. */
  #emptyHeaders() {
    const stored = Buffer.from([0, 4, 0, 0xfb, 0xff, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]);
    const block = this.#repliedBefore ? stored : Buffer.concat([ZLIB_HEADER, stored]);
    this.#repliedBefore = true;
    return block;
  }

  #control(type: number, payload: Buffer) {
    if (!this.#socket.writable) return;
    const header = Buffer.alloc(FRAME_HEADER);
    header.writeUInt16BE(0x8000 | VERSION, 0);
    header.writeUInt16BE(type, 2);
    header.writeUInt32BE(payload.length, 4);
    this.#socket.write(Buffer.concat([header, payload]));
  }
}
