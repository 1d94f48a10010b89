import t from 'tap';
import { arktosFieldViolations } from '../../../../src/features/admission/arktos-pod-fields.ts';
import { podPartOf } from '../../../../src/features/admission/pod-part.ts';

function pathsOf(object: unknown, level: 'privileged' | 'baseline' | 'restricted' = 'baseline') {
  const part = podPartOf('', 'pods', object);
  if (part === undefined) throw new TypeError('no pod');
  return arktosFieldViolations(part, level).map(({ path }) => path);
}

const annotated = (...keys: string[]) => ({
  metadata: { annotations: Object.fromEntries(keys.map((key) => [key, 'x'])) },
});
const vm = { spec: { virtualMachine: { name: 'vm', image: 'cirros' } } };
const network = { spec: { vpc: 'v', nics: [{ name: 'eth0' }, { portId: 'p' }] } };
const target = annotated('kubernetes.io/target-runtime');

t.test(
  'fields that the network controller or the VM runtime acts on with its own account are refused',
  async (t) => {
    const device = { driver: 'virtlet/flexvolume_driver', options: { type: 'raw', path: '/dev/sda' } };
    for (const [object, paths] of [
      [network, ['spec.vpc', 'spec.nics[0]', 'spec.nics[1]']],
      [{ spec: { vpc: '', nics: [] } }, []],
      [annotated('VPC', 'NICs', 'vpc'), ['metadata.annotations[VPC]', 'metadata.annotations[NICs]']],
      ...['VirtletCloudInitUserDataSource', 'VirtletSSHKeySource', 'VirtletFilesFromDataSource'].map(
        (key) => [annotated(key, 'VirtletCPUModel'), [`metadata.annotations[${key}]`]] as const,
      ),
      [{ spec: { volumes: [{ flexVolume: device }] } }, ['spec.volumes[0].flexVolume']],
      [{ spec: { volumes: [{ flexVolume: { driver: 'example.com/nfs' } }] } }, []],
      [vm, []],
      [target, []],
    ] as const)
      t.strictSame(pathsOf(object), paths, JSON.stringify(object));
  },
);

t.test('a VM lacks the settings that the restricted standard requires', async (t) => {
  t.strictSame(pathsOf(vm, 'restricted'), ['spec.virtualMachine']);
  t.strictSame(pathsOf(target, 'restricted'), ['metadata.annotations[kubernetes.io/target-runtime]']);
});

t.test('the privileged level allows all of these fields', async (t) => {
  t.strictSame(pathsOf(network, 'privileged'), []);
});

t.test('fields of a wrong type are refused', async (t) => {
  for (const [object, path] of [
    [{ spec: { vpc: {} } }, 'spec.vpc'],
    [{ spec: { nics: ['a'] } }, 'spec.nics[0]'],
    [{ spec: { virtualMachine: 'a' } }, 'spec.virtualMachine'],
    [{ metadata: { annotations: [] } }, 'metadata.annotations'],
  ] as const)
    t.ok(pathsOf(object).includes(path), path);
});
