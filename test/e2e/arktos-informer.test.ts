/**
 * A controller's informer through Stonegate in arktos mode. client-go first requests its list as a watch,
 * which Arktos and the stand-in do not support: they send no bookmark after the list, so an informer whose
 * watch was forwarded would wait for ever.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { stringify } from 'yaml';
import { prints, stop } from '../support/kubectl-users.ts';
import { informer, missing } from '../support/kubernetes/programs.ts';
import { startStonegate } from '../support/stonegate.ts';

t.test(
  'an informer of client-go 0.36 syncs and follows changes',
  { skip: missing(informer()) },
  async (t) => {
    const folder = t.testdir();
    const stonegate = await startStonegate(t, { folder });
    const { apiServer, authority, url } = stonegate;
    const kubeconfig = join(folder, 'kubeconfig');
    const named = { name: 'it' };
    const ca = Buffer.from(authority.cert).toString('base64');
    writeFileSync(
      kubeconfig,
      stringify({
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [{ ...named, cluster: { server: url, 'certificate-authority-data': ca } }],
        users: [{ ...named, user: { token: stonegate.keystoneToken('alice') } }],
        contexts: [{ ...named, context: { cluster: 'it', user: 'it' } }],
        'current-context': 'it',
      }),
    );
    const words = ['--kubeconfig', kubeconfig, '--resource', 'v1/configmaps'];
    const running = spawn(informer(), words, { stdio: ['pipe', 'pipe', 'inherit'] });
    t.teardown(() => stop(running));
    let printed = '';
    running.stdout.on('data', (text) => {
      printed += text;
    });
    await Promise.all([prints(running, /"synced"/), prints(running, /"added".*"name":"settings"/)]);
    const later = prints(running, /"added".*"name":"later"/);
    apiServer.seed.configMap('others', {}, { tenant: 'globex' });
    apiServer.seed.configMap('later', {}, { tenant: 'acme' });
    await later;
    t.notMatch(printed, /others|error/);
    const asked = apiServer.requests.filter(({ url: path }) => path.includes('/configmaps'));
    t.equal(asked.filter(({ url: path }) => path.includes('sendInitialEvents')).length, 0);
    t.match(asked[0]?.url, /^\/api\/v1\/tenants\/acme\/configmaps\?limit=/, 'it lists first');
  },
);
