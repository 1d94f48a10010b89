/**
 * Who is measured, and how each is started: TLS in front with the same certificate for all, one core each, and where it
 * is not Stonegate, no more work than passing on.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import {
  CONTENDER_CORE,
  type Running,
  type Serving,
  start,
  startProgram,
  until,
  untilListening,
} from './processes.ts';
import type { Site, UpstreamKind } from './site.ts';

export interface StartOptions {
  readonly site: Site;
  readonly upstream: UpstreamKind;
  /** HTTP/2 is offered in front. */
  readonly http2?: boolean;
}

export interface Contender {
  readonly name: string;
  /** Why it cannot be started here; undefined where it can. */
  readonly missing?: string;
  start(options: StartOptions): Promise<Serving>;
}

/** As the package has it: what strips types at the start of `src/` takes some 70 MB. `npm run bench` builds it. */
const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

export interface StonegateOptions {
  readonly site: Site;
  readonly upstream: UpstreamKind;
  readonly name?: string;
  readonly changes?: Record<string, object>;
  readonly core?: string;
  readonly nodeOptions?: readonly string[];
}

export interface ServingStonegate extends Serving {
  readonly adminPort: number;
}

export async function startStonegate(options: StonegateOptions): Promise<ServingStonegate> {
  const { site, upstream, name = 'stonegate', changes, core = CONTENDER_CORE, nodeOptions = [] } = options;
  const file = site.configure(name, upstream, { log: { level: 'info' }, ...changes });
  const words = [process.execPath, '--disable-warning=ExperimentalWarning', ...nodeOptions];
  const running = start(core, [...words, MAIN, 'serve', '--config', file]);
  const ports = await until(running, () => portsOf(running));
  return { ...running, ...ports };
}

/** One process says its address; the primary of several its port. */
function portsOf(running: Running): { port: number; adminPort: number } | undefined {
  for (const line of running.output().split('\n')) {
    if (!line.includes('"message":"serving"') || !line.endsWith('}')) continue;
    const said: { address?: { port: number }; port?: number; admin?: { port: number } } = JSON.parse(line);
    const port = said.port ?? said.address?.port;
    if (said.admin !== undefined && port !== undefined) return { port, adminPort: said.admin.port };
  }
  return undefined;
}

export const stonegate: Contender = {
  name: 'stonegate',
  start: ({ site, upstream }) => startStonegate({ site, upstream }),
};

export const passThrough: Contender = {
  name: 'pass-through',
  start: ({ site, upstream, http2 = false }) =>
    startProgram(
      CONTENDER_CORE,
      'pass-through',
      site.upstream[upstream],
      site.certFile,
      site.keyFile,
      site.caFile,
      http2 ? 'http2' : 'http1',
    ),
};

export const httpProxy: Contender = {
  name: 'http-proxy',
  start: ({ site, upstream }) =>
    startProgram(
      CONTENDER_CORE,
      'http-proxy',
      site.upstream[upstream],
      site.certFile,
      site.keyFile,
      site.caFile,
    ),
};

export const caddy: Contender = {
  name: 'caddy',
  ...missing('caddy', 'version'),
  async start({ site, upstream }) {
    const transport =
      upstream === 'tls'
        ? `\n    transport http {\n      tls_trusted_ca_certs ${site.caFile}\n      versions 1.1\n    }`
        : '';
    const serving = (port: number) => `{
  admin off
  auto_https off
  skip_install_trust
  log {
    output discard
  }
}
https://localhost:${port}, https://127.0.0.1:${port} {
  bind 127.0.0.1
  tls ${site.certFile} ${site.keyFile}
  reverse_proxy ${site.upstream[upstream]} {
    header_up Impersonate-User acme:alice${transport}
  }
}
`;
    const words = (file: string) => ['caddy', 'run', '--adapter', 'caddyfile', '--config', file];
    const environment = { GOMAXPROCS: '1', HOME: site.folder, XDG_DATA_HOME: site.folder };
    return startConfigured('Caddyfile', serving, words, site, environment);
  },
};

