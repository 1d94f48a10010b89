import t from 'tap';
import { parse } from 'yaml';
import { arktosFieldViolations } from '../../../../src/features/admission/arktos-pod-fields.ts';
import { podPartOf } from '../../../../src/features/admission/pod-part.ts';
import { eachRow } from '../../../support/rows.ts';

function pathsOf(pod: string, level: 'privileged' | 'baseline' | 'restricted' = 'baseline') {
  const part = podPartOf('', 'pods', parse(pod));
  if (part === undefined) throw new TypeError('no pod');
  return arktosFieldViolations(part, level).map(({ path }) => path);
}

const VM = '{spec: {virtualMachine: {name: vm, image: cirros}}}';
const NETWORK = '{spec: {vpc: v, nics: [{name: eth0}, {portId: p}]}}';
const TARGET = '{metadata: {annotations: {kubernetes.io/target-runtime: x}}}';

t.test(
  'fields that the network controller or the VM runtime acts on with its own account are refused',
  async (t) => {
    await eachRow(
      `
      ${NETWORK} | spec.vpc, spec.nics[0], spec.nics[1]
      {spec: {vpc: '', nics: []}} |
      {metadata: {annotations: {VPC: x, NICs: x, vpc: x}}} | metadata.annotations[VPC], metadata.annotations[NICs]
      {metadata: {annotations: {VirtletCloudInitUserDataSource: x}}} | metadata.annotations[VirtletCloudInitUserDataSource]
      {metadata: {annotations: {VirtletSSHKeySource: x}}} | metadata.annotations[VirtletSSHKeySource]
      {metadata: {annotations: {VirtletFilesFromDataSource: x}}} | metadata.annotations[VirtletFilesFromDataSource]
      {metadata: {annotations: {VirtletCPUModel: x}}} |
      {spec: {volumes: [{flexVolume: {driver: virtlet/flexvolume_driver}}]}} | spec.volumes[0].flexVolume
      {spec: {volumes: [{flexVolume: {driver: example.com/nfs}}]}} |
      ${VM} |
      ${TARGET} |`,
      (pod, paths = '') => t.equal(pathsOf(pod).join(', '), paths, pod),
    );
  },
);

t.test('a VM lacks the settings that the restricted standard requires', async (t) => {
  t.strictSame(pathsOf(VM, 'restricted'), ['spec.virtualMachine']);
  t.strictSame(pathsOf(TARGET, 'restricted'), ['metadata.annotations[kubernetes.io/target-runtime]']);
});

t.test('the privileged level allows all of these fields', async (t) => {
  t.strictSame(pathsOf(NETWORK, 'privileged'), []);
});

t.test('fields of a wrong type are refused', async (t) => {
  await eachRow(
    `
    {spec: {vpc: {}}}              | spec.vpc
    {spec: {nics: [a]}}            | spec.nics[0]
    {spec: {virtualMachine: a}}    | spec.virtualMachine
    {metadata: {annotations: []}}  | metadata.annotations`,
    (pod, path) => t.ok(pathsOf(pod).includes(path), path),
  );
});
