/** Contenders beside Stonegate: the pass-through, Caddy, and programs named on the command line. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { CONTENDER_CORE, start, startProgram } from '../processes.ts';
import { untilListening } from '../waiting.ts';
import type { Contender } from './contender.ts';

/** The reference. */
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

/** The package that most reverse proxies on Node use, and its best successor: see decision 0001. */
export const [httpProxy, httpProxy3] = [packaged('http-proxy'), packaged('http-proxy-3')];

function packaged(name: 'http-proxy' | 'http-proxy-3'): Contender {
  return {
    name,
    start: ({ site, upstream }) =>
      startProgram(CONTENDER_CORE, 'http-proxy', name, site.upstream[upstream], site.certFile, site.keyFile),
  };
}

/** With one processor for Go. */
export const caddy: Contender = {
  name: 'caddy',
  ...missingCaddy(),
  async start({ site, upstream }) {
    const transport =
      upstream === 'tls'
        ? `\n    transport http {\n      tls_trusted_ca_certs ${site.caFile}\n      versions 1.1\n    }`
        : '';
    const port = await freePort();
    const file = join(site.folder, 'Caddyfile');
    const configuration = `{
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
    writeFileSync(file, configuration);
    const environment = { GOMAXPROCS: '1', HOME: site.folder, XDG_DATA_HOME: site.folder };
    const words = ['caddy', 'run', '--adapter', 'caddyfile', '--config', file];
    const running = start(CONTENDER_CORE, words, environment);
    await untilListening(running, port);
    return { ...running, port };
  },
};

function missingCaddy(): { missing?: string } {
  try {
    execFileSync('caddy', ['version'], { stdio: 'ignore' });
    return {};
  } catch {
    return { missing: 'caddy is not installed: apt-get install caddy' };
  }
}

/**
 * `name=command,port`: a program that already knows its upstream and serves TLS on the port.
 *
 * @returns undefined where the text is not of that form
 */
export function parseContender(text: string): Contender | undefined {
  const match = /^([\w-]+)=(.+),(\d+)$/.exec(text);
  const [, name = '', command = '', port = ''] = match ?? [];
  if (match === null) return undefined;
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
