/** What is said where Stonegate does not start. */
import t from 'tap';
import { startFailure } from '../../../src/app/start-failure.ts';
import { parseConfiguration } from '../../../src/config/parse.ts';
import { FileNotOpened } from '../../../src/lib/file-errors.ts';
import { AddressError } from '../../../src/server/listen.ts';
import { WorkerStartError } from '../../../src/server/worker-pool.ts';

const { configuration } = parseConfiguration(
  JSON.stringify({
    apiVersion: 'stonegate.dev/v1alpha1',
    kind: 'StonegateConfiguration',
    server: { tls: { certFile: 'tls.crt', keyFile: 'tls.key' } },
    upstream: { server: 'https://10.0.0.1:6443', credential: { tokenFile: 'token' } },
    tenancy: { mode: 'arktos' },
    authentication: { keystone: { url: 'https://keystone:5000/v3' } },
    usage: { records: '/var/log/usage.jsonl' },
  }),
  '/etc/stonegate',
);
if (configuration === undefined) throw new Error('the configuration is wrong');

const said = (error: unknown) => startFailure(error, configuration);

t.test('an address that cannot be had is told with the setting it comes from', async (t) => {
  const taken = new AddressError('127.0.0.1:9090', 'EADDRINUSE', 'is in use', undefined);
  t.equal(said(taken), 'admin.bind 127.0.0.1:9090 is in use');
});

t.test('a file that cannot be opened is told with its setting', async (t) => {
  const failures = { EACCES: 'may not be written by this process', EISDIR: 'is a folder' };
  for (const [code, reason] of Object.entries(failures)) {
    const cause = Object.assign(new Error('open'), { code });
    t.equal(said(new FileNotOpened('/var/log/a.log', cause)), `audit.file /var/log/a.log ${reason}`);
  }
  const unforeseen = Object.assign(new Error('open'), { code: 'EMFILE' });
  t.equal(said(new FileNotOpened('/a.log', unforeseen)), 'audit.file /a.log cannot be opened (EMFILE)');
  t.match(said(new FileNotOpened('/var/log/usage.jsonl', unforeseen)), /^usage\.records \/var\/log\//);
});

t.test('a worker that gave up points at what it said itself', async (t) => {
  t.match(
    said(new WorkerStartError('worker 1 ended with code 1 before it listened')),
    /its own line in the log/,
  );
});

t.test('an unexpected error keeps its stack', async (t) => {
  t.equal(said(new Error('anything')), undefined);
});
