/**
 * A real PostgreSQL in its own folder, on a Unix socket only. It refuses to run as root; in that case it runs
 * as the overflow user.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { eventually } from '../eventually.ts';

/** The user and the group without rights on any Linux. */
const OVERFLOW = '65534';
const INSTALLED = '/usr/lib/postgresql/*/bin/initdb';

/** Why tests against PostgreSQL cannot run here; undefined if they can. */
export function postgresMissing(): string | undefined {
  return binaries() === undefined ? 'postgres is not installed: apt-get install postgresql' : undefined;
}

export async function startPostgres() {
  const bin = binaries();
  if (bin === undefined) throw new Error('postgres is not installed');
  const folder = mkdtempSync(join(tmpdir(), 'stonegate-postgres-'));
  const data = join(folder, 'data');
  mkdirSync(data, { mode: 0o700 });
  const isRoot = process.getuid?.() === 0;
  if (isRoot) execFileSync('chown', ['-R', `${OVERFLOW}:${OVERFLOW}`, folder]);
  const asUser = isRoot ? ['--reuid', OVERFLOW, '--regid', OVERFLOW, '--clear-groups'] : [];
  const words = (program: string, ...more: string[]) => [...asUser, join(bin, program), ...more];
  const options = { cwd: folder, stdio: 'ignore' } as const;
  execFileSync(
    'setpriv',
    words('initdb', '-D', data, '-U', 'tester', '-A', 'trust', '-E', 'UTF8', '-N'),
    options,
  );
  const settings = ['fsync=off', `unix_socket_directories=${folder}`, 'listen_addresses='];
  const child = spawn(
    'setpriv',
    [
      '--pdeathsig',
      'INT',
      ...words('postgres', '-D', data, ...settings.flatMap((setting) => ['-c', setting])),
    ],
    options,
  );
  const ended = once(child, 'exit');

  async function connect(): Promise<Client> {
    const client = new Client({ host: folder, user: 'tester', database: 'postgres' });
    await client.connect();
    return client;
  }

  await eventually(async () => {
    await (await connect()).end();
    return true;
  });
  return {
    connect,
    /** Stops it and removes its folder. */
    async remove() {
      child.kill('SIGQUIT');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The folder of the binaries, which Debian does not add to PATH. The newest version is the last. */
function binaries(): string | undefined {
  return globSync(INSTALLED)
    .sort()
    .at(-1)
    ?.replace(/\/initdb$/, '');
}
