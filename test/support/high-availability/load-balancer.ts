/**
 * HAProxy as a TCP load balancer in front of replicas: it sends connections to those whose `/readyz` responds
 * with 200, as a Service of Kubernetes does.
 * https://docs.haproxy.org/2.6/management.html#9.3
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Test } from 'tap';
import { freePort } from '../free-port.ts';
import { startServerProcess } from '../kubernetes/process.ts';

/** Why tests that need a load balancer cannot run here; false if they can. */
export function haproxyMissing(): string | false {
  try {
    execFileSync('haproxy', ['-v'], { stdio: 'ignore' });
    return false;
  } catch {
    return 'haproxy is not installed: apt-get install haproxy';
  }
}

export interface Backend {
  readonly port: number;
  readonly adminPort: number;
}

export type LoadBalancer = Awaited<ReturnType<typeof startLoadBalancer>>;

const SLOTS = 4;
const BACKEND = 'replicas';

const configuration = (port: number, socket: string) => `global
  maxconn 2000
  stats socket ${socket} level admin
defaults
  mode tcp
  timeout connect 60s
  timeout client 1h
  timeout server 1h
  retries 3
  option redispatch 1
frontend api
  bind 127.0.0.1:${port}
  default_backend ${BACKEND}
backend ${BACKEND}
  balance roundrobin
  option httpchk
  http-check send meth GET uri /readyz
  http-check expect status 200
  default-server inter 50ms fall 1 rise 1
  timeout check 60s
  server-template slot 1-${SLOTS} 127.0.0.1:1 check port 1 disabled
`;

/** Ends with the test. */
export async function startLoadBalancer(t: Pick<Test, 'teardown'>) {
  // HAProxy limits the path of a socket to 97 characters.
  const folder = mkdtempSync(join(tmpdir(), 'stonegate-haproxy-'));
  const port = await freePort();
  const [file, socket] = [join(folder, 'haproxy.cfg'), join(folder, 'haproxy.sock')];
  writeFileSync(file, configuration(port, socket));
  const haproxy = startServerProcess('haproxy', ['-db', '-f', file], join(folder, 'haproxy.log'));
  t.teardown(async () => {
    await haproxy.stop();
    rmSync(folder, { recursive: true });
  });
  await haproxy.whenReady(async () => {
    try {
      return (await command(socket, 'show info')).includes('Name: HAProxy');
    } catch {
      // HAProxy does not listen yet.
      return false;
    }
  });
  const slots: Backend[] = [];
  const nameOf = (backend: Backend) => `${BACKEND}/slot${slots.indexOf(backend) + 1}`;
  return {
    port,
    /** Sends connections to the backend as long as it is ready. It must be ready now. */
    async add(backend: Backend) {
      if (slots.push(backend) > SLOTS) throw new RangeError(`no more than ${SLOTS} replicas`);
      const name = nameOf(backend);
      await command(socket, `set server ${name} addr 127.0.0.1 port ${backend.port}`);
      await command(socket, `set server ${name} check-port ${backend.adminPort}`);
      await command(socket, `enable server ${name}`);
    },
    /** Whether new connections are sent to the backend. */
    async isUp(backend: Backend) {
      const [header = '', ...lines] = (await command(socket, 'show stat')).split('\n');
      const column = header.split(',').indexOf('status');
      const line = lines.find((each) => each.startsWith(`${nameOf(backend).replace('/', ',')},`));
      return line?.split(',')[column]?.startsWith('UP') ?? false;
    },
  };
}

/** Runs one command of HAProxy's runtime API. */
async function command(socket: string, words: string) {
  const connection = createConnection(socket);
  connection.end(`${words}\n`);
  return await text(connection);
}