export const nginx: Contender = {
  name: 'nginx',
  ...missing('nginx', '-v'),
  async start({ site, upstream, http2 = false }) {
    const { host } = new URL(site.upstream[upstream]);
    const scheme = upstream === 'tls' ? 'https' : 'http';
    const serving = (port: number) => `daemon off;
master_process off;
worker_processes 1;
pid ${join(site.folder, 'nginx.pid')};
error_log stderr crit;
events { worker_connections 16384; }
http {
  access_log off;
  keepalive_requests 1000000;
  client_max_body_size 100m;
  client_body_temp_path ${site.folder};
  proxy_temp_path ${site.folder};
  large_client_header_buffers 8 64k;
  upstream apiserver { server ${host}; keepalive 256; keepalive_requests 1000000; }
  server {
    listen 127.0.0.1:${port} ssl${http2 ? ' http2' : ''} backlog=4096;
    ssl_certificate ${site.certFile};
    ssl_certificate_key ${site.keyFile};
    location / {
      proxy_pass ${scheme}://apiserver;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Impersonate-User acme:alice;
      proxy_ssl_trusted_certificate ${site.caFile};
      proxy_ssl_verify on;
      proxy_ssl_name localhost;
      proxy_buffering off;
    }
  }
}
`;
    return startConfigured('nginx.conf', serving, (file) => ['nginx', '-c', file], site);
  },
};

export const haproxy: Contender = {
  name: 'haproxy',
  ...missing('haproxy', '-v'),
  async start({ site, upstream, http2 = false }) {
    const { host } = new URL(site.upstream[upstream]);
    const tls = upstream === 'tls' ? `ssl verify required ca-file ${site.caFile} alpn http/1.1` : '';
    const serving = (port: number) => `global
  nbthread 1
  maxconn 8000
  tune.bufsize 65536
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend clients
  bind 127.0.0.1:${port} ssl crt ${join(site.folder, 'tls.pem')} alpn ${http2 ? 'h2,http/1.1' : 'http/1.1'}
  default_backend apiserver
backend apiserver
  http-request set-header Impersonate-User acme:alice
  server one ${host} ${tls}
`;
    return startConfigured('haproxy.cfg', serving, (file) => ['haproxy', '-db', '-f', file], site);
  },
};

export const CONTENDERS: readonly Contender[] = [stonegate, passThrough, httpProxy, caddy, nginx, haproxy];

/** `name=command,port`: a program that already knows its upstream and serves TLS on the port. */
export function parseContender(text: string): Contender {
  const match = /^([\w-]+)=(.+),(\d+)$/.exec(text);
  const [, name = '', command = '', port = ''] = match ?? [];
  if (match === null) throw new Error(`expected name=command,port: ${text}`);
  return {
    name,
    async start({ site, upstream }) {
      const running = start(CONTENDER_CORE, ['sh', '-c', `exec ${command}`], {
        UPSTREAM: site.upstream[upstream],
        CERT_FILE: site.certFile,
        KEY_FILE: site.keyFile,
        CA_FILE: site.caFile,
      });
      await untilListening(running, Number(port));
      return { ...running, port: Number(port) };
    },
  };
}

async function startConfigured(
  name: string,
  configuration: (port: number) => string,
  words: (file: string) => readonly string[],
  site: Site,
  environment: Readonly<Record<string, string>> = {},
): Promise<Serving> {
  const port = await freePort();
  const file = join(site.folder, name);
  writeFileSync(file, configuration(port));
  const running = start(CONTENDER_CORE, words(file), environment);
  await untilListening(running, port);
  return { ...running, port };
}

function missing(command: string, ...words: string[]): { missing?: string } {
  try {
    execFileSync(command, words, { stdio: 'ignore' });
    return {};
  } catch {
    return { missing: `${command} is not installed: apt-get install ${command}` };
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
