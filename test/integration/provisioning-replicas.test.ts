/** Two replicas that provision one cluster, and agree by a Lease on which of them does it. */
import t from 'tap';
import { type App, createApp } from '../../src/app/app.ts';
import { createProxyProgram } from '../../src/app/proxy-program.ts';
import { systemSources } from '../../src/config/load.ts';
import { createLogger } from '../../src/observability/log.ts';
import { eventually } from '../support/eventually.ts';
import { BRIDGE } from '../support/keystone/bridge.ts';
import { admitProvisioner } from '../support/provisioner.ts';
import { startTestbed, type Testbed } from '../support/testbed.ts';

async function startReplica({ configFile }: Testbed) {
  const program = createProxyProgram();
  const result = await program.load(configFile, systemSources);
  if (!result.ok) throw new Error(result.problems.map(({ message }) => message).join('\n'));
  return createApp(program, {
    file: configFile,
    ...result,
    sources: systemSources,
    logger: createLogger('error', { write() {} }),
  });
}

/** The number of successful runs. */
async function runsOf(app: App) {
  const series = 'stonegate_controller_runs_total{controller="bindings",result="ok"}';
  const line = (await app.metrics.text()).split('\n').find((each) => each.startsWith(series));
  return Number(line?.split(' ')[1] ?? 0);
}

t.test('only one of two replicas provisions', async (t) => {
  const testbed = await startTestbed(t, { mode: 'shared' });
  await admitProvisioner(testbed, { mode: 'shared' });
  const { keystone } = testbed;
  await testbed.configure({
    authentication: {
      keystone: { url: keystone.url, caFile: 'ca.crt', serviceCredential: BRIDGE },
    },
    bindings: {
      provision: 'periodic',
      interval: '50ms',
      credential: { tokenFile: 'provisioner-token' },
    },
  });
  const replicas = await Promise.all([startReplica(testbed), startReplica(testbed)]);
  t.teardown(() => Promise.all(replicas.map((app) => app.close())));
  const runs = () => Promise.all(replicas.map(runsOf));

  await eventually(async () => Math.max(...(await runs())) >= 5);
  t.equal(Math.min(...(await runs())), 0, 'the other has not provisioned');

  const counts = await runs();
  const holder = counts.indexOf(Math.max(...counts));
  await replicas[holder]?.close();
  const other = replicas[1 - holder];
  await eventually(async () => other !== undefined && (await runsOf(other)) > 0);
  t.pass('after it has ended, the other continues');

  const { store } = testbed.apiServer.cluster;
  const holders = () =>
    store
      .list({ group: 'coordination.k8s.io', resource: 'leases', tenant: '' })
      .map(({ location, object }) => ({
        name: location.name,
        spec: object.spec,
      }));
  t.match(holders(), [{ name: 'stonegate-bindings', spec: { holderIdentity: /./ } }]);
  await other?.close();
  t.match(holders(), [{ spec: { holderIdentity: '' } }], 'the last replica releases the Lease');
});
