/**
 * The API server of the benchmark: answers from memory, straight on the socket, so that it is never the slowest part.
 * `watch=true` is a stream with an event each second, once no more of them open; an upgrade becomes a flood of bytes; whatever else has a body is
 * read and answered. `/seen` tells how many requests there were, those for itself left out. Speaks HTTP/1.1 as all contenders do towards their upstream; with a certificate, over TLS.
 */
import { readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import process from 'node:process';
import { createServer as createTLSServer } from 'node:tls';
import { announce } from './announce.ts';

const [certFile, keyFile] = process.argv.slice(2);

const SMALL = answer(200, document(2_000));
const LARGE = answer(200, document(1_000_000));
const CREATED = answer(201, document(200));
const STREAM = Buffer.from(
  'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
);
const SWITCHED = Buffer.from(
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n',
);
const FLOOD = Buffer.alloc(64 * 1024, 'x');
const EVENT_INTERVAL = 1_000;
const HEAD_END = Buffer.from('\r\n\r\n');

const streams = new Set<Socket>();
let seen = 0;

function document(bytes: number): string {
  const empty = JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', data: { value: '' } });
  return empty.replace('""', JSON.stringify('x'.repeat(bytes - empty.length)));
}

function answer(status: number, body: string): Buffer {
  return Buffer.from(
    `HTTP/1.1 ${status} OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
}

function serve(socket: Socket): void {
  let pending: Buffer = Buffer.alloc(0);
  let body = 0;
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.on('close', () => streams.delete(socket));
  socket.on('data', (chunk: Buffer) => {
    let rest = chunk;
    if (body > 0) {
      const taken = Math.min(body, rest.length);
      body -= taken;
      if (body > 0) return;
      create(socket);
      rest = rest.subarray(taken);
    }
    pending = pending.length === 0 ? rest : Buffer.concat([pending, rest]);
    for (let end = pending.indexOf(HEAD_END); end >= 0; end = pending.indexOf(HEAD_END)) {
      const head = pending.toString('latin1', 0, end);
      pending = pending.subarray(end + HEAD_END.length);
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
      const here = Math.min(length, pending.length);
      pending = pending.subarray(here);
      body = length - here;
      if (length === 0) respond(socket, head);
      else if (body === 0) create(socket);
    }
  });
}

function create(socket: Socket): void {
  seen += 1;
  socket.write(CREATED);
}

function respond(socket: Socket, head: string): void {
  const target = head.slice(0, head.indexOf('\r\n'));
  if (target.startsWith('GET /seen ')) {
    socket.write(answer(200, String(seen)));
    return;
  }
  seen += 1;
  if (/\r\nupgrade: /i.test(head)) flood(socket);
  else if (target.includes('watch=true')) {
    socket.write(STREAM);
    streams.add(socket);
    opened = Date.now();
  } else socket.write(target.includes('/large') ? LARGE : SMALL);
}

function flood(socket: Socket): void {
  socket.write(SWITCHED);
  const pour = () => {
    while (!socket.destroyed && socket.write(FLOOD));
  };
  socket.on('drain', pour);
  pour();
}

/** Watches open faster where none has events yet: thousands of events a second would have the core to themselves. */
const OPENING_MS = 500;
let opened = 0;

/** Spread over the second, as the events of real objects are. */
let turn: Socket[] = [];
let sent = 0;
let began = Date.now();
setInterval(() => {
  if (Date.now() - opened < OPENING_MS) return;
  const due = Math.ceil((turn.length * (Date.now() - began)) / EVENT_INTERVAL);
  for (; sent < Math.min(due, turn.length); sent += 1) turn[sent]?.write(event());
  if (Date.now() - began < EVENT_INTERVAL) return;
  turn = [...streams];
  sent = 0;
  began = Date.now();
}, 5);

/** Carries the machine's monotonic time in nanoseconds, which the client compares with its own. */
function event(): string {
  const line = `{"type":"MODIFIED","at":"${process.hrtime.bigint()}"}\n`;
  return `${line.length.toString(16)}\r\n${line}\r\n`;
}

const server =
  certFile === undefined || keyFile === undefined
    ? createServer(serve)
    : createTLSServer(
        { cert: readFileSync(certFile), key: readFileSync(keyFile), ALPNProtocols: ['http/1.1'] },
        serve,
      );
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () => announce(server));
