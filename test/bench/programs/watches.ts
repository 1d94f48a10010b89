/**
 * Many idle watches at once: opens COUNT of them for NAMESPACE at 127.0.0.1:PORT, or as many as OPENING
 * seconds allow, over HTTP/1.1 or, a hundred to a connection, over HTTP/2. Says `{"open":NUMBER}` when the
 * last has its head, and at SIGINT how long the events of each turn took to come, in milliseconds.
 */
import { connect as connectHTTP2 } from 'node:http2';
import process from 'node:process';
import { connect } from 'node:tls';
import { quantile } from '../statistics.ts';

const [port = '', namespace = '', counted = '', opening = '', token = '', protocol = ''] =
  process.argv.slice(2);
const count = Number(counted);
const path = `/api/v1/namespaces/${namespace}/configmaps?watch=true`;
const STREAMS_PER_CONNECTION = 100;
const OPENING_AT_ONCE = 50;

let open = 0;
/** By the number of the turn. */
const latencies: number[][] = [];

function onText(text: string): void {
  const now = process.hrtime.bigint();
  for (const [, turn, at = '0'] of text.matchAll(/"turn":(\d+),"at":"(\d+)"/g)) {
    latencies[Number(turn)] ??= [];
    latencies[Number(turn)]?.push(Number(now - BigInt(at)) / 1e6);
  }
}

function openHTTP1(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: Number(port), host: '127.0.0.1', rejectUnauthorized: false }, () => {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    });
    socket.setEncoding('latin1');
    socket.once('data', (head: unknown) => {
      if (String(head).startsWith('HTTP/1.1 200 ')) resolve();
      else reject(new Error(`no watch: ${String(head).slice(0, 300)}`));
    });
    socket.on('data', onText);
    socket.on('error', reject);
  });
}

let requested = 0;
let session: ReturnType<typeof connectHTTP2> | undefined;
function openHTTP2(): Promise<void> {
  if (requested % STREAMS_PER_CONNECTION === 0 || session === undefined) {
    session = connectHTTP2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
    session.on('error', (error) => console.error(error));
  }
  requested += 1;
  const stream = session.request({ ':path': path, authorization: `Bearer ${token}` });
  stream.setEncoding('latin1');
  return new Promise((resolve, reject) => {
    stream.once('response', ({ ':status': status }) => {
      if (status === 200) resolve();
      else reject(new Error(`no watch: ${status}`));
    });
    stream.on('data', onText);
    stream.on('error', reject);
  });
}

process.once('SIGINT', () => {
  const turns = latencies.map((times) => ({
    events: times.length,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
  }));
  console.log(JSON.stringify({ turns }));
  process.exit(0);
});

const deadline = Date.now() + Number(opening) * 1_000;
while (open < count && Date.now() < deadline) {
  const batch = Array.from({ length: Math.min(OPENING_AT_ONCE, count - open) }, () =>
    protocol === 'http2' ? openHTTP2() : openHTTP1(),
  );
  await Promise.all(batch);
  open += batch.length;
}
console.log(JSON.stringify({ open }));
