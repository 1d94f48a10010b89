/**
 * Stonegate's own API group in front of a real kube-apiserver: discovery, OpenAPI and kubectl treat it like
 * any other group of the cluster.
 */
import t from 'tap';
import { createKubectl, findAllKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import type { Reply } from '../support/https-client.ts';
import { missingKubernetes } from '../support/kubernetes/programs.ts';
import { startKubernetesSite } from '../support/kubernetes/site.ts';

const binaries = findAllKubectls();
const missing = missingKubernetes() || (binaries.length === 0 && NO_KUBECTL);
const OWN = 'stonegate.dev';
const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

t.test('Stonegate’s own API at a kube-apiserver', { skip: missing }, async (t) => {
  const site = await startKubernetesSite(t, { configuration: { access: { index: true } } });
  const { kubernetes, stonegate } = site;
  const token = stonegate.keystoneToken('alice');
  const credential = await site.direct(token);
  const both = async (path: string, headers: Readonly<Record<string, string>> = {}) => ({
    through: await stonegate.ask(token, path, { headers }),
    direct: await kubernetes.ask(credential, path, { headers }),
  });
  const tagOf = ({ headers }: Reply) => headers.etag ?? '';

  await t.test('the list of groups is the API server’s with one more', async (t) => {
    const { through, direct } = await both('/apis');
    const theirs = JSON.parse(direct.body);
    const ours = JSON.parse(through.body);
    t.equal(ours.groups.at(-1).name, OWN);
    t.same({ ...ours, groups: ours.groups.slice(0, -1) }, theirs);
    t.equal(through.headers['content-type'], direct.headers['content-type']);
    const again = await stonegate.ask(token, '/apis', { headers: { 'if-none-match': tagOf(through) } });
    t.same([again.status, again.body], [304, '']);
  });

  await t.test('aggregated discovery is the API server’s with one group more', async (t) => {
    const { through, direct } = await both('/apis', { accept: AGGREGATED });
    const theirs = JSON.parse(direct.body);
    const ours = JSON.parse(through.body);
    t.equal(ours.items.at(-1).metadata.name, OWN);
    t.same({ ...ours, items: ours.items.slice(0, -1) }, theirs);
    t.equal(through.headers['content-type'], direct.headers['content-type']);
    t.not(tagOf(through), tagOf(direct), 'the tag of another document');
    const headers = { accept: AGGREGATED, 'if-none-match': tagOf(through) };
    t.equal((await stonegate.ask(token, '/apis', { headers })).status, 304);
    const stale = { accept: AGGREGATED, 'if-none-match': tagOf(direct) };
    t.equal((await stonegate.ask(token, '/apis', { headers: stale })).status, 200);
  });

  await t.test('OpenAPI v3 lists the group and serves its document', async (t) => {
    const { through, direct } = await both('/openapi/v3');
    const { [`apis/${OWN}/v1alpha1`]: own, ...others } = JSON.parse(through.body).paths;
    t.same(others, JSON.parse(direct.body).paths);
    const document = await stonegate.ask(token, own.serverRelativeURL);
    t.match(JSON.parse(document.body), { openapi: '3.0.0' });
  });

  await t.test('what the API server refuses in discovery stays refused', async (t) => {
    const reply = await stonegate.ask('nothing', '/apis');
    t.equal(reply.status, 401);
  });

  for (const binary of binaries)
    await t.test(`${binary.split('/').at(-1)}`, async (t) => {
      const kubectl = createKubectl(binary, { server: stonegate.url, ca: stonegate.authority.cert, token });
      t.teardown(() => kubectl.close());
      const resources = await kubectl.run(['api-resources', `--api-group=${OWN}`, '--no-headers']);
      t.equal(resources.code, 0, resources.stderr);
      t.same(
        resources.stdout
          .trim()
          .split('\n')
          .map((line) => line.split(/\s+/)),
        [
          ['explanations', 'stonegate.dev/v1alpha1', 'false', 'Explanation'],
          ['localresourceaccessreviews', 'stonegate.dev/v1alpha1', 'true', 'LocalResourceAccessReview'],
          ['resourceaccessreviews', 'stonegate.dev/v1alpha1', 'false', 'ResourceAccessReview'],
          ['selfidentity', 'stonegate.dev/v1alpha1', 'false', 'SelfIdentity'],
        ],
      );
      const explained = await kubectl.run(['explain', 'resourceaccessreviews.spec']);
      t.equal(explained.code, 0, explained.stderr);
      t.match(explained.stdout, /verb\s+<string>/);
      const raw = await kubectl.run(['get', '--raw', '/apis/stonegate.dev/v1alpha1/selfidentity']);
      t.match(JSON.parse(raw.stdout), { status: { user: { username: 'acme:alice' } } });
    });
});
