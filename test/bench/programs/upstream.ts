/**
 * The API server of the benchmark: answers from memory, straight on the socket, so that it is never the
 * slowest part. `watch=true` is a stream; whatever else has a body is read and answered. `/events/TURNS`
 * gives streams their events, and `/seen` tells how many requests there were, those two left out. Speaks
 * HTTP/1.1 as all contenders do towards their upstream; with a certificate, over TLS.
 */
import { readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { createServer as createTLSServer } from 'node:tls';
import { pageOf } from '../stored-tokens.ts';
import { announce } from './announce.ts';

const [certFile, keyFile] = process.argv.slice(2);

const SMALL = answer(200, document(2_000));
const LARGE = answer(200, document(1_000_000));
/** Also what Stonegate asks for its own rights: everything is allowed. */
const CREATED = answer(201, JSON.stringify({ ...JSON.parse(document(200)), status: { allowed: true } }));
const STREAM = Buffer.from(
  'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
);
const TURN_MS = 1_000;
const REST_MS = 500;
const HEAD_END = Buffer.from('\r\n\r\n');

/** Watches by what was asked. */
const streams = new Map<string, Set<Socket>>();
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
  socket.on('close', () => {
    for (const sockets of streams.values()) sockets.delete(socket);
  });
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
  const [, turns] = /^GET \/events\/(\d+) /.exec(target) ?? [];
  if (turns !== undefined) {
    void playEvents(Number(turns)).then(() => socket.write(answer(200, turns)));
    return;
  }
  const page = pageOf(target);
  if (page !== undefined) {
    socket.write(answer(200, page));
    return;
  }
  seen += 1;
  if (target.includes('watch=true')) {
    socket.write(STREAM);
    const alike = streams.get(target) ?? new Set();
    streams.set(target, alike.add(socket));
  } else socket.write(target.includes('/large') ? LARGE : SMALL);
}

/** In each turn, those who asked the same have an event each, one such group after the other. */
async function playEvents(turns: number): Promise<void> {
  const groups = [...streams.values()].map((sockets) => [...sockets]);
  for (let turn = 0; turn < turns; turn += 1) {
    for (const group of groups) await giveEvents(group, turn);
    groups.reverse();
  }
}

/** Spread over the time, as the events of real objects are, and a while for the last to arrive. */
async function giveEvents(sockets: readonly Socket[], turn: number): Promise<void> {
  const began = performance.now();
  for (let given = 0; given < sockets.length; await pause(5)) {
    const due = Math.ceil((sockets.length * (performance.now() - began)) / TURN_MS);
    for (; given < Math.min(due, sockets.length); given += 1) sockets[given]?.write(event(turn));
  }
  await pause(REST_MS);
}

/** Carries the machine's monotonic time in nanoseconds, which the client compares with its own. */
function event(turn: number): string {
  const line = `{"type":"MODIFIED","turn":${turn},"at":"${process.hrtime.bigint()}"}\n`;
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
