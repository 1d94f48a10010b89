import t from 'tap';
import { arktosFieldViolations } from '../../../../src/features/admission/arktos-pod-fields.ts';
import { newViolations } from '../../../../src/features/admission/changed-fields.ts';
import { podPartOf } from '../../../../src/features/admission/pod-part.ts';
import type { PodSecurityLevel } from '../../../../src/features/admission/pod-security/check.ts';

function violationsOf(object: unknown, level: PodSecurityLevel = 'baseline') {
  const part = podPartOf('', 'pods', object);
  if (part === undefined) throw new TypeError('no pod');
  return arktosFieldViolations(part, level);
}

const pathsOf = (object: unknown, level?: PodSecurityLevel) =>
  violationsOf(object, level).map(({ path }) => path);

const vm = { name: 'vm', image: 'cirros', keyPairName: 'a', volumeMounts: [{ name: 'v', mountPath: '/v' }] };

t.test(
  'vpc: the network controller creates ports in any network, with one account for all tenants',
  async (t) => {
    t.match(violationsOf({ spec: { vpc: 'vpc-1' } }), [
      { rule: 'arktosFields', path: 'spec.vpc', message: 'spec.vpc: tenants may not choose a network' },
    ]);
    t.strictSame(pathsOf({ spec: { vpc: '' } }), []);
  },
);

t.test('nics: a port of another tenant could be attached, and is deleted with the pod', async (t) => {
  const nics = [{ name: 'eth0' }, { portId: 'p' }, { subnetName: 's', ipAddress: '10.0.0.1' }];
  t.strictSame(pathsOf({ spec: { nics } }), ['spec.nics[0]', 'spec.nics[1]', 'spec.nics[2]']);
  t.strictSame(pathsOf({ spec: { nics: [] } }), []);
});

t.test('annotations VPC and NICs: the kubelet takes them in place of the fields', async (t) => {
  const annotations = { VPC: 'vpc-1', NICs: '[{"portId":"p"}]', vpc: 'no field of Arktos' };
  t.strictSame(pathsOf({ metadata: { annotations } }), [
    'metadata.annotations[VPC]',
    'metadata.annotations[NICs]',
  ]);
});

t.test('annotations of sources: the VM runtime reads secrets of the system tenant', async (t) => {
  const annotations = {
    VirtletCloudInitUserDataSource: 'secret/a',
    VirtletSSHKeySource: 'secret/a/key',
    VirtletFilesFromDataSource: 'configmap/a',
    VirtletCPUModel: 'host-model',
  };
  t.strictSame(pathsOf({ metadata: { annotations } }), [
    'metadata.annotations[VirtletCloudInitUserDataSource]',
    'metadata.annotations[VirtletSSHKeySource]',
    'metadata.annotations[VirtletFilesFromDataSource]',
  ]);
});

t.test('volumes of the VM runtime: they are block devices of the node, as a host path is', async (t) => {
  const volumes = [
    {
      name: 'a',
      flexVolume: { driver: 'virtlet/flexvolume_driver', options: { type: 'raw', path: '/dev/sda' } },
    },
    { name: 'b', flexVolume: { driver: 'example.com/nfs' } },
  ];
  t.strictSame(pathsOf({ spec: { virtualMachine: vm, volumes } }), ['spec.volumes[0].flexVolume']);
});

t.test(
  'virtualMachine: allowed at baseline, which it cannot violate: it has no security context',
  async (t) => {
    t.strictSame(pathsOf({ spec: { virtualMachine: vm } }), []);
  },
);

t.test('virtualMachine: refused as restricted, whose required settings it does not have', async (t) => {
  t.strictSame(pathsOf({ spec: { virtualMachine: vm } }, 'restricted'), ['spec.virtualMachine']);
  const annotations = { 'kubernetes.io/target-runtime': 'virtlet.cloud' };
  t.strictSame(pathsOf({ metadata: { annotations } }), []);
  t.strictSame(
    pathsOf({ metadata: { annotations } }, 'restricted'),
    ['metadata.annotations[kubernetes.io/target-runtime]'],
    'a container that the annotation makes a VM is refused too',
  );
});

t.test('the privileged level allows all of them', async (t) => {
  t.strictSame(pathsOf({ spec: { vpc: 'a', nics: [{}], virtualMachine: vm } }, 'privileged'), []);
});

t.test('fields of a wrong type are refused', async (t) => {
  for (const [object, path] of [
    [{ spec: { vpc: {} } }, 'spec.vpc'],
    [{ spec: { nics: {} } }, 'spec.nics'],
    [{ spec: { nics: ['a'] } }, 'spec.nics[0]'],
    [{ spec: { virtualMachine: 'a' } }, 'spec.virtualMachine'],
    [{ spec: { volumes: [{ flexVolume: 'a' }] } }, 'spec.volumes[0].flexVolume'],
    [{ metadata: { annotations: [] } }, 'metadata.annotations'],
    [7, ''],
  ] as const)
    t.ok(pathsOf(object).includes(path), path);
});

t.test('a pod that has them may be updated, but not with others', async (t) => {
  const old = { spec: { vpc: 'a', nics: [{ name: 'eth0' }] } };
  t.strictSame(newViolations(violationsOf, { ...old, metadata: { labels: {} } }, old), []);
  const other = { spec: { vpc: 'a', nics: [{ name: 'eth0', portId: 'p' }] } };
  t.strictSame(
    newViolations(violationsOf, other, old).map(({ path }) => path),
    ['spec.nics[0]'],
  );
});
